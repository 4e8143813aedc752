"""Commands that a server runs for who typed them here, with `--url` before the command."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minutebook import __version__
from minutebook.cli.printing import relay, warn
from minutebook.cli.sentences import sentence
from minutebook.domain.errors import InvalidInput, MinutebookError
from minutebook.domain.origin import Origin
from minutebook.invocation import TOKEN_VARIABLE

SERVED: Mapping[str, str] = {
    **dict.fromkeys(("remember", "search", "show", "list"), "knowledge"),
    **dict.fromkeys(("invalidate", "forget", "duplicates", "recalls"), "knowledge"),
    **dict.fromkeys(("lock", "unlock", "verify", "deprecate", "link", "audit"), "governance"),
    **dict.fromkeys(("decide", "decisions", "proposals"), "ledger"),
    **dict.fromkeys(("sessions", "session", "summarize"), "journal"),
}
"""The commands that run on a server, and the contract that it must serve for each.

They are about records alone. None of them reads a file, or tells of the machine that it runs on.
"""

TIMEOUT = 300.0
"""Seconds that a command may take; to summarize long sessions takes some time."""


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """A command for a server: its words, the server's address, the variable that has the token."""

    words: tuple[str, ...]
    url: str
    token_variable: str


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
        remedy = "must come after the command; with --url the token says who you are"
        raise InvalidInput(others[0], remedy)
    if not words:
        raise InvalidInput("--url", f"must be followed by a command, one of {', '.join(SERVED)}")
    if words[0] not in SERVED:
        known = ", ".join(SERVED)
        raise InvalidInput("--url", f"is for {known}; `{words[0][:50]}` runs where it is typed")
    variable = given.get("--token-env", TOKEN_VARIABLE)
    if not variable.isidentifier():
        raise InvalidInput("--token-env", "must name a variable: the token itself is never typed")
    return ServerCommand(tuple(words), given["--url"], variable)


def run_there(command: ServerCommand, environment: Mapping[str, str]) -> int:
    """Have a server run a command, print what it prints, and return its exit status.

    Raises InvalidInput if the variable with the token is empty although it was named, ServerError and
    Unidentified as `OverHttp` does.
    """
    from minutebook.api.over_http import OverHttp

    token = environment.get(command.token_variable) or None
    if token is None and command.token_variable != TOKEN_VARIABLE:
        raise InvalidInput("--token-env", f"names {command.token_variable}, which is empty")
    origin = Origin(client="minutebook", version=__version__)
    server = OverHttp(command.url, token, TIMEOUT, origin)
    try:
        printed, status = server.run(_with_stdin(command.words), is_terminal=sys.stdout.isatty())
    finally:
        server.close()
    for stream, text in printed:
        relay(text, err=stream == "stderr")
    return status


def _with_stdin(words: Sequence[str]) -> list[str]:
    """Return the words with what stdin holds in the place of the text `-`, which only `remember` takes."""
    if words[0] != "remember" or "-" not in words:
        return list(words)
    rest = [word for word in words if word != "-"]
    return [*rest, "--", sys.stdin.read().rstrip("\n")]


def ask(arguments: Sequence[str], environment: Mapping[str, str]) -> int | None:
    """Run on a server what was typed for one, and return the exit status; None if it was not."""
    try:
        command = read(arguments)
        return None if command is None else run_there(command, environment)
    except InvalidInput as error:
        warn(f"minutebook: {error}", fg="red")
        return 2
    except MinutebookError as error:
        warn(f"minutebook: {sentence(error)}", fg="red")
        return 1
