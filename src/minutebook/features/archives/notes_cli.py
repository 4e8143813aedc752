"""The command that synchronizes a folder of Markdown notes with the store."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minutebook.cli.keyboard import PATH, confirm, has_terminal
from minutebook.cli.opening import opened_here
from minutebook.cli.printing import echo, say, style
from minutebook.cli.terminal import as_json, identity
from minutebook.record.errors import InvalidInput

if TYPE_CHECKING:
    from minutebook.features.archives.notes.note_sync import Deletion, NotesReport

_LISTED = 20
"""The most notes that are named of each list."""


@click.command(short_help="Keep a folder of Markdown notes in step, both ways.")
@click.argument("folder", type=PATH)
@click.option(
    "--watch", is_flag=True, help="Go on, whenever a note or a memory changes, until Ctrl-C."
)
@click.option(
    "--deletions",
    type=click.Choice(["ask", "keep", "forget"]),
    default="ask",
    show_default=True,
    help="What becomes of a memory whose note was deleted. `ask` without a terminal, or with --watch: it "
    "stays, and is told.",
)
@click.option("--again", is_flag=True, help="Take in, too, what was removed here.")
@identity
@as_json
def notes(
    options: dict[str, str],
    folder: Path,
    watch: bool,  # noqa: FBT001
    deletions: str,
    again: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Write each memory as a note into FOLDER, which Obsidian opens, and take in what you edit there.

    A new note becomes a memory. A note that was edited here while its memory changed elsewhere is kept
    beside it, as NAME.conflict-DATE.md. A note of a memory that was removed here is told and left as it is, but
    --again. Notes of entities, decisions and sessions are only shown.
    """
    from minutebook.features.archives.notes.note_sync import NoteSync

    if watch and (as_json or again):
        raise InvalidInput("--again" if again else "--json", "does not go with --watch")
    with opened_here(options) as (app, caller):
        asked = _asking(deletions, can_ask=not watch and not as_json)
        if watch:
            _watch(
                lambda hear: app.get(NoteSync).watch(
                    caller, folder.absolute(), asked, hear, threading.Event()
                )
            )
            return
        done = app.get(NoteSync).run(caller, folder.absolute(), asked, again=again)
    say(done, _lines(done), as_json)


def _watch(run: "Callable[[Callable[[NotesReport], None]], None]") -> None:
    earlier: list[list[str]] = [[]]

    def show(done: "NotesReport") -> None:
        lines = list(_lines(done))
        if not done.is_empty and lines != earlier[0]:
            echo(*lines)
        earlier[0] = lines

    echo("Watching. Ctrl-C ends it.")
    run(show)


def _asking(deletions: str, *, can_ask: bool) -> "Callable[[str, str], Deletion]":
    """Return the function that decides about deleted notes: by the option, or by asking the person at the terminal."""
    from minutebook.features.archives.notes.note_sync import Deletion

    def asked(name: str, label: str) -> Deletion:
        if deletions != "ask" or not (can_ask and has_terminal()):
            return Deletion(deletions)
        echo(f"{name} was deleted. Its memory is: {label}")
        return Deletion.FORGET if confirm("Forget it, too?") else Deletion.KEEP

    return asked


def _lines(done: "NotesReport") -> Iterator[str]:
    counts = {
        "edited": done.taken,
        "new": done.added,
        "forgotten": done.forgotten,
        "written": done.written,
    }
    changed = ", ".join(f"{what} {len(names):,}" for what, names in counts.items() if names)
    yield f"In step; notes: {changed}." if changed else "In step; nothing changed."
    for name, beside in done.conflicts[:_LISTED]:
        yield style(f"{name}: edited on both sides; what it said is in {beside}", fg="yellow")
    for name in done.open[:_LISTED]:
        yield style(
            f"{name} was deleted, its memory stays: --deletions forget (or keep) decides",
            fg="yellow",
        )
    for each in done.left_out[:_LISTED]:
        yield style(f"{each.place}: {each.reason}", fg="yellow")


COMMANDS = (notes,)
