"""Open the web pages."""

import getpass
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from minutebook.cli.opening import daemon_of, settings_of
from minutebook.cli.printing import echo, warn
from minutebook.cli.terminal import identity
from minutebook.features.http.mounts import MountOption
from minutebook.serve.logs import log_to_stderr

if TYPE_CHECKING:
    from minutebook.ask.over_socket import OverSocket
    from minutebook.features.http.mounts import Mount


@click.command(short_help="Open the web pages in the browser.")
@click.option("--no-browser", is_flag=True, help="Print the link; open nothing.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 (the default): any.")
@identity
def ui(options: dict[str, str], no_browser: bool, port: int) -> None:  # noqa: FBT001
    """Open the web pages in the browser, and serve them to this machine until Ctrl-C.

    The link lets in once, within two minutes, and whoever follows it acts as you do here. If a daemon
    runs, it serves them, with the store and the model that it has open.
    """

    def announce(link: str) -> None:
        echo(link, "It lets in once, within two minutes. Ctrl-C ends the pages.")
        sys.stdout.flush()
        if not no_browser:
            # Some browsers of a terminal keep the thread that opens them.
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

    if (connection := daemon_of(options)) is None:
        _serve_pages(options, port, announce)
    else:
        _wait_for_pages(connection, port, announce)


def _serve_pages(options: dict[str, str], port: int, announce: Callable[[str], None]) -> None:
    """Serve the pages in this process until Ctrl-C."""
    from minutebook.features.http.process import of_this_machine
    from minutebook.features.http.process import serve as serve_http
    from minutebook.features.http.requests.hosts import Address
    from minutebook.features.pages.frame.sign_ins import SignIns
    from minutebook.features.pages.serving import PagesMount

    settings = settings_of(options)
    owner = settings.person(options, getpass.getuser())
    sign_ins = SignIns(owner, folder=Path.cwd())
    # Only this machine can connect, and no contract is served.
    local = of_this_machine(settings)
    mount = PagesMount(sign_ins, is_local=True)
    log_to_stderr(settings)

    def announce_way_in(url: str) -> None:
        announce(f"{url}/enter?key={sign_ins.link()}")

    serve_http(local, {}, Address("127.0.0.1", port), announce_way_in, [mount])


def _wait_for_pages(
    connection: "OverSocket", port: int, announce: Callable[[str], None]
) -> NoReturn:
    """Have the daemon serve the pages until Ctrl-C, and end the process."""
    # SIGTERM, of a process manager, ends the pages as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = 1
    try:
        for link in connection.pages(str(Path.cwd()), port):
            announce(link)
        warn("The daemon has ended, and the pages with it; `minutebook ui` opens them again.")
    except KeyboardInterrupt:
        status = 0
    sys.stdout.flush()
    # Some browsers of a terminal keep the thread that opened them.
    os._exit(status)


def _open() -> "Mount":
    from minutebook.features.pages.frame.sign_ins import SignIns
    from minutebook.features.pages.serving import PagesMount

    return PagesMount(SignIns())


COMMANDS = (ui,)
MOUNT = MountOption(
    "ui",
    click.option(
        "--ui", is_flag=True, help="With --http: serve the web pages too, at / of the same address."
    ),
    _open,
)
