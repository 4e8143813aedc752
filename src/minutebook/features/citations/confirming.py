"""Confirm decisions and summaries: they cite the code as it is now."""

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.errors import NotFound
from minutebook.domain.filters import Filter
from minutebook.domain.records import Decision, Entry, Kind, Record, Summary
from minutebook.domain.trust.acts import CONFIRM
from minutebook.domain.trust.trail import DONE, UNDO
from minutebook.features.citations.rows import CitationRows


class Confirmations:
    """Keeps the last confirmation of each decision and summary; earlier ones are read from the trail."""

    def __init__(self, app: App) -> None:
        self._store, self._trail = app.infrastructure.store, app.trail
        self._rows = CitationRows(app.infrastructure.database)

    def confirm(self, caller: Caller, record: Decision | Summary) -> None:
        """Say that a record holds. Raises Refused if the caller may not write to it."""
        self._note(caller, CONFIRM, record)

    def take_back(self, caller: Caller, organization: str, kind: Kind, id: str) -> None:
        """Undo the last confirmation of a record. Raises Refused, NotFound."""
        record = self._store.get(_FIXED[kind], organization, id)
        if not isinstance(record, (Decision, Summary)):
            raise NotFound(kind, id)
        self._note(caller, UNDO, record)

    def is_last(self, confirmed: Entry) -> bool:
        """Tell whether the confirmation of an entry is the last that was not taken back."""
        in_force = self._in_force(confirmed.organization, confirmed.subject)
        return bool(in_force) and in_force[-1].number == confirmed.number

    def _note(self, caller: Caller, act: str, record: Decision | Summary) -> None:
        organization = record.organization
        with self._trail.audited_batch([organization]):
            with self._trail.audited(caller, organization, act, record.kind, record.id) as audit:
                audit.check(record)
            in_force = self._in_force(organization, record.id)
            at = in_force[-1].at if in_force else None
            self._rows.put_confirmed(organization, (record.kind, record.id), at)

    def _in_force(self, organization: str, id: str) -> list[Entry]:
        """Return the entries of the confirmations of a record that were not taken back, the latest last."""
        equal = {"subject": id, "outcome": DONE}
        found: list[Entry] = []
        for entry in self._store.find(
            Entry, Filter(organization=organization, equal=equal), order=("number",)
        ):
            if entry.act == CONFIRM:
                found.append(entry)
            elif entry.act == UNDO and not entry.fingerprints and found:
                found.pop()
        return found


_FIXED: dict[Kind, type[Record]] = {Kind.DECISION: Decision, Kind.SUMMARY: Summary}
