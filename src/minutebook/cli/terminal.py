"""What all commands share: who asks, the store opened for them, answers and errors in words."""

import getpass
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Never, TypeVar, overload

import click

from minutebook import __version__
from minutebook.cli.answering import OWN_OUTPUT, let_answer_in_json, show
from minutebook.cli.keyboard import (
    HOSTED,
    check_hosted,
    remote_caller,
    stdin_text,
    working_directory,
)
from minutebook.cli.printing import style, warn
from minutebook.cli.sentences import sentence
from minutebook.config import Settings, Stated, environment, load, option_of, stated
from minutebook.domain.caller import ANYBODY, Call, Caller, Progress, in_call
from minutebook.domain.control_characters import escaped
from minutebook.domain.counts import count_of
from minutebook.domain.errors import (
    EmbeddingError,
    InvalidInput,
    MinutebookError,
    Refused,
    StoreError,
)
from minutebook.domain.origin import Origin
from minutebook.domain.reason import must_be_one_of
from minutebook.domain.records import Entry, Kind, Memory, Role, TextRecord
from minutebook.domain.redaction import redacted_for
from minutebook.invocation import (
    DAEMON_COMMANDS,
    FLAGS,
    IDENTITY,
    INTERRUPTED,
    NO_COLOR,
    SERVING,
    STOPPED,
    absolute,
)
from minutebook.server.daemon.commands import LeftToClient
from minutebook.server.logs import log_to_stderr
from minutebook.whereabouts import folder_scope

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from minutebook.app import App
    from minutebook.embedding.service import Embedding


F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", bound=StrEnum)

_STEPS = 1000

PREPARED_LATER = "The model is prepared in the background all the same. Nothing else was done."
"""What Ctrl-C leaves while a command waits for the model."""

_LOOK = 0.2
"""Seconds between two looks at how far a model is."""


def identity(run: Callable[..., object]) -> Callable[..., object]:
    """Add the options that say where the store is and who asks; `run` gets those typed, by name, first."""
    return _with_options(run, IDENTITY)


def home_option(run: Callable[..., object]) -> Callable[..., object]:
    """Add the option that says where the store is, for commands that ask for no identity; likewise."""
    return _with_options(run, ("home",))


def serving(run: Callable[..., object]) -> Callable[..., object]:
    """Add the options that say what is served, and in whose name; likewise."""
    return _with_options(run, SERVING)


def _with_options(run: Callable[..., object], names: tuple[str, ...]) -> Callable[..., object]:
    command: Callable[..., object] = click.pass_obj(run)
    described = {each.name: str(each.metadata["help"]) for each in fields(Settings)}
    for name in reversed(names):
        kind: dict[str, Any] = (
            {"is_flag": True, "flag_value": "true", "default": None}
            if name in FLAGS
            else {"metavar": name.upper()}
        )
        command = click.option(
            option_of(name),
            **kind,
            help=described[name],
            expose_value=False,
            callback=_remember,
            cls=CommonOption,
        )(command)
    return command


def _remember(context: click.Context, option: click.Parameter, value: str | None) -> None:
    options = context.ensure_object(dict)
    if value is not None and remote_caller() is not None:
        raise click.UsageError(f"{option.opts[0]} must be left out with --url: the token says it")
    if value is not None and option.name is not None:
        options[option.name] = absolute(option.name, value, str(working_directory()))


def as_json(command: F) -> F:
    """Add the option `--json` to a command."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


class CommonOption(click.Option):
    """An option that every command takes: the help of `minutebook` itself explains it, once."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return name and help for the group of all commands, None for a command."""
        return super().get_help_record(ctx) if ctx.parent is None else None


class Commands(click.Group):
    """Commands of which a daemon or a server runs those alone that it lists."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed. Raises LeftToClient in a host that does not run it."""
        name, command, rest = super().resolve_command(ctx, args)
        above = ctx.command_path.split()[1:]
        check_hosted(" ".join([*above, name or ""]), is_group=isinstance(command, click.Group))
        return name, command, rest


