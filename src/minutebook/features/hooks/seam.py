"""The functions that the core calls: facts about a folder, checks of this machine, the report of a day."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from minutebook.app import App
from minutebook.ask.operation import is_at_keyboard
from minutebook.config import Settings
from minutebook.config.folders.finding import FolderPlace, PlaceFact
from minutebook.features.hooks import log
from minutebook.features.hooks.settings import HookSettings
from minutebook.memory.maintenance.doctor import Finding
from minutebook.record.caller import Caller
from minutebook.record.day import DayLine, DayPart, DaySpan, DayTopic
from minutebook.record.reason import counted


def checks_here(settings: Settings) -> list[Finding]:
    """Return a finding if hooks fail, by their log, and a line about the hooks of each client."""
    from minutebook.features.hooks.cli import client_lines, trouble_in

    entries = log.entries(str(settings.home))
    trouble = trouble_in(entries)
    remedy = (
        "`minutebook hook` says more; `minutebook settings set hook_wait 0.3` gives them longer"
    )
    lines = client_lines(entries, datetime.now(UTC))
    return [
        *([] if trouble is None else [Finding(trouble, remedy)]),
        *(Finding(f"Hooks of {line}.", "", is_fault=False) for line in lines),
    ]


def where(settings: Settings, place: FolderPlace) -> PlaceFact:
    """Return whether hooks are on in a folder."""
    if place.hooks_off:
        sentence = 'Hooks say and keep nothing here: .minutebook.toml has hooks = "off".'
        return PlaceFact("hooks", "off", sentence)
    return PlaceFact("hooks", settings.of(HookSettings).hooks)


def told_unasked(app: App, caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    """Yield the part on sessions that got a brief at their start; the recall log has the briefs on prompts."""
    if not is_at_keyboard(caller):
        return
    starts = [
        (at, each)
        for each in log.entries(str(app.settings.home))
        if each.get("is_briefing") and each.get("outcome") == "answered"
        if (at := _instant(each)) is not None and span.holds(at)
    ]
    if starts:
        counts = [counted("{count:,} session briefed", "{count:,} sessions briefed", len(starts))]
        yield DayPart(DayTopic.TOLD, counts, [_line(at, each) for at, each in starts])


def _line(at: datetime, entry: Mapping[str, object]) -> DayLine:
    ids = entry.get("ids")
    count = len(ids) if isinstance(ids, list) else 0
    client = str(entry.get("client", ""))
    said = counted(
        "{client} was briefed on a new session: {count:,} record",
        "{client} was briefed on a new session: {count:,} records",
        count,
        client=client,
    )
    return DayLine(said, at)


def _instant(entry: Mapping[str, object]) -> datetime | None:
    try:
        return datetime.fromisoformat(str(entry.get("at")))
    except ValueError:
        return None
