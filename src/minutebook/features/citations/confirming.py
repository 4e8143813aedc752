"""Confirm decisions and summaries: they cite the code as it is now."""

from datetime import datetime

from minutebook.domain.caller import Caller
from minutebook.domain.errors import Conflict
from minutebook.domain.records import Decision, Summary
from minutebook.domain.trust.trail import UNDO
from minutebook.domain.trust.trail_texts import CONFIRM
from minutebook.features.citations.rows import CitationRows
from minutebook.services.infrastructure import Infrastructure


class Confirmations:
    """Keeps when a person last said of a record, which nobody may change, that it holds."""

    def __init__(self, infrastructure: Infrastructure, rows: CitationRows) -> None:
        self._trail = infrastructure.trail
        self._clock = infrastructure.clock
        self._rows = rows

    def confirm(
        self, caller: Caller, record: Decision | Summary
    ) -> tuple[datetime | None, datetime]:
        """Say that a record holds; return when that was last said before, and now. Raises Refused if the caller may not write to it."""
        now = self._clock()
        return self._put(caller, CONFIRM, record, now), now

    def take_back(
        self, caller: Caller, record: Decision | Summary, at: datetime, before: datetime | None
    ) -> None:
        """Undo the confirmation of an instant. Raises Refused, Conflict if the record was confirmed again since."""
        if self._last(record) != at:
            raise Conflict(record.id, "it was confirmed again since")
        self._put(caller, UNDO, record, before)

    def _put(
        self, caller: Caller, act: str, record: Decision | Summary, at: datetime | None
    ) -> datetime | None:
        with self._trail.audited(caller, record.organization, act, record.kind, record.id) as audit:
            audit.check(record)
            before = self._last(record)
            self._rows.put_confirmed(record.organization, (record.kind, record.id), at)
        return before

    def _last(self, record: Decision | Summary) -> datetime | None:
        name = (record.kind, record.id)
        return self._rows.confirmed(record.organization, [name]).get(name)
