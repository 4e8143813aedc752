"""See to the daemon that stdio clients share."""

import os
from typing import TYPE_CHECKING, Any

import click

from minutebook.cli.opening import check_begun, start_daemon
from minutebook.cli.printing import echo, say, warn
from minutebook.cli.terminal import Commands, as_json, home_option
from minutebook.config import load

if TYPE_CHECKING:
    from minutebook.config import Settings
    from minutebook.serve.daemon.rendezvous import DaemonAddress


_PROMPT = 1.0
"""Seconds in which a healthy daemon answers with its status."""


@click.group(cls=Commands, short_help="See to the process that stdio clients share.")
def daemon() -> None:
    """See to the process in the background that stdio clients share.

    It starts with the first client and ends some minutes after the last.
    """


_every = click.option(
    "--all", "is_for_all", is_flag=True, help="All daemons of yours, whatever store they serve."
)


@daemon.command(short_help="Tell which daemons serve the store.")
@_every
@home_option
@as_json
def status(options: dict[str, str], is_for_all: bool, as_json: bool) -> None:  # noqa: FBT001
    """Tell which daemons serve the store, for how many clients, and when they end."""
    answers = [answer for _, answer in _daemons(options, is_for_all=is_for_all)]
    lines = [_status_line(answer, names_home=is_for_all) for answer in answers]
    say(answers, lines or _none(is_for_all=is_for_all), as_json)


def _status_line(answer: dict[str, Any], *, names_home: bool) -> str:
    clients = f"{answer['clients']} clients"
    if not answer["clients"]:
        clients = (
            f"without clients for {answer['idle_seconds']} s, ends in {answer['ends_in_seconds']} s "
            "unless one comes"
        )
    home = f", {answer['home']}" if names_home else ""
    return (
        f"process {answer['pid']}: version {answer['version']}, for {answer['seconds']} s, {clients}, "
        f"model {answer['model']}{home}"
    )


@daemon.command(short_help="Let the store's daemons end.")
@_every
@home_option
def stop(options: dict[str, str], is_for_all: bool) -> dict[str, object]:  # noqa: FBT001
    """Let the store's daemons answer what they were asked, and end.

    Clients that are still there start another with their next request.
    """
    stopped = _stop(options, is_for_all=is_for_all)
    named = ", ".join(f"process {pid}" for pid in stopped)
    echo(f"Stopped {named}." if stopped else _none(is_for_all=is_for_all))
    return {"stopped": stopped}


def _none(*, is_for_all: bool) -> str:
    return "No daemon of yours runs." if is_for_all else "No daemon serves this store."


@daemon.command(short_help="Stop the store's daemons, and start one.")
@home_option
def restart(options: dict[str, str]) -> dict[str, object]:
    """Stop the store's daemons, and start one with the settings as they are now."""
    check_begun(load(options))
    stopped = _stop(options, is_for_all=False)
    start_daemon(options)
    echo("A daemon is ready.")
    return {"stopped": stopped, "ready": True}


def _stop(options: dict[str, str], *, is_for_all: bool) -> list[int]:
    """Stop the daemons; return their process ids. Raises ClickException, after all were tried, if one does not end."""
    from minutebook.serve.daemon import client

    daemons = _daemons(options, is_for_all=is_for_all)
    running = [answer for address, answer in daemons if not client.stop(address)]
    if running:
        pids = ", ".join(str(answer["pid"]) for answer in running)
        raise click.ClickException(f"process {pids} does not end; end it with: kill {pids}")
    return [answer["pid"] for _, answer in daemons]


def _daemons(
    options: dict[str, str], *, is_for_all: bool
) -> "list[tuple[DaemonAddress, dict[str, Any]]]":
    """Return address and status of each daemon of the store, or with `is_for_all` of all stores of this user.

    Daemons that do not answer are named on stderr.
    """
    from minutebook.serve.daemon import client
    from minutebook.serve.daemon.rendezvous import all_of_this_user
    from minutebook.serve.daemon.spawning import is_held

    home = os.path.realpath(load(options).home)
    found, silent = [], []
    for one in all_of_this_user():
        answer = client.ask(one, "status")
        if answer is None and is_held(one):
            silent.append(one.socket.path)
        if answer is not None and (is_for_all or answer["home"] == home):
            found.append((one, answer))
    # A daemon that does not answer may serve any store, also this one.
    if is_for_all or not found:
        for path in silent:
            warn(
                f"The daemon at {path} is starting, ending or busy: it does not answer; try again."
            )
    return found


def daemons_of(settings: "Settings") -> "list[tuple[DaemonAddress, dict[str, Any]]]":
    """Return address and status of each daemon of a store that answers at once."""
    from minutebook.serve.daemon import client
    from minutebook.serve.daemon.rendezvous import all_of_this_user

    home = os.path.realpath(settings.home)
    asked = ((one, client.ask(one, "status", _PROMPT)) for one in all_of_this_user())
    return [(one, answer) for one, answer in asked if answer and answer["home"] == home]


COMMANDS = (daemon,)
