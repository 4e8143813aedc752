"""The frame of all commands: common options, help, errors as sentences; and how records are printed."""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Never, TypeVar, overload

import click

from minutebook.cli.answering import OWN_OUTPUT, let_answer_in_json, show
from minutebook.cli.keyboard import refuse_invalid_text, stdin_text
from minutebook.cli.opening import CONNECTION, server_named
from minutebook.cli.printing import sentence, short, style, warn
from minutebook.record.control_characters import escaped, is_blank
from minutebook.record.errors import InvalidInput, MinutebookError, Refused
from minutebook.record.origin import Origin, quoted_name
from minutebook.record.reason import count_of, must_be_one_of
from minutebook.record.records import Entry, Kind, Memory, TextRecord, Turn
from minutebook.serve.invocation import FLAGS, IDENTITY, INTERRUPTED, SERVING, STOPPED, environment

if TYPE_CHECKING:
    from minutebook.ask.connection import StoreConnection


F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", bound=StrEnum)

FIRST = (
    *("setup", "today", "remember", "search", "show", "edit", "forget", "undo"),
    *("sessions", "decide", "ui", "doctor"),
)
"""The commands that `minutebook --help` lists, if they are installed; `help all` lists all."""

FORMER_NAMES = {"session": "sessions"}
"""The present names of commands by earlier ones, which scripts may still use and no list shows."""

NO_COLOR = "NO_COLOR"
"""The variable that turns colours off if it is not empty: https://no-color.org."""

NARROWED = frozenset({"search", "list"})
"""The commands that take `--repository` also with `--url`, within the scope of the token."""

EVERY_COMMAND = "minutebook.every"
"""The key in click's `meta` by which `help all` has the help list every command."""

STOPPED_WAITING = (
    "Stopped waiting. What it has begun is ended, or was made whole already; look at what is stored "
    "before you run it again."
)
"""The message after Ctrl-C in a command that has run an operation which writes, perhaps in another process."""


def identity(run: Callable[..., object]) -> Callable[..., object]:
    """Add the options of the store and the caller; `run` gets those that were typed, by name, as its first argument."""
    return _with_options(run, IDENTITY)


def home_option(run: Callable[..., object]) -> Callable[..., object]:
    """Add only the option `--home`, for commands that need no caller; `run` gets it as with `identity`."""
    return _with_options(run, ("home",))


def serving(run: Callable[..., object]) -> Callable[..., object]:
    """Add the options of commands that serve, or have a client serve; `run` gets them as with `identity`."""
    return _with_options(run, SERVING)


def _with_options(run: Callable[..., object], names: tuple[str, ...]) -> Callable[..., object]:
    command: Callable[..., object] = click.pass_obj(run)
    for name in reversed(names):
        kind: dict[str, Any] = (
            {"is_flag": True, "flag_value": "true", "default": None}
            if name in FLAGS
            else {"metavar": name.upper()}
        )
        command = click.option(
            f"--{name.replace('_', '-')}",
            **kind,
            expose_value=False,
            callback=_note_option,
            cls=CommonOption,
        )(command)
    return command


def _note_option(context: click.Context, option: click.Parameter, value: str | None) -> None:
    options = context.ensure_object(dict)
    narrows = option.name == "repository" and context.info_name in NARROWED
    if value is not None and server_named() is not None and not narrows:
        raise click.UsageError(f"{option.opts[0]} must be left out with --url: the token says it")
    if value is not None and option.name is not None:
        options[option.name] = value


def as_json(command: F) -> F:
    """Add the option `--json` to a command."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


class CommonOption(click.Option):
    """An option that every command takes; only the help of `minutebook` itself explains it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return name and help in the help of `minutebook`; None in that of a command, or without the setting's feature."""
        if ctx.parent is not None:
            return None
        # Imported here: the settings would slow every command.
        from minutebook.config import all_settings

        helps = (each.metadata["help"] for each in fields(all_settings()) if each.name == self.name)
        self.help = next(helps, None)
        return None if self.help is None else super().get_help_record(ctx)


