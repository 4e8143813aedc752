"""Operations on citations: read the texts that may cite code."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from minutebook.ask.memories import in_folder
from minutebook.ask.operation import operation
from minutebook.features.citations.texts import CitingText
from minutebook.record.caller import Caller, FolderScope
from minutebook.record.records import Decision, DecisionStatus, Kind, Memory, Status, Summary

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.memory.access.visibility import View


MOST_SESSIONS = 200
"""The latest sessions, whose turns are searched for changed files."""


@operation("knowledge", is_long=True)
def citing_texts(app: "App", caller: Caller, folder: FolderScope | None = None) -> list[CitingText]:
    """Return the texts of the memories, decisions and summaries of a folder that may cite code, newest first."""
    from minutebook.features.citations.citing import CitingRecords

    citing = app.get(CitingRecords)
    views = app.infrastructure.records.seen_by(in_folder(caller, folder))
    found = []
    for view in views:
        for each in citing.citing_records(view.organization, _holding(view, app.clock())):
            caller.call.progress(0.0, "texts")
            if each.may_cite:
                found.append((view.organization, each))
    found.sort(key=lambda each: each[1].text.at, reverse=True)
    sessions, texts = 0, list[CitingText]()
    for organization, each in found:
        caller.call.progress(0.5, "files")
        is_session = each.text.kind is Kind.SUMMARY
        sessions += is_session
        whole = each if sessions > MOST_SESSIONS else citing.with_files(organization, each)
        if not is_session or whole.text.references():
            texts.append(whole.text)
    return texts


def _holding(view: "View", now: datetime) -> Iterator[Memory | Decision | Summary]:
    """Yield the records of a view that hold now: valid memories, active decisions, the latest summary of each session."""
    for memory in view.where(valid_at=now).find(Memory):
        if memory.status is not Status.DEPRECATED:
            yield memory
    yield from view.narrowed(status=DecisionStatus.ACTIVE).find(Decision)
    yield from _latest(view.find(Summary))


def _latest(summaries: Iterable[Summary]) -> Iterable[Summary]:
    """Return the latest summary of each session."""
    return {each.session: each for each in sorted(summaries, key=lambda each: each.at)}.values()


OPERATIONS = (citing_texts,)