class Group(Commands):
    """Commands by subject, which show what was refused or failed in a sentence, not a traceback.

    `subjects` gives for each subject its modules of `cli/`, each with the names of its commands. A
    module is imported when one of its commands is asked for.
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
        """Name the commands in the order in which they are listed."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, None if there is none."""
        module = self._modules.get(cmd_name)
        if module is not None and cmd_name not in self.commands:
            for command in importlib.import_module(f"minutebook.cli.{module}").COMMANDS:
                self.add_command(command)
                _name_common_options(command)
                if command.name not in OWN_OUTPUT:
                    let_answer_in_json(command)
        return super().get_command(ctx, cmd_name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, a section a subject, then the options that all of them take."""
        width = max(map(len, self._modules))
        room = formatter.width - 6 - width
        for title, names in self._subjects.items():
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
        records = [each.get_help_record(ctx) for each in self.get_params(ctx)]
        with formatter.section("Common options"):
            formatter.write_dl([each for each in records if each is not None])

    def main(self, *arguments: Any, **more: Any) -> Never:
        """Run what was typed and end the process, with 130 wherever Ctrl-C came in between.

        What is typed with `--url` before the command, its server runs.
        """
        words = arguments[0] if arguments else more.get("args")
        typed = list(sys.argv[1:] if words is None else words)
        try:
            if HOSTED.get() is None and typed[:1] and typed[0].startswith("--"):
                from minutebook.cli import on_server

                def find(name: str) -> click.Command | None:
                    return self.get_command(click.Context(self), name)

                if (there := on_server.ask(typed, environment(), find)) is not None:
                    sys.exit(there)
            # Else click itself would end with 1 and "Aborted!" before or after the command's own part.
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
        """Read what was typed; what click says of it is escaped, as it quotes it."""
        if _wants_no_colours():
            extra["color"] = False
        with _escaped_usage_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, context: click.Context) -> None:
        """Run the command and print its answer as JSON where `--json` wants it.

        Exits with 1 and the sentence on stderr if it cannot be done.
        """
        try:
            with _escaped_usage_errors():
                answer = super().invoke(context)
            show(answer)
        except MinutebookError as error:
            warn(f"minutebook: {sentence(as_shown(error))}", fg="red")
            context.exit(1)
        except KeyboardInterrupt:
            warn("", stopped(context.invoked_subcommand))
            context.exit(INTERRUPTED)
        except click.Abort as answer:
            # A prompt was answered with no, or was left with Ctrl-C; nothing comes before it.
            warn("Stopped. Nothing was changed.")
            is_left = isinstance(answer.__context__, KeyboardInterrupt)
            context.exit(INTERRUPTED if is_left else 1)


def _name_common_options(command: click.Command) -> None:
    """Name the options that are explained elsewhere below the help of a command and its commands."""
    names = [each.opts[0] for each in command.params if isinstance(each, CommonOption)]
    if names:
        command.epilog = f"Also {', '.join(names)}: see `minutebook --help`."
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        _name_common_options(each)


def _wants_no_colours() -> bool:
    hosted = HOSTED.get()
    variables = environment() if hosted is None else hosted.command.variables
    return bool(variables.get(NO_COLOR))


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
    """Return an error as the person who typed the command may read it.

    Who came by a token hears nothing of the server's machine, and has no role to choose.
    """
    caller = remote_caller()
    if caller is None:
        return error
    shown = redacted_for(caller, error)
    return replace(shown, needs=None) if isinstance(shown, Refused) else shown


def check_at_this_machine() -> None:
    """Raise LeftToClient for a command that was typed at another machine."""
    if remote_caller() is not None:
        raise LeftToClient("it is about the machine on which it is typed")


def settings_of(options: dict[str, str]) -> Settings:
    """Return the settings of the person who typed the command.

    Raises InvalidInput if a setting has a value that does not fit, LeftToClient if that person is at
    another machine, which has settings of its own.
    """
    check_at_this_machine()
    hosted = HOSTED.get()
    return load(options, None if hosted is None else hosted.command.variables)


def stated_of(options: dict[str, str]) -> dict[str, Stated]:
    """Return the settings that somebody stated, for the person who typed the command.

    Raises LeftToClient if that person is at another machine.
    """
    check_at_this_machine()
    hosted = HOSTED.get()
    return stated(options, None if hosted is None else hosted.command.variables)


def when_read(act: Callable[[], None]) -> None:
    """Have an act done once the client of a command that this thread runs says that it has printed all.

    Nothing is done if it never says so, or if no daemon runs the command.
    """
    if (hosted := HOSTED.get()) is not None:
        hosted.host.when_read.append(act)


@contextmanager
def opened(options: dict[str, str]) -> Iterator[tuple["App", Caller]]:
    """Open the store for a person at the keyboard, to whom system scope is open too.

    In the daemon it is open already; raises LeftToClient if the settings are not the daemon's. The
    model is loaded when it is first needed. Raises StoreError if there is no store: what only reads
    or changes must not begin one in a folder whose name was mistyped.
    """
    if HOSTED.get() is None:
        check_begun(settings_of(options))
    with opened_or_made(options) as found:
        yield found


def check_begun(settings: Settings) -> None:
    """Raise StoreError, with how to begin, if there is no store in the data directory."""
    if settings.store is None and not settings.database.exists():
        from minutebook.stores import check_not_lost

        check_not_lost(settings)
        raise StoreError(
            "there is no store in {home}; `minutebook remember` begins one, and so does an agent after "
            "`minutebook install`; if another was meant, name it with --home",
            home=settings.home,
        )


@contextmanager
def opened_or_made(options: dict[str, str]) -> Iterator[tuple["App", Caller]]:
    """Do the same for a command that brings something in, with which a store may begin."""
    hosted = HOSTED.get()
    if hosted is not None and hosted.host.caller is not None:
        asks = in_call(hosted.host.caller, notes={})
        yield hosted.host.app(), asks
        _warn_of(asks)
        return
    settings = settings_of(options)
    with ExitStack() as stack:
        if hosted is None:
            from minutebook.app import open_app

            log_to_stderr(settings)
            app = stack.enter_context(closing(open_app(settings)))
            stack.callback(app.embedding.close)
            user = getpass.getuser()
        else:
            hosted.host.check_same(settings)
            app, user = hosted.host.app(), hosted.command.user or getpass.getuser()
        progress = until_loaded(app.embedding)
        asks = in_call(at_keyboard(settings, options, user), progress=progress)
        yield app, asks
        _warn_of(asks)
        if hosted is None and app.embeddings.is_notified and not app.embedding.is_off:
            _embed_what_was_written(app)


def at_keyboard(settings: Settings, options: dict[str, str], user: str | None = None) -> Caller:
    """Return the person at the keyboard as the caller of a command; the process's user, if no other is named."""
    call = Call(request="command-line", origin=Origin(client="minutebook", version=__version__))
    return replace(person_of(settings, options, user or getpass.getuser()), call=call)


def _warn_of(caller: Caller) -> None:
    """Say what is to be said beside the answer to a call."""
    warn(*(note.text for note in caller.call.notes.values() if note.text))


def _embed_what_was_written(app: "App") -> None:
    """Embed a first batch of what this command wrote; a long import is left to the next process that stays."""
    app.embedding.start()
    wait_for_model(app.embedding)
    try:
        app.embeddings.backfill_batch()
    except EmbeddingError as error:
        warn(f"Kept, and found by words only until the embedding model can be used: {error}")


def in_folder(options: dict[str, str], caller: Caller) -> Caller:
    """Return the caller with the scope of the folder in which the command was typed, where it has a say."""
    if remote_caller() is not None:
        return caller
    scope = folder_scope(settings_of(options), working_directory())
    return replace(caller, folder_scope=scope)


def person_of(settings: Settings, options: dict[str, str], user: str) -> Caller:
    """Return the caller that a person at the keyboard is, to whom system scope is open too.

    `user` is their name unless they gave another; they are no agent unless they said so.
    """
    asks = replace(settings.caller(), writes_system=True)
    if asks.role is Role.AGENT and "role" not in options:
        asks = replace(asks, role=Role.HUMAN)
    return replace(asks, name=user) if asks.name == ANYBODY else asks


@contextmanager
def bar(label: str, *, hidden: bool) -> Iterator[Progress]:
    """Show how far an act is, where there is a terminal to show it on."""
    if hidden or not sys.stderr.isatty():
        yield lambda part, what: None
        return
    nothing: tuple[str, ...] = ()
    shown = click.progressbar(
        nothing,
        length=_STEPS,
        label=label,
        file=sys.stderr,
        item_show_func=lambda what: "" if what is None else escaped(short(what, 40)),
    )
    with shown as drawn:

        def progress(part: float, what: str) -> None:
            drawn.update(max(0, round(part * _STEPS) - drawn.pos), what)

        yield progress
        drawn.update(_STEPS - drawn.pos)


def until_loaded(embedding: "Embedding") -> Progress:
    """Return a progress callback that waits while the model loads, and shows what it waits for."""

    def progress(part: float, what: str) -> None:
        if embedding.is_started:
            wait_for_model(embedding)

    return progress


def wait_for_model(embedding: "Embedding") -> None:
    """Wait until the model has loaded or failed to, with a bar while it is prepared for the first time."""
    while embedding.settle(_LOOK) == "loading":
        if embedding.prepared is not None:
            with interruptible(PREPARED_LATER), preparing_shown() as report:
                while embedding.settle(_LOOK) == "loading":
                    report(embedding.prepared or 0.0)


@contextmanager
def preparing_shown() -> Iterator[Callable[[float], None]]:
    """Show how much of the model's preparation is done, once it is told that it is under way."""
    with ExitStack() as stack:
        shown: Progress | None = None

        def report(part: float) -> None:
            nonlocal shown
            if shown is None:
                if not sys.stderr.isatty():
                    warn(
                        "The embedding model is being prepared for its first use; this is done once."
                    )
                label = "Preparing the embedding model, once"
                shown = stack.enter_context(bar(label, hidden=False))
            shown(part, "")

        yield report


@contextmanager
def interruptible(*lines: str) -> Iterator[None]:
    """Have Ctrl-C print what became of the work, and exit as a shell has it."""
    try:
        yield
    except KeyboardInterrupt:
        warn("", *lines)
        sys.exit(INTERRUPTED)


def stopped(command: str | None) -> str:
    """Say what Ctrl-C leaves of a command that says nothing more precise."""
    if DAEMON_COMMANDS.get(command or ""):
        return "Stopped. Nothing was changed."
    return STOPPED


def text_given(text: str) -> str:
    """Return a text from the command line, `-` being stdin. Raises InvalidInput if it is blank."""
    content = stdin_text() if text == "-" else text
    if not content.strip():
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


def fields_of(record: "DataclassInstance") -> dict[str, object]:
    """Return the fields of a record by name; for a memory also its UUID."""
    values: dict[str, object] = {}
    for each in fields(record):
        values[each.name] = getattr(record, each.name)
        if each.name == "id" and isinstance(record, Memory):
            values["uuid"] = record.uuid
    return values


def both_ids(memory: Memory) -> str:
    """Return both forms of a memory's id: ours, and the UUID that `governance` and `catalog` show."""
    return f"{memory.id} ({memory.uuid})"


def headline(lead: str, record: TextRecord) -> str:
    """Return a memory, or another record with a text, on one line."""
    first, _, rest = record.text.partition("\n")
    # A title that the text begins with says nothing more.
    text = " ".join((rest if rest.startswith(first) else record.text).split())
    return f"{lead}  {style(record.id, dim=True)}  {short(text, 100)}"


def short(text: str, room: int) -> str:
    """Return a text, cut to the room there is."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def counted(counts: Mapping[Kind, int]) -> str:
    """Say how many records of which kinds there are."""
    total = sum(counts.values())
    parts = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counts.items()) if count)
    return f"{count_of(total, 'record')} ({parts})" if parts else "nothing"


def entry_line(entry: Entry) -> str:
    """Return an audit entry on one line, without its subject."""
    with_token = f", with token {entry.token}" if entry.token else ""
    line = (
        f"{entry.at:%Y-%m-%d %H:%M:%S}  {entry.act} by {entry.actor} "
        f"({entry.role}{with_token}){through(entry.origin)}: {entry.outcome}"
    ) + (f" ({entry.reason})" if entry.reason else "")
    return style(line, fg=None if entry.outcome == "done" else "red")


def through(origin: Origin | None) -> str:
    """Say through which program something was done; nothing if unknown."""
    return "" if origin is None or not origin.program else f" through {origin.program}"