class Commands(click.Group):
    """A group of commands, of which some do not run on the server of `--url`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed. Raises UsageError if it does not run on the server of `--url`."""
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            # The error of click suggests only commands that are imported already.
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=self.list_commands(ctx), ctx=ctx
            ) from None
        if server_named() is not None:
            from minutebook.cli.on_server import why_not

            typed = [*ctx.command_path.split()[1:], name or ""]
            if (reason := why_not(" ".join(typed))) is not None:
                raise click.UsageError(reason)
        return name, command, rest


class SubjectGroup(Commands):
    """Commands by subject; errors are printed as sentences, not tracebacks.

    `subjects` has by subject the modules, each with the names of its commands. A module is imported when
    one of its commands is needed.
    """

    def __init__(
        self, *arguments: Any, subjects: Mapping[str, Mapping[str, Sequence[str]]], **more: Any
    ) -> None:
        super().__init__(*arguments, **more)
        self._subjects = {
            title: [name for names in modules.values() for name in names]
            for title, modules in subjects.items()
        }
        self._modules = {
            name: module
            for modules in subjects.values()
            for module, names in modules.items()
            for name in names
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order in which they are listed."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, None if there is none."""
        cmd_name = FORMER_NAMES.get(cmd_name, cmd_name)
        if cmd_name in self._modules and cmd_name not in self.commands:
            for command in importlib.import_module(self._modules[cmd_name]).COMMANDS:
                self.add_command(command)
                _name_common_options(command)
                refuse_invalid_text(command)
                if command.name not in OWN_OUTPUT:
                    let_answer_in_json(command)
        return super().get_command(ctx, cmd_name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the first commands, or all of them by subject, then the options that all of them take."""
        width = max(map(len, self._modules))
        room = formatter.width - 6 - width
        first = [name for name in FIRST if name in self._modules]
        sections = self._subjects if ctx.meta.get(EVERY_COMMAND) else {"Commands": first}
        for title, names in sections.items():
            with formatter.section(title):
                commands = [(name, self.get_command(ctx, name)) for name in names]
                # One column for all, so that the sections can be read as one list.
                formatter.write_dl(
                    [
                        (f"{name:<{width}}", each.get_short_help_str(room))
                        for name, each in commands
                        if each is not None
                    ]
                )
        if not ctx.meta.get(EVERY_COMMAND):
            formatter.write_paragraph()
            formatter.write_text(f"`minutebook help all` lists all {len(self._modules)} commands.")
        records = [each.get_help_record(ctx) for each in self.get_params(ctx)]
        with formatter.section("Common options"):
            formatter.write_dl([each for each in records if each is not None])

    def main(self, *arguments: Any, **more: Any) -> Never:
        """Run the typed command and end the process; Ctrl-C at any time ends it with INTERRUPTED."""
        try:
            # In standalone mode click ends with 1 and "Aborted!" on a Ctrl-C outside the command itself.
            status: Any = super().main(*arguments, **{**more, "standalone_mode": False})
        except click.ClickException as error:
            error.show()
            status = error.exit_code
        except click.Abort:
            warn(STOPPED)
            status = INTERRUPTED
        sys.exit(status)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse the typed command; messages of click, which quote it, are escaped."""
        if environment().get(NO_COLOR):
            extra["color"] = False
        with _escaped_usage_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, context: click.Context) -> None:
        """Run the command, and print its result if `--json` was given.

        Exits with 1, and the error as a sentence on stderr, if it fails.
        """
        try:
            with _escaped_usage_errors():
                answer = super().invoke(context)
            show(answer)
        except MinutebookError as error:
            warn(f"minutebook: {sentence(as_shown(error))}", fg="red")
            context.exit(1)
        except KeyboardInterrupt:
            warn("", _stop_message(context))
            context.exit(INTERRUPTED)
        except click.Abort as answer:
            # A prompt was answered with no or with Ctrl-C; commands ask before they change anything.
            warn("Stopped. Nothing was changed.")
            is_interrupted = isinstance(answer.__context__, KeyboardInterrupt)
            context.exit(INTERRUPTED if is_interrupted else 1)


def _name_common_options(command: click.Command) -> None:
    """Name the common options below the help of a command and of its subcommands."""
    names = [each.opts[0] for each in command.params if isinstance(each, CommonOption)]
    if names:
        command.epilog = f"Also {', '.join(names)}: see `minutebook --help`."
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        _name_common_options(each)


@contextmanager
def _escaped_usage_errors() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        raise click.UsageError(escaped(error.format_message()), error.ctx) from None
    except click.ClickException as error:
        raise click.ClickException(escaped(error.format_message())) from None


def as_shown(error: MinutebookError) -> MinutebookError:
    """Return an error as it is shown: on a server without the remedy of another role, since the token determines it."""
    if server_named() is None or not isinstance(error, Refused):
        return error
    return replace(error, needs=None)


def _stop_message(context: click.Context) -> str:
    """Return the message that says in which state Ctrl-C leaves a command."""
    api: StoreConnection | None = context.meta.get(CONNECTION)
    if api is None:
        return STOPPED
    return STOPPED_WAITING if api.has_written else "Stopped. Nothing was changed."


def read_text(text: str) -> str:
    """Return a text argument, read from stdin if it is `-`. Raises InvalidInput if it is blank."""
    content = stdin_text() if text == "-" else text
    if is_blank(content):
        raise InvalidInput("TEXT", "must not be empty")
    return content


@overload
def one_of(choices: type[E], option: str, value: str) -> E: ...
@overload
def one_of(choices: type[E], option: str, value: None) -> None: ...
@overload
def one_of(choices: type[E], option: str, value: str | None) -> E | None: ...
def one_of(choices: type[E], option: str, value: str | None) -> E | None:
    """Return the member of an enumeration, None if the option was not given.

    Raises InvalidInput if the value is none of its members.
    """
    if value is not None and value not in list(choices):
        raise InvalidInput(option, must_be_one_of(choices))
    return None if value is None else choices(value)


def both_ids(memory: Memory) -> str:
    """Return both forms of a memory's id: ours, and the UUID that `governance` and `catalog` show."""
    return f"{memory.id} ({memory.uuid})"


def headline(lead: str, record: TextRecord) -> str:
    """Return the line of a memory, or of another record with a text: `lead`, its id, its text shortened."""
    whole = record.shown_text if isinstance(record, Turn) else record.text
    first, _, rest = whole.partition("\n")
    # A title that the text begins with says nothing more.
    text = " ".join((rest if rest.startswith(first) else whole).split())
    return f"{lead}  {style(record.id, dim=True)}  {short(text, 100)}"


def counted(counts: Mapping[Kind, int]) -> str:
    """Return the number of records and their kinds, such as `3 records (memory 2, turn 1)`."""
    total = sum(counts.values())
    parts = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counts.items()) if count)
    return f"{count_of(total, 'record')} ({parts})" if parts else "nothing"


def entry_line(entry: Entry) -> str:
    """Return the line of an audit entry, without its subject."""
    with_token = f", with token {entry.token}" if entry.token else ""
    line = (
        f"{entry.at:%Y-%m-%d %H:%M:%S}  {entry.act} by {quoted_name(entry.actor)} "
        f"({entry.role}{with_token}){through(entry.origin)}: {entry.outcome}"
    ) + (f" ({entry.reason})" if entry.reason else "")
    return style(line, fg=None if entry.outcome == "done" else "red")


def through(origin: Origin | None) -> str:
    """Return ` through PROGRAM` for the program of an origin; "" if it is unknown."""
    return "" if origin is None or not origin.program else f" through {origin.program}"
