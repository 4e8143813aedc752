"""Bring in archives of `export`, or records of another program."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minutebook.cli.keyboard import PATH
from minutebook.cli.opening import is_begun, made_here, settings_of
from minutebook.cli.printing import fields_of, say
from minutebook.cli.progress import bar, interruptible
from minutebook.cli.terminal import as_json, counted, identity
from minutebook.config import Settings
from minutebook.config.machine import places_here
from minutebook.config.whereabouts import repository_by_path
from minutebook.features.importers.source_imports import SourceImports
from minutebook.features.importers.sources.reading.files import ImportSource
from minutebook.features.importers.sources.registry import SOURCES, SourceKind, found_in
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import count_of

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.features.archives.importing import Imported
    from minutebook.memory.intake import IntakeReport

_LISTED = 20
"""Reasons that are printed for records left out; `--json` has all that are kept."""


def usual_place(kind: SourceKind) -> Path | None:
    """Return the path at which a program keeps its files on this machine; None if that differs."""
    usual = kind.usual_place
    if usual is None:
        return None
    return places_here().folder(usual.variable, *usual.folder).joinpath(*usual.below)


def found_here() -> dict[str, ImportSource]:
    """Return the sources with files at their usual place, by name."""
    found = {}
    for name, kind in SOURCES.items():
        if (place := usual_place(kind)) is not None and place.exists():
            try:
                source = kind.files(place)
            except InvalidInput:
                continue
            if source.files:
                found[name] = source
    return found


@click.command("import", short_help="Bring in what `export` wrote, or another program kept.")
@click.argument("arguments", metavar="[SOURCE] [PATH]", nargs=-1, type=PATH)
@click.option(
    "--replace", is_flag=True, help="Put the file's turns and summaries in the place of all."
)
@click.option(
    "--own",
    is_flag=True,
    help="The archive is of a store of your own: what it says of persons holds here, too.",
)
@click.option("--again", is_flag=True, help="Take in, too, what was removed here.")
@click.option("--dry-run", is_flag=True, help="Only count what a source holds; write nothing.")
@as_json
@identity
def import_(
    options: dict[str, str],
    arguments: tuple[Path, ...],
    replace: bool,  # noqa: FBT001
    own: bool,  # noqa: FBT001
    again: bool,  # noqa: FBT001
    dry_run: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Bring in what `export` wrote to PATH, or what another program keeps, such as `claude-code`.

    An archive is named alone; what is here already stays as it is. Who wrote, verified, locked or decided is
    its claim, unless it is --own: decisions wait as proposals, nothing is verified or locked. It may also hold turns and summaries
    as JSON with the fields of the journal's data model, one a line. In a governed store (`minutebook
    status` says so) more than turns and summaries needs --role admin.

    A SOURCE is claude-code, claude-code-memory, codex, copilot-cli, gemini-cli, server-memory, markdown, mcp-memory-service,
    chat-export, instructions, claude-mem, mem0 or adr, and PATH its file or folder; some have a usual place. `minutebook import` alone says what is there of each. A source may be imported again at
    any time: only what is new is added, and what was removed here stays so, but --again.
    """
    if not arguments:
        found = found_here()
        sources = [(name, kind, found.get(name)) for name, kind in SOURCES.items()]
        lines = [_source_line(*each) for each in sources]
        say([_source_row(*each) for each in sources], lines, as_json)
        return
    name = str(arguments[0])
    if name in SOURCES:
        if replace:
            raise InvalidInput("--replace", "is for archives; a source only adds")
        if own:
            raise InvalidInput("--own", "is for archives; what a source brings is yours")
        if len(arguments) > 2:
            raise InvalidInput("PATH", "must be one file or one folder")
        path = arguments[1] if len(arguments) > 1 else None
        _import_source(options, name, path, again=again, dry_run=dry_run, as_json=as_json)
        return
    if dry_run:
        raise InvalidInput("--dry-run", "is for sources ({names})", names=", ".join(SOURCES))
    if len(arguments) != 1 or not arguments[0].exists():
        known = ", ".join(SOURCES)
        remedy = "must be one of {names}, or an archive by itself; there is no {name}"
        raise InvalidInput("SOURCE", remedy, names=known, name=name)
    _import_archive(options, arguments[0], replace, own, again, as_json)


def _source_row(name: str, kind: SourceKind, source: "ImportSource | None") -> dict[str, object]:
    place = usual_place(kind)
    files = 0 if source is None else len(source.files)
    return {"source": name, "title": kind.title, "path": place and str(place), "files": files}


def _source_line(name: str, kind: SourceKind, source: "ImportSource | None") -> str:
    if source is not None:
        there = f"{count_of(len(source.files), 'file')} in {source.root}"
    elif (place := usual_place(kind)) is not None:
        there = f"none in {place}"
    else:
        there = f"minutebook import {name} PATH"
    return f"{name:<20}{kind.title}: {there}"


