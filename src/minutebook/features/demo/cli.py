"""Show what Minutebook does, on a store of its own."""

import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import click

from minutebook.cli.opening import settings_of
from minutebook.cli.printing import echo
from minutebook.config import all_settings, environment, settings_with, variable_of
from minutebook.invocation import PREFIX


@click.command(short_help="Show what it does, on a store of its own.")
@click.option("--keep", is_flag=True, help="Keep the demo's data directory and say where it is.")
@click.option("--ui", "with_pages", is_flag=True, help="Fill a store and show it in the browser.")
@click.option("--no-browser", is_flag=True, help="With --ui: print the link; open nothing.")
def demo(keep: bool, with_pages: bool, no_browser: bool) -> None:  # noqa: FBT001
    """Show what it does, on a store of its own, over a real MCP connection.

    With --ui a store is filled with two months of a small team, and the web pages open on it, until
    Ctrl-C.
    """
    if with_pages:
        _show_pages(keep=keep, opens_browser=not no_browser)
        return
    from minutebook.features.demo.demo import run

    sys.exit(run(keep=keep))


def _show_pages(*, keep: bool, opens_browser: bool) -> None:
    from minutebook.features.demo.demo_store import fill
    from minutebook.launch import module_command

    home = Path(tempfile.mkdtemp(prefix="minutebook-demo-"))
    # The log of questions shows what they were, where there is one.
    asked = {name: "questions" for name in ("recall_log",) if hasattr(all_settings(), name)}
    try:
        echo("Filling a store with the two months of a small team that rebuilds its billing …")
        fill(settings_with(home=home, embedder="none", **asked))
        own = settings_of({"home": str(home)})
        arguments = ["ui", "--home", str(home), "--role", "admin"]
        command = module_command("minutebook", *arguments, *["--no-browser"] * (not opens_browser))
        # Of what is set only the model: the demo shows no store or ledger but its own.
        variables = {k: v for k, v in environment().items() if not k.startswith(PREFIX)}
        chosen = {"embedder": own.embedder, **asked}
        variables |= {variable_of(name): value for name, value in chosen.items()}
        sys.stdout.flush()
        # A process of its own: it ends at once at Ctrl-C, and would leave the folder.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with subprocess.Popen(command, env=variables) as pages:  # noqa: S603 - this program
            with suppress(KeyboardInterrupt):
                pages.wait()
            pages.terminate()
    finally:
        if keep:
            echo(f"The demo's memory is in {home}; try: minutebook ui --home {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)


COMMANDS = (demo,)
