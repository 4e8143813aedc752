"""Commands that a server runs for who typed them here, with `--url` before the command."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import click

from minutebook import __version__
from minutebook.cli.keyboard import stdin_text
from minutebook.cli.printing import relay, warn
from minutebook.cli.sentences import sentence
from minutebook.domain.errors import InvalidInput, MinutebookError
from minutebook.domain.origin import Origin
from minutebook.invocation import TOKEN_VARIABLE

SERVED: Mapping[str, str] = {
    **dict.fromkeys(("remember", "search", "show", "list"), "knowledge"),
    **dict.fromkeys(("invalidate", "forget", "duplicates", "recalls"), "knowledge"),
    **dict.fromkeys(("lock", "unlock", "verify", "deprecate", "link"), "governance"),
    **dict.fromkeys(("audit", "audit verify", "audit head"), "governance"),
    **dict.fromkeys(("decide", "decisions", "proposals"), "ledger"),
    "hook": "knowledge",
    **dict.fromkeys(("sessions", "session", "summarize"), "journal"),
}
"""The commands that run on a server, and the contract that it must serve for each.

They are about records alone. None of them reads a file, or tells of the machine that it runs on.
"""

Find = Callable[[str], click.Command | None]

_STDIN = "\0"
"""Stands for what stdin holds while the words are read: no word that is typed can hold it."""

TIMEOUT = 300.0
"""Seconds that a command may take; to summarize long sessions takes some time."""


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """A command for a server: its words, the server's address, the variable that has the token."""

    words: tuple[str, ...]
    url: str
    token_variable: str


def names() -> str:
    """Name the commands that run on a server, each group once."""
    return ", ".join(name for name in SERVED if " " not in name)


def read(arguments: Sequence[str]) -> ServerCommand | None:
    """Read what was typed for a server: `--url URL [--token-env VARIABLE] COMMAND …`.

    None if no `--url` comes before the command. Raises InvalidInput if it is not whole, or if other
    options come before the command.
    """
    given: dict[str, str] = {}
    words = list(arguments)
    others = []
    while words and words[0].startswith("-") and words[0] != "--":
        name, equals, value = words.pop(0).partition("=")
        if name not in ("--url", "--token-env"):
            others.append(name)
            continue
        if not equals:
            if not words:
                raise InvalidInput(name, "must be followed by its value")
            value = words.pop(0)
        given[name] = value
    if "--url" not in given:
        return None
    if others:
        raise InvalidInput(
            others[0], "must come after the command; with --url the token says who you are"
        )
    if not words:
        raise InvalidInput("--url", "must be followed by a command, one of {names}", names=names())
    if words[0] not in SERVED:
        remedy = "is for {names}; `{command}` runs where it is typed"
        raise InvalidInput("--url", remedy, names=names(), command=words[0][:50])
    variable = given.get("--token-env", TOKEN_VARIABLE)
    if not variable.isidentifier():
        raise InvalidInput("--token-env", "must name a variable: the token itself is never typed")
    return ServerCommand(tuple(words), given["--url"], variable)


def run_there(command: ServerCommand, environment: Mapping[str, str], find: Find) -> int:
    """Have a server run a command, print what it prints, and return its exit status.

    `find` finds what is known here of a command by its name.

    Raises InvalidInput if the variable with the token is empty although it was named, ServerError and
    Unidentified as `OverHttp` does.
    """
    from minutebook.api.over_http import OverHttp

    token = environment.get(command.token_variable) or None
    is_hook = command.words[0] == "hook"
    # A hook never stops what a person does: the server says the rest.
    if token is None and command.token_variable != TOKEN_VARIABLE and not is_hook:
        remedy = "names {name}, which is empty"
        raise InvalidInput("--token-env", remedy, name=command.token_variable)
    origin = Origin(client="minutebook", version=__version__)
    server = OverHttp(command.url, token, TIMEOUT, origin)
    if is_hook:
        from minutebook.cli.hooks_there import answer

        answer(server, command.words)
    try:
        printed, status = server.run(
            _with_stdin(command.words, find), is_terminal=sys.stdout.isatty()
        )
    finally:
        server.close()
    for stream, text in printed:
        relay(text, err=stream == "stderr")
    return status


def _with_stdin(words: Sequence[str], find: Find) -> list[str]:
    """Return the words with what stdin holds in the place of the text `-`, which only `remember` takes.

    A `-` that is an option's value stays.
    """
    if words[0] != "remember" or "-" not in words:
        return list(words)
    for at in (index for index, word in enumerate(words) if word == "-"):
        before, after = words[:at], words[at + 1 :]
        if not _is_text([*before[1:], _STDIN, *after], find(words[0])):
            continue
        if "--" in before:
            return [*before, stdin_text(), *after]
        return [*before, *after, "--", stdin_text()]
    return list(words)


def _is_text(words: Sequence[str], command: click.Command | None) -> bool:
    """Tell whether `_STDIN` stands among the words of a command as its text."""
    if command is None:
        return False
    context = click.Context(command, resilient_parsing=True)
    try:
        options, _, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError:
        # The server says what is wrong with it.
        return False
    return options.get("text") == _STDIN


def ask(arguments: Sequence[str], environment: Mapping[str, str], find: Find) -> int | None:
    """Run on a server what was typed for one, and return the exit status; None if it was not.

    `find` as `run_there` takes it.
    """
    try:
        command = read(arguments)
        return None if command is None else run_there(command, environment, find)
    except InvalidInput as error:
        warn(f"minutebook: {error}", fg="red")
        return 2
    except MinutebookError as error:
        warn(f"minutebook: {sentence(error)}", fg="red")
        return 1
