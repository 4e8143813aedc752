"""See to the daemon that stdio clients share."""

import os
from typing import TYPE_CHECKING, Any

import click

from minutebook.cli.printing import echo, say
from minutebook.cli.terminal import as_json, place
from minutebook.config import environment, load

if TYPE_CHECKING:
    from minutebook.server.meeting import Meeting


@click.group()
def daemon() -> None:
    """See to the process in the background that stdio clients share.

    It starts with the first client and ends some minutes after the last.
    """


@daemon.command()
@place
@as_json
@click.pass_obj
def status(given: dict[str, str], as_json: bool) -> None:  # noqa: FBT001
    """Tell which daemons serve the store, and how many clients."""
    told = [answer for _, answer in _daemons(given)]
    lines = [
        f"process {each['pid']}: version {each['version']}, for {each['seconds']} s, "
        f"{each['clients']} clients, model {each['model']}"
        for each in told
    ]
    say(told, lines or "No daemon serves this store.", as_json)


@daemon.command()
@place
@click.pass_obj
def stop(given: dict[str, str]) -> None:
    """Let the store's daemons answer what they were asked, and end.

    Clients that are still there start another with their next request.
    """
    stopped = _stop(given)
    echo(f"Stopped {stopped}." if stopped else "No daemon serves this store.")


@daemon.command()
@place
@click.pass_obj
def restart(given: dict[str, str]) -> None:
    """Stop the store's daemons, and start one with the settings as they are now."""
    from minutebook.invocation import Invocation
    from minutebook.server import attach
    from minutebook.server.meeting import meeting

    _stop(given)
    asked = Invocation(given, (), environment())
    try:
        attach.start(asked, meeting(asked.address))
    except (attach.Unattached, OSError) as error:
        raise click.ClickException(f"no daemon could be started: {error}") from error
    echo("A daemon is ready.")


def _stop(given: dict[str, str]) -> str:
    """Stop the store's daemons; name their processes."""
    from minutebook.server import attach

    daemons = _daemons(given)
    for each, _ in daemons:
        if not attach.stop(each):
            raise click.ClickException(f"the daemon at {each.door.path} does not end")
    return ", ".join(f"process {told['pid']}" for _, told in daemons)


def _daemons(given: dict[str, str]) -> "list[tuple[Meeting, dict[str, Any]]]":
    """Find all daemons of the store, whatever their other settings, and what they say of themselves."""
    from minutebook.server import attach
    from minutebook.server.meeting import all_of_this_user

    home = os.path.realpath(load(given).home)
    told = ((place, attach.ask(place, "status")) for place in all_of_this_user())
    return [(place, answer) for place, answer in told if answer and answer["home"] == home]


COMMANDS = (daemon,)
