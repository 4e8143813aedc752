"""Run commands on this server for people who typed them elsewhere."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NoReturn

from minutebook.cli import in_daemon
from minutebook.cli.on_server import SERVED, names
from minutebook.domain.caller import Caller
from minutebook.domain.control_characters import escaped
from minutebook.invocation import DAEMON_COMMANDS
from minutebook.server.daemon.commands import Command, Host, LeftToClient, Stream
from minutebook.server.http.commands import Outcome, Printed, Run

if TYPE_CHECKING:
    from minutebook.app import App


def runner(contracts: Collection[str], *, read_only: bool) -> Run:
    """Return what runs commands on a server of these contracts."""

    def run(app: "App", caller: Caller, words: Sequence[str], is_terminal: bool) -> Outcome:  # noqa: FBT001
        command = words[0]
        if (refusal := _refusal(command, contracts, read_only=read_only)) is not None:
            return Outcome([("stderr", f"minutebook: {refusal}\n")], 2)
        printed: list[Printed] = []

        def write(stream: Stream, text: str) -> None:
            printed.append((stream, text))

        def check_same(settings: object) -> None:
            """Take the server's settings, which are the only ones there are."""

        def stay() -> NoReturn:
            """Raise LeftToClient: no command serves here as long as its client waits."""
            raise LeftToClient("it serves on the machine on which it is typed")

        terminals: frozenset[Stream] = frozenset({"stdout"} if is_terminal else ())
        host = Host(lambda: app, check_same, stay, caller=caller, commands=SERVED)
        typed = Command(tuple(words), {}, "", caller.name, terminals)
        try:
            status = in_daemon.run(typed, host, write)
        except LeftToClient as reason:
            write("stderr", f"minutebook: `{command}` cannot do this on a server: {reason}\n")
            status = 2
        return Outcome(printed, status)

    return run


def _refusal(command: str, contracts: Collection[str], *, read_only: bool) -> str | None:
    """Say why a server does not run a command; None if it does."""
    if command not in SERVED:
        return f"`{escaped(command[:50])}` does not run on a server; there are {names()}"
    if SERVED[command] not in contracts:
        return f"`{command}` needs the contract {SERVED[command]}, which this server does not serve"
    if read_only and not DAEMON_COMMANDS.get(command, True):
        return f"`{command}` writes, and this server is read-only"
    return None
