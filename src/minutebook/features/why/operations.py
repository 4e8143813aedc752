"""Operations on reasons: the records that cite code, and the requests of sessions before commits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from minutebook.domain.caller import Caller, FolderScope
from minutebook.domain.records import Turn
from minutebook.operations.memories import in_folder
from minutebook.operations.operation import operation

if TYPE_CHECKING:
    from minutebook.app import App

WITHIN, AT_ONCE = timedelta(hours=8), timedelta(minutes=20)
"""How long before a commit a turn that names its file asked for it, and one that names none."""


@dataclass(frozen=True, slots=True)
class Request:
    """A turn of a session before a commit: what a person asked for."""

    session: str
    turn: str
    at: datetime
    prompt: str


@operation("journal")
def requests_before(
    app: "App",
    caller: Caller,
    moments: Sequence[datetime],
    names: Sequence[str],
    folder: FolderScope | None = None,
) -> list[Request | None]:
    """Return for each moment of a commit the request that led to it: the last one that names its code, else the last just before."""
    views = app.infrastructure.records.seen_by(in_folder(caller, folder))
    found: list[Request | None] = []
    for moment in moments:
        spans = (
            each.where(since=moment - WITHIN, until=moment + timedelta(minutes=1)) for each in views
        )
        turns = sorted(
            (turn for view in spans for turn in view.find(Turn)), key=lambda each: each.at
        )
        naming = [each for each in turns if any(name in each.text for name in names)]
        just = [each for each in turns if each.at >= moment - AT_ONCE]
        led = [*just, *naming]
        found.append(None if not led else _request(led[-1]))
    return found


def _request(turn: Turn) -> Request:
    return Request(turn.session, turn.id, turn.at, turn.prompt)


OPERATIONS = (requests_before,)