def _import_archive(
    options: dict[str, str],
    path: Path,
    replace: bool,  # noqa: FBT001
    own: bool,  # noqa: FBT001
    again: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    from minutebook.features.archives.archive_lines import Mode
    from minutebook.features.archives.archives import Archives

    mode = Mode.REPLACE if replace else Mode.MERGE
    with (
        made_here(options) as (app, caller),
        interruptible("Stopped. Nothing was brought in."),
        bar("Importing", hidden=False) as progress,
    ):
        asks = with_call(caller, progress=progress)
        outcome = app.get(Archives).import_from(asks, path.resolve(), mode, is_own=own, again=again)
    say(outcome, _archive_lines(outcome), as_json)


def _archive_lines(outcome: "Imported") -> Iterator[str]:
    yield from _intake_lines(outcome)
    if outcome.displaced:
        yield f"{counted(outcome.displaced)}: removed, as the file does not hold it."
    if outcome.claimed:
        yield (
            f"{counted(outcome.claimed)}: who verified, locked or decided them, or the trail, is the file's "
            "claim and was not taken over."
        )
        yield "If it is of a store of your own, the same command with --own takes that over."


def _import_source(
    options: dict[str, str],
    name: str,
    path: Path | None,
    *,
    again: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Import a source, or with `dry_run` only count its records, and print the counts.

    Without a `path` it reads the usual place. Raises InvalidInput if the source has none.
    """
    source = SOURCES[name].files(_place(name, SOURCES[name], path))
    # A dry run must not begin a store.
    if dry_run and not is_begun(settings_of(options)):
        from minutebook.features.importers.source_imports import count_as_new

        report = count_as_new(found_in(source, SOURCES[name]))
    else:
        with made_here(options) as (app, caller):
            settings = settings_of(options)
            report = report_of(app, caller, settings, name, source, again=again, dry_run=dry_run)
    shape = {"source": name, "path": str(source.root), **fields_of(report)}
    say(shape, report_lines(name, source, report, dry_run), as_json)


def report_of(
    app: "App",
    caller: Caller,
    settings: Settings,
    name: str,
    source: ImportSource,
    *,
    again: bool = False,
    dry_run: bool,
) -> "IntakeReport":
    """Import a source, or with `dry_run` count its records, and return the counts. Raises as `SourceImports.run`."""
    with (
        interruptible(
            "Stopped. What was read so far is kept; the same command goes on from there."
        ),
        bar("Looking" if dry_run else "Importing", hidden=False) as progress,
    ):
        return app.get(SourceImports).run(
            with_call(caller, progress=progress),
            f"{name}: {source.root}",
            found_in(source, SOURCES[name]),
            lambda: source.part,
            dry_run=dry_run,
            again=again,
            # Looking up the repository of a folder writes names, unless the settings are read-only.
            repository_of=repository_by_path(dataclasses.replace(settings, read_only=dry_run)),
        )


def _place(name: str, kind: SourceKind, path: Path | None) -> Path:
    """Return the path to read. Raises InvalidInput if none is given and the source has no usual place."""
    place = usual_place(kind) if path is None else path.absolute()
    if place is None:
        raise InvalidInput("PATH", "must be given: {name} has no usual place", name=name)
    return place


def report_lines(
    name: str,
    source: ImportSource,
    report: "IntakeReport",
    dry_run: bool,  # noqa: FBT001
) -> list[str]:
    """Return the lines that tell a person the counts of a source."""
    return list(_intake_lines(report, f"{SOURCES[name].title} in {source.root}", dry_run=dry_run))


COMMANDS = (import_,)


def _intake_lines(
    report: "IntakeReport", head: str = "", *, dry_run: bool = False
) -> Iterator[str]:
    """Yield the sentences of a report; `head` names the source behind a colon."""
    from minutebook.memory.intake import Outcome

    verbs = ("Would import", "would be changed") if dry_run else ("Imported", "changed")
    counts = report.counts
    yield f"{verbs[0]} {counted(counts[Outcome.NEW])}{head and ': '}{head}."
    if counts[Outcome.CHANGED]:
        yield f"{counted(counts[Outcome.CHANGED])}: {verbs[1]}, as the source has."
    if counts[Outcome.HERE]:
        yield f"{counted(counts[Outcome.HERE])}: here already."
    if total := report.reasons.total():
        yield f"{total:,} left out:"
    for reason, count in report.reasons.most_common(_LISTED):
        first = next((each for each in report.left_out if each.reason == reason), None)
        where = "" if first is None else f" (first: {first.place})"
        yield f"  {count:,} × {reason}{where}"
    if len(report.reasons) > _LISTED:
        yield f"  and {len(report.reasons) - _LISTED:,} more reasons; --json has them"
