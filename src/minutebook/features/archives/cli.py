"""The commands that export records, and back up and restore the data directory."""

import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minutebook.cli.commands.governance import restore_memory
from minutebook.cli.keyboard import PATH
from minutebook.cli.opening import opened_here, server_named
from minutebook.cli.printing import echo, fields_of
from minutebook.cli.progress import bar, interruptible
from minutebook.cli.terminal import counted, identity
from minutebook.config import load
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import InvalidInput, NotFound
from minutebook.record.reason import count_of
from minutebook.record.records import Kind
from minutebook.serve.logs import log_to_stderr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minutebook.app import App
    from minutebook.record.records import Token


_OF_CONTRACT = ("contract", "journal")

_ExportResult = tuple[object, list[str]]
"""The result of an export for programs, and its lines for people."""


@click.command(short_help="Write every record to a file, one a line, as JSON.")
@click.argument("path", type=PATH)
@click.option("--sessions", is_flag=True, help="Only turns and summaries.")
@click.option(
    "--include-derived", is_flag=True, help="The index of code too, which can be made again."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["archive", "contract", "journal", "markdown", "csv", "server-memory"]),
    default="archive",
    help="`contract`: only turns and summaries, with the fields of the journal contract's data model "
    "alone; `journal` is another name for it. "
    "`markdown`: a folder of notes with links, which Obsidian opens, `csv`: one of tables; again into "
    "the same folder, only what changed is written. "
    "`server-memory`: entities, what is known of them now, and relations, for that server.",
)
@identity
def export(
    options: dict[str, str],
    path: Path,
    sessions: bool,  # noqa: FBT001
    include_derived: bool,  # noqa: FBT001
    form: str,
) -> object:
    """Write every record, with versions and audit trail, to the new file PATH: one a line, as JSON.

    The index of code is left out, as `minutebook index` makes it again.
    """
    if form not in ("archive", *_OF_CONTRACT) and (sessions or include_derived):
        raise InvalidInput("--format", "must be archive with --sessions or --include-derived")
    with (
        opened_here(options) as (app, caller),
        interruptible("Stopped. No file was written."),
        bar("Exporting", hidden=False) as progress,
    ):
        reporting = with_call(caller, progress=progress)
        if form == "server-memory":
            done, lines = _export_graph(app, reporting, path.absolute())
        elif form in ("markdown", "csv"):
            done, lines = _export_folder(app, reporting, path.absolute(), form)
        else:
            done, lines = _export_records(
                app, reporting, path.absolute(), form, sessions, include_derived
            )
    echo(*lines)
    return done


def _export_records(
    app: "App",
    caller: Caller,
    path: Path,
    form: str,
    sessions: bool,  # noqa: FBT001
    include_derived: bool,  # noqa: FBT001
) -> _ExportResult:
    from minutebook.features.archives.archive_lines import JOURNAL, KINDS, OWN
    from minutebook.features.archives.archives import Archives

    is_journal = form in _OF_CONTRACT
    kinds = KINDS if include_derived else OWN
    if sessions or is_journal:
        kinds = JOURNAL
    if is_journal:
        done = app.get(Archives).export_journal_to(caller, path)
    else:
        done = app.get(Archives).export_to(caller, kinds, path)
    chunks = app.overview.counts(caller, [Kind.CHUNK])[Kind.CHUNK]
    lines = [f"Exported {counted(done.counts)} to {done.path}."]
    if chunks and kinds is OWN:
        lines.append(
            f"Left out: {count_of(chunks, 'chunk')} of code; `minutebook index` makes them again, "
            "--include-derived takes them along."
        )
    return done, lines


def _export_folder(app: "App", caller: Caller, path: Path, form: str) -> _ExportResult:
    from minutebook.features.archives.exports.folder_exports import FolderExports

    exports = app.get(FolderExports)
    done = (exports.notes if form == "markdown" else exports.tables)(caller, path)
    lines = [
        f"Exported {counted(done.counts)} to {done.path}: {count_of(done.changed, 'file')} written, "
        f"{done.removed:,} removed."
    ]
    if done.kept:
        named = ", ".join(done.kept[:5]) + (" …" if len(done.kept) > 5 else "")
        lines.append(
            f"Left as they are: {count_of(len(done.kept), 'file')} that somebody else wrote or edited ({named})."
        )
    return done, lines


