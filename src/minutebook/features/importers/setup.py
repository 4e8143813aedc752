"""The steps of `setup` for records: sessions and notes of programs on this machine, and instructions of its projects."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from minutebook.cli.commands.setup import Offer, SetupRun, Stage, Steps
from minutebook.cli.printing import echo
from minutebook.features.importers.cli import found_here, report_lines, report_of, usual_place
from minutebook.features.importers.sources import claude_code_memory, instructions
from minutebook.features.importers.sources.reading.files import ImportSource
from minutebook.features.importers.sources.registry import SOURCES
from minutebook.memory.intake import WRITTEN
from minutebook.record.reason import count_of

_INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md", "GEMINI.md")
_MEGABYTE = 1_000_000
_SECONDS = 5.0
"""Seconds that each import takes, whatever its size: to open the store, load the model and embed a first batch."""

_SECONDS_A_MEGABYTE = 0.5
"""Seconds for each megabyte: twice what 25 MB of transcripts took on one core, 8.2 s with the constant part."""


def offers(run: SetupRun) -> Iterator[Offer]:
    """Yield a step for each source with files at its usual place, and for instructions of projects."""
    found = {name: [source] for name, source in found_here().items()}
    if projects := list(_instructions()):
        found[instructions.NAME] = projects
    # Asked once, before this run itself imports anything.
    is_begun = run.is_begun()
    for name, sources in found.items():
        yield _offer(run, name, sources, is_begun=is_begun)


def _instructions() -> Iterator[ImportSource]:
    """Yield the instructions of this folder, and of the folders in which Claude Code worked."""
    projects = usual_place(SOURCES[claude_code_memory.NAME])
    homes = projects.iterdir() if projects is not None and projects.is_dir() else ()
    known = (claude_code_memory.folder_of(home) for home in sorted(homes) if home.is_dir())
    folders = {Path.cwd(), *(Path(each) for each in known if each)}
    for folder in sorted(folders - {Path.home(), Path("/")}):
        if any((folder / each).is_file() for each in _INSTRUCTIONS):
            yield SOURCES[instructions.NAME].files(folder)


def _offer(run: SetupRun, name: str, sources: Sequence[ImportSource], *, is_begun: bool) -> Offer:
    """Return the offer to import a program's sources, with the time that it takes; without a question if all is here."""
    files = [file for source in sources for file in source.files]
    megabytes = sum(file.size for file in files) / _MEGABYTE
    subject = SOURCES[name].count(len(files))
    where = f"in {sources[0].root}" if len(sources) == 1 else f"in {len(sources)} projects"
    if is_begun and not any(_has_new(run, name, source) for source in sources):
        return Offer(subject=subject, lines=[f"{where}: all here already"])
    return Offer(
        subject=subject,
        lines=[f"{where}; to bring them in takes {_duration(megabytes)}"],
        question="Bring them in?",
        work=partial(_import, run, name, sources),
    )


def _has_new(run: SetupRun, name: str, source: ImportSource) -> bool:
    app, caller = run.store
    report = report_of(app, caller, run.settings, name, source, dry_run=True)
    return any(report.counts[each] for each in WRITTEN)


def _import(run: SetupRun, name: str, sources: Sequence[ImportSource]) -> None:
    """Import the sources of a program, print the counts, and sum up the sessions without a model."""
    app, caller = run.store
    for source in sources:
        report = report_of(app, caller, run.settings, name, source, dry_run=False)
        echo(*(f"  {line}" for line in report_lines(name, source, report, dry_run=False)))
    if app.summaries.is_built_in and (made := app.summaries.summarize_all(caller).done):
        echo(f"  Summed up {count_of(len(made), 'session')}: `minutebook sessions`.")


def _duration(megabytes: float) -> str:
    """Return in words how long an import takes."""
    seconds = _SECONDS + megabytes * _SECONDS_A_MEGABYTE
    if seconds < 10:
        return "some seconds"
    return f"about {round(seconds, -1):.0f} s" if seconds < 95 else f"about {seconds / 60:.0f} min"


STEPS = Steps(Stage.RECORDS, offers)
