"""The page of the commands, made from the command line itself."""

import re
from collections.abc import Iterator

import click

from minutebook.cli import main, subjects
from minutebook.cli.terminal import CommonOption
from tools.tables import table

EXIT = [
    ["0", "It is done."],
    [
        "1",
        "It could not be done, and stderr says why and what to do; or what was looked for was found: `doctor` a "
        "fault, `audit verify` a break, `scan` a secret that stays.",
    ],
    ["2", "The command was not typed as it has to be; stderr names the option or argument."],
    ["130", "Ctrl-C ended it; stderr says what became of the work."],
]


def page() -> list[str]:
    """Return the lines of the page."""
    context = click.Context(main, info_name="minutebook")
    common = [each for each in main.params if isinstance(each, CommonOption)]
    lines = [
        "# Commands",
        "",
        '`minutebook COMMAND --help` says the same at a terminal, and `eval "$(_MINUTEBOOK_COMPLETE=bash_source minutebook)"` '
        "(zsh_source, fish_source) has your shell complete commands and options. An id may be shortened to a beginning, or an ending, that no other record has.",
        "",
        "What a command prints for you to use goes to stdout, all else to stderr. `--json` has it print JSON: the records that the command got, field by field. Colours are left "
        "out where stdout is no terminal, and where `NO_COLOR` is set.",
        "",
        *table(["exit status", "meaning"], EXIT),
        "",
        "Most commands take these options, each of which is a [setting](settings.md) too:",
        "",
        *table(["option", "meaning"], (_row(each, context) for each in common)),
    ]
    for subject, modules in subjects().items():
        lines += ["", f"## {subject}"]
        for name in (name for names in modules.values() for name in names):
            command = main.get_command(context, name)
            assert command is not None, name
            lines += _described(command, click.Context(command, info_name=name, parent=context), 3)
    return lines


def _described(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """Yield the lines about a command and, one level deeper, about the commands in it."""
    yield from ("", f"{'#' * level} `{context.command_path}`", "")
    if arguments := [each for each in command.collect_usage_pieces(context) if each != "[OPTIONS]"]:
        yield from ("```text", " ".join((context.command_path, "[OPTIONS]", *arguments)), "```", "")
    yield from _paragraphs(command.help or "")
    shown = (each for each in command.params if not isinstance(each, CommonOption))
    if rows := [row for row in (_row(each, context) for each in shown) if row]:
        yield from ("", *table(["option", "meaning"], rows))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, name
            yield from _described(
                inner, click.Context(inner, info_name=name, parent=context), level + 1
            )


def _row(option: click.Parameter, context: click.Context) -> list[str]:
    """Return how an option is typed and what it means; nothing for an argument or a hidden one."""
    record = option.get_help_record(context)
    if record is None or not isinstance(option, click.Option):
        return []
    return [f"`{record[0]}`", " ".join(record[1].split())]


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of a help text; a paragraph that keeps its lines becomes a block."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.split("\f")[0].strip())):
        if number:
            yield ""
        if paragraph.startswith("\b"):
            yield from ("```text", *paragraph.removeprefix("\b").strip("\n").splitlines(), "```")
        else:
            yield " ".join(paragraph.split())
