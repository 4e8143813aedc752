"""Capture a client's session: by its transcript when it ends, or turn by turn."""

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
    """The transcripts of a client: the source that reads them, their place, and the test of their paths.

    If an event names no transcript, it is `file` in the folder of the session's name.
    """

    source: str
    place: UsualPlace
    is_wanted: Wanted
    file: str = ""


CAPTURED, NOTHING = "captured", "nothing to keep"
"""The outcomes of an event after which a session was stored, or more of it, and of one without turns."""

TRANSCRIPTS: Mapping[str, Transcripts] = {
    "claude-code": Transcripts(claude_code.NAME, claude_code.USUAL_PLACE, claude_code.is_wanted),
    "codex": Transcripts(codex.NAME, codex.USUAL_PLACE, codex.is_wanted),
    "gemini": Transcripts(gemini_cli.NAME, gemini_cli.USUAL_PLACE, gemini_cli.is_wanted),
    "copilot": Transcripts(
        copilot_cli.NAME, copilot_cli.USUAL_PLACE, copilot_cli.is_wanted, copilot_cli.EVENTS
    ),
}
"""The clients with transcripts that we read; of other clients each turn is captured as it ends."""


def capture(
    app: "App",
    settings: Settings,
    caller: "Caller",
    client: str,
    event: HookEvent,
    folder: Path | None,
) -> str:
    """Store the turns of an event, and summarize the session if it has ended; return the outcome.

    The outcome is also written to the log of hooks, since the client does not wait for it.
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
    """Return the drafts of an event: its own turn, or those of its transcript."""
    if event.moment is HookMoment.TURN:
        return [_turn(client, event)]
    if client not in TRANSCRIPTS:
        return []
    transcripts = TRANSCRIPTS[client]
    path = transcript(client, event, folder)
    if not path.is_file():
        # A session without turns: a client that only lists its servers has one, too.
        return []
    return found_in(ImportSource(path, transcripts.is_wanted), SOURCES[transcripts.source])


def found_turns(client: str, event: HookEvent, folder: Path | None) -> list[TurnDraft]:
    """Return the turns of an event or its transcript, without private parts.

    Raises InvalidInput for a path that is not a transcript of the client.
    """
    found = _found(client, event, folder)
    return [_without_private(each) for each in found if isinstance(each, TurnDraft)]


def _turn(client: str, event: HookEvent) -> Found:
    """Return the draft of the turn in an event."""
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
    """Import drafts; return the number of turns that were new or had grown, and the names of their sessions."""
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
    """Return the path of a session's transcript, which need not exist.

    `folder` is the client's configuration folder if a variable names it. Raises InvalidInput for a path outside the
    client's folder of transcripts: an event must not have any other file read.
    """
    transcripts = TRANSCRIPTS[client]
    configuration = folder or Path.home().joinpath(*transcripts.place.folder)
    own = configuration.joinpath(*transcripts.place.below)
    named = text_at(event.fields, "transcript_path")
    if not named and transcripts.file and event.session:
        named = str(own / event.session / transcripts.file)
    with suppress(OSError, RuntimeError, ValueError):
        path = Path(named).resolve()
        below = path.relative_to(own.resolve())
        if named and transcripts.is_wanted(PurePath(below)):
            return path
    raise InvalidInput("transcript_path", "must be a transcript below {folder}", folder=own)
