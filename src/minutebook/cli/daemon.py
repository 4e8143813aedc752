"""See to the daemon that stdio clients share."""

import os
from typing import TYPE_CHECKING, Any

import click

from minutebook.cli.printing import echo, say, warn
from minutebook.cli.terminal import as_json, check_begun, place
from minutebook.config import environment, load

if TYPE_CHECKING:
    from minutebook.server.daemon.rendezvous import DaemonAddress


@click.group(short_help="See to the process that stdio clients share.")
def daemon() -> None:
    """See to the process in the background that stdio clients share.

    It starts with the first client and ends some minutes after the last.
    """


_every = click.option(
    "--all", "is_for_all", is_flag=True, help="All daemons of yours, whatever store they serve."
)


@daemon.command(short_help="Tell which daemons serve the store.")
@_every
@place
@as_json
def status(given: dict[str, str], is_for_all: bool, as_json: bool) -> None:  # noqa: FBT001
    """Tell which daemons serve the store, for how many clients, and when they end."""
    told = [answer for _, answer in _daemons(given, is_for_all=is_for_all)]
    lines = [_described(each, names_home=is_for_all) for each in told]
    say(told, lines or _none(is_for_all=is_for_all), as_json)


def _described(told: dict[str, Any], *, names_home: bool) -> str:
    ends = f"{told['clients']} clients"
    # A daemon of an earlier release does not say when it ends.
    if not told["clients"] and "idle_seconds" in told:
        ends = (
            f"without clients for {told['idle_seconds']} s, ends in {told['ends_in_seconds']} s "
            "unless one comes"
        )
    home = f", {told['home']}" if names_home else ""
    return (
        f"process {told['pid']}: version {told['version']}, for {told['seconds']} s, {ends}, "
        f"model {told['model']}{home}"
    )


@daemon.command(short_help="Let the store's daemons end.")
@_every
@place
def stop(given: dict[str, str], is_for_all: bool) -> None:  # noqa: FBT001
    """Let the store's daemons answer what they were asked, and end.

    Clients that are still there start another with their next request.
    """
    stopped = _stop(given, is_for_all=is_for_all)
    echo(f"Stopped {stopped}." if stopped else _none(is_for_all=is_for_all))


def _none(*, is_for_all: bool) -> str:
    return "No daemon of yours runs." if is_for_all else "No daemon serves this store."


@daemon.command(short_help="Stop the store's daemons, and start one.")
@place
def restart(given: dict[str, str]) -> None:
    """Stop the store's daemons, and start one with the settings as they are now."""
    from minutebook.invocation import Invocation
    from minutebook.server.daemon import client
    from minutebook.server.daemon.rendezvous import daemon_address

    check_begun(load(given))
    _stop(given, is_for_all=False)
    asked = Invocation(given, (), environment())
    try:
        client.start(asked, daemon_address(asked.address))
    except (client.Unattached, OSError) as error:
        raise click.ClickException(f"no daemon could be started: {error}") from error
    echo("A daemon is ready.")


def _stop(given: dict[str, str], *, is_for_all: bool) -> str:
    """Stop the daemons; name their processes. All are tried before one that does not end is named."""
    from minutebook.server.daemon import client

    daemons = _daemons(given, is_for_all=is_for_all)
    left = [told for each, told in daemons if not client.stop(each)]
    if left:
        pids = ", ".join(str(told["pid"]) for told in left)
        raise click.ClickException(f"process {pids} does not end; end it with: kill {pids}")
    return ", ".join(f"process {told['pid']}" for _, told in daemons)


def _daemons(
    given: dict[str, str], *, is_for_all: bool
) -> "list[tuple[DaemonAddress, dict[str, Any]]]":
    """Find all daemons of the store, whatever their other settings, and what they say of themselves.

    With `is_for_all`, those of this user's other stores too. Names on stderr those that say nothing.
    """
    from minutebook.server.daemon import client
    from minutebook.server.daemon.rendezvous import all_of_this_user
    from minutebook.server.daemon.spawning import is_held

    home = os.path.realpath(load(given).home)
    found, silent = [], []
    for one in all_of_this_user():
        answer = client.ask(one, "status")
        if answer is None and is_held(one):
            silent.append(one.socket.path)
        if answer is not None and (is_for_all or answer["home"] == home):
            found.append((one, answer))
    # Which store a daemon serves that says nothing, nobody knows: perhaps this one.
    if is_for_all or not found:
        for path in silent:
            warn(
                f"The daemon at {path} is starting, ending or busy: it does not answer; try again."
            )
    return found


COMMANDS = (daemon,)