def _export_graph(app: "App", caller: Caller, path: Path) -> _ExportResult:
    from minutebook.features.archives.exports.graph_exports import GraphExports

    done = app.get(GraphExports).run(caller, path)
    lines = [f"Exported {counted(done.counts)} to {done.path}."]
    if done.left_out:
        lines.append(
            f"Left out: {done.left_out:,} memories that name no entity, decisions and sessions, "
            "for which that server has no place."
        )
    return done, lines


@click.command(short_help="Write the whole data directory to one file.")
@click.argument("path", type=PATH, required=False)
@click.option(
    "--rotate",
    is_flag=True,
    help="Instead of PATH: a new file in `backup_folder`, restored for a test; the last "
    "seven stay.",
)
@identity
def backup(options: dict[str, str], path: Path | None, rotate: bool) -> object:  # noqa: FBT001
    """Write all of the data directory that is not derived to the new file PATH, while others write.

    The file holds settings and secrets too; only you may read it. The setting `backup_every` has
    the daemon or server do what --rotate does by itself.
    """
    from minutebook.features.archives.copies.backups import store_backups
    from minutebook.features.archives.copies.scheduled_backups import scheduled_backups
    from minutebook.memory.maintenance.data_directory import BACKUP

    if rotate is (path is not None):
        raise InvalidInput("PATH", "or --rotate is needed, and not both")
    settings = load(options)
    with interruptible("Stopped. No file was written."), opened_here(options) as (app, caller):
        if path is None:
            made = app.get(scheduled_backups).run(caller)
        else:
            path = path.absolute()
            path = path if path.suffix == BACKUP else path.with_name(f"{path.name}{BACKUP}")
            made = app.get(store_backups).make(caller, path)
    if made is None:
        echo("Another process is making a backup there.")
        return {"path": None}
    verified = ", and restored it for a test" if rotate else ""
    echo(
        f"Backed up {count_of(made.files, 'file')} ({count_of(made.size, 'byte')}) to {made.path}{verified}."
    )
    if settings.of(LedgerSettings).ledger is not None:
        echo(
            f"The ledger in {settings.of(LedgerSettings).ledger} is a repository of its own; it is not in it."
        )
    return made


@click.command(short_help="Bring back a backup, or a memory.")
@click.argument("what")
@click.option("--version", "number", type=click.IntRange(1), help="Bring back this version's text.")
@click.option("--replace", is_flag=True, help="Put aside what the data directory holds.")
@identity
def restore(
    options: dict[str, str],
    what: str,
    number: int | None,
    replace: bool,  # noqa: FBT001
) -> object:
    """Bring back WHAT: the data directory from a backup (NAME.tar), or a memory by its id.

    Of a memory that is not deleted, --version brings back an earlier text.
    """
    from minutebook.config.places import data_directory
    from minutebook.features.archives.copies.restores import Restores
    from minutebook.memory.maintenance.data_directory import BACKUP

    path = Path(what)
    if server_named() is None and (path.suffix == BACKUP or path.is_file()):
        if not replace:
            Restores(data_directory(load(options))).check_empty()
        return _restore_backup(options, path.absolute())
    try:
        return restore_memory(options, what, number)
    except NotFound as error:
        if error.id == what:
            remedy = (
                "must be a backup or a memory's id: no such file, and there is no memory {what}"
            )
            raise InvalidInput("WHAT", remedy, what=what) from error
        raise


def _restore_backup(options: dict[str, str], path: Path) -> dict[str, object]:
    from minutebook.app import now
    from minutebook.config.places import data_directory
    from minutebook.features.archives.copies.restores import Restores

    settings = load(options)
    log_to_stderr(settings)
    with interruptible(
        "Stopped. If the directory is half restored, the same command with --replace ends it."
    ):
        caller = settings.person(options, getpass.getuser())
        done = Restores(data_directory(settings)).run(caller, path, now())
    echo(f"Restored {settings.home} from {path}.")
    if done.aside is not None:
        echo(f"What was there before is in {done.aside}.")
    if done.kept:
        echo(f"As before, not as in the backup: the tokens {_named(done.kept)}.")
    if done.unsure:
        echo(
            f"These tokens let in again as when the backup was made: {_named(done.unsure)}.",
            "Revoke those that were revoked or replaced since; the store before could not be asked.",
        )
    return {"path": path, "home": settings.home, **fields_of(done)}


def _named(tokens: "Sequence[Token]") -> str:
    return ", ".join(f"{each.id} ({each.name})" for each in tokens)


COMMANDS = (export, backup, restore)
