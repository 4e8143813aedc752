"""The records of a client's session: its transcript when it ends, or its turns one by one."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from minutebook.config import Settings
from minutebook.config.whereabouts import repository_by_path
from minutebook.features.hooks import log
from minutebook.features.hooks.events import HookEvent, HookMoment, without_private
from minutebook.features.importers.source_imports import SourceImports
from minutebook.features.importers.sources import claude_code, codex, copilot_cli, gemini_cli
from minutebook.features.importers.sources.reading.conversation import session_name
from minutebook.features.importers.sources.reading.files import ImportSource, UsualPlace, Wanted
from minutebook.features.importers.sources.reading.values import instant_of, object_at, text_at
from minutebook.features.importers.sources.registry import SOURCES, found_in
from minutebook.record.errors import InvalidInput, MinutebookError
from minutebook.record.writing.source_drafts import Found, SourcePlace, TurnDraft, UnreadPart

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.record.caller import Caller


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Which source reads a client's transcripts, where they lie, and which files they are.

    Where an event names none, it is the file of this name in the folder named for the session.
    """

    source: str
    place: UsualPlace
    is_wanted: Wanted
    file: str = ""


CAPTURED, NOTHING = "captured", "nothing to keep"
"""The outcomes of an event with which a session was kept, or more of it, and of one in which nothing was said."""

TRANSCRIPTS: Mapping[str, Transcripts] = {
    "claude-code": Transcripts(claude_code.NAME, claude_code.USUAL_PLACE, claude_code.is_wanted),
    "codex": Transcripts(codex.NAME, codex.USUAL_PLACE, codex.is_wanted),
    "gemini": Transcripts(gemini_cli.NAME, gemini_cli.USUAL_PLACE, gemini_cli.is_wanted),
    "copilot": Transcripts(
        copilot_cli.NAME, copilot_cli.USUAL_PLACE, copilot_cli.is_wanted, copilot_cli.EVENTS
    ),
}
"""The clients that write transcripts which we read; of others each turn is kept as it ends."""


def capture(
    app: "App",
    settings: Settings,
    caller: "Caller",
    client: str,
    event: HookEvent,
    folder: Path | None,
) -> str:
    """Keep the records of an event, and sum the session up if it is over; return the outcome.

    That is noted in the log of hooks, too: whoever asked has not waited.
    """
    count, kept = 0, ""
    try:
        found = _found(client, event, folder)
        count, names = _import(app, settings, caller, event, found)
        if event.moment is HookMoment.END and client not in TRANSCRIPTS:
            names = {each.name for each in app.sessions.all(caller, session_name(event.session))}
        kept = min(names, default="")
        if event.moment is HookMoment.END and (count or client not in TRANSCRIPTS):
            for name in sorted(names):
                app.summaries.summarize(caller, name)
        outcome = CAPTURED if kept else NOTHING
    except MinutebookError as error:
        outcome = f"failed: {type(error).__name__}"
    log.append(
        str(settings.home),
        client=client,
        event="capture",
        session=event.session,
        kept=kept,
        folder=str(event.folder),
        outcome=outcome,
        turns=count,
    )
    return outcome


def _found(client: str, event: HookEvent, folder: Path | None) -> Iterable[Found]:
    if event.moment is HookMoment.TURN:
        return [_turn(client, event)]
    if client not in TRANSCRIPTS:
        return []
    of = TRANSCRIPTS[client]
    path = transcript(client, event, folder)
    if not path.is_file():
        # Nothing was said: a client that only lists its servers has a session, too.
        return []
    return found_in(ImportSource(path, of.is_wanted), SOURCES[of.source])


def found_turns(client: str, event: HookEvent, folder: Path | None) -> list[TurnDraft]:
    """Return the turns that an event brings, without private parts.

    Raises InvalidInput for a transcript that is none of the client's.
    """
    found = _found(client, event, folder)
    return [_without_private(each) for each in found if isinstance(each, TurnDraft)]


def _turn(client: str, event: HookEvent) -> Found:
    """Read a turn that a client gives itself."""
    turn, place = object_at(event.fields, "turn"), SourcePlace(event.name)
    key, at, name = text_at(turn, "id"), instant_of(turn.get("at")), session_name(event.session)
    if not key or at is None or not name:
        return UnreadPart(place, "the turn has no id, instant or session")
    return TurnDraft(
        key=key,
        place=place,
        program=client,
        session=name,
        at=at,
        prompt=text_at(turn, "prompt"),
        thought="",
        response=text_at(turn, "response"),
    )


def _import(
    app: "App", settings: Settings, caller: "Caller", event: HookEvent, found: Iterable[Found]
) -> tuple[int, set[str]]:
    """Import the found drafts; return how many turns were new or had grown, and the sessions' names."""
    from minutebook.memory.intake import Outcome

    names: set[str] = set()

    def noted() -> Iterator[Found]:
        for each in found:
            if isinstance(each, TurnDraft):
                names.add(each.session)
                yield _without_private(replace(each, folder=each.folder or str(event.folder)))
            else:
                yield each

    source = f"{caller.name}: {event.session}"
    report = app.get(SourceImports).run(
        caller,
        source,
        noted(),
        lambda: 0.0,
        dry_run=False,
        repository_of=repository_by_path(settings),
    )
    return sum(report.counts[each].total() for each in (Outcome.NEW, Outcome.CHANGED)), names


def _without_private(turn: TurnDraft) -> TurnDraft:
    return replace(
        turn,
        prompt=without_private(turn.prompt),
        thought=without_private(turn.thought),
        response=without_private(turn.response),
    )


def transcript(client: str, event: HookEvent, folder: Path | None) -> Path:
    """Return the path of a session's transcript, one in the client's own folder of them; it need not be there.

    `folder` is the client's configuration folder where a variable names it. Raises InvalidInput for
    any other path: who writes events could have any file read.
    """
    of = TRANSCRIPTS[client]
    configuration = folder or Path.home().joinpath(*of.place.folder)
    own = configuration.joinpath(*of.place.below)
    named = text_at(event.fields, "transcript_path")
    if not named and of.file and event.session:
        named = str(own / event.session / of.file)
    with suppress(OSError, RuntimeError, ValueError):
        path = Path(named).resolve()
        below = path.relative_to(own.resolve())
        if named and of.is_wanted(PurePath(below)):
            return path
    raise InvalidInput("transcript_path", "must be a transcript below {folder}", folder=own)
