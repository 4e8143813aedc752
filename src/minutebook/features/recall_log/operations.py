"""Operations on the log of questions and their hits."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minutebook.ask.operation import check_range, operation
from minutebook.features.recall_log.rows import ShownRecall
from minutebook.record.caller import Caller

if TYPE_CHECKING:
    from minutebook.app import App


@dataclass(frozen=True, slots=True)
class RecallPage:
    """A part of the log of questions, whether the log is off, and whether every question could be noted."""

    recalls: list[ShownRecall]
    is_off: bool
    is_whole: bool


@operation("knowledge")
def recalls(
    app: "App",
    caller: Caller,
    session: str | None,
    client: str | None,
    memory: str | None,
    limit: int,
    offset: int,
) -> RecallPage:
    """List questions and their hits, the latest first; of a session, through a client, or with a memory."""
    # A command that only names the operation must not import the log: that takes time.
    from minutebook.features.recall_log.recall_log import RecallLog

    check_range("limit", limit, 1000)
    log = app.get(RecallLog)
    found = log.entries(
        caller,
        sessions=None if session is None else app.sessions.connections(caller, session),
        client=client,
        record=None if memory is None else app.memories.read(caller, memory),
        limit=limit,
        offset=offset,
    )
    return RecallPage(found, log.mode == "off", log.is_whole())


OPERATIONS = (recalls,)
