"""Records as they cite code, and their confirmations."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from minutebook.app import App
from minutebook.features.citations.rows import CitationRows, RecordName
from minutebook.features.citations.texts import CitingText, citing_text
from minutebook.record.caller import Caller
from minutebook.record.errors import NotFound
from minutebook.record.filters import Filter
from minutebook.record.records import CLASSES, Decision, Entry, Kind, Memory, Record, Summary, Turn
from minutebook.record.trust.acts import CONFIRM
from minutebook.record.trust.trail import DONE, UNDO
from minutebook.record.writing.turns import EditedFiles, turns_of

LONGEST = 20_000
"""Characters of a text that are searched for citations, at most."""

MOST_TURNS, MOST_FILES = 2_000, 50
"""The most turns of a session that are searched for changed files, and the most of these, the last first, that it cites."""

CITING = (Memory, Decision, Summary)


@dataclass(frozen=True, slots=True)
class CitingRecord:
    """A record that may cite code: its repository, its text, and the digest of both."""

    repository: str | None
    text: CitingText
    digest: str

    @property
    def name(self) -> RecordName:
        """Its kind and id."""
        return self.text.kind, self.text.id

    @property
    def may_cite(self) -> bool:
        """Whether it may cite something; the files of a session are known only from its turns."""
        return self.text.kind is Kind.SUMMARY or bool(self.text.references())


class CitingRecords:
    """Returns the texts of records that may cite code, as of the last time that a person confirmed them."""

    def __init__(self, app: App) -> None:
        self._store = app.infrastructure.store
        self._rows = CitationRows(app.infrastructure.database)

    def citing_records(self, organization: str, records: Iterable[Record]) -> list[CitingRecord]:
        """Return those records of an organization that may cite code."""
        citing = [each for each in records if isinstance(each, CITING)]
        names = {(each.kind, each.id) for each in citing if not isinstance(each, Memory)}
        confirmed = self._rows.confirmed(organization, names)
        return [_citing(each, confirmed.get((each.kind, each.id))) for each in citing]

    def with_files(self, organization: str, citing: CitingRecord) -> CitingRecord:
        """Return a record, of a session with the files that its turns changed, which it cites, too."""
        if citing.text.kind is not Kind.SUMMARY:
            return citing
        summary = self._store.get(Summary, organization, citing.text.id)
        if summary is None:
            return citing
        where = turns_of(organization, summary.session, summary.repository, summary.user)
        edited = EditedFiles()
        for turn in self._store.find(Turn, where, order=["at"], limit=MOST_TURNS):
            edited.read(turn.thought)
        return replace(citing, text=replace(citing.text, files=edited.paths[:MOST_FILES]))


def _citing(record: Memory | Decision | Summary, confirmed: datetime | None) -> CitingRecord:
    """Return a record with the text that may cite code, and the digest by which a change of it is seen."""
    text = citing_text(record, confirmed)
    text = replace(text, text=text.text[:LONGEST])
    fields = f"{record.repository}\n{text.at.isoformat()}\n{text.text}"
    digest = hashlib.sha1(fields.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    return CitingRecord(record.repository, text, digest.hexdigest())


class Confirmations:
    """Keeps the last confirmation of each decision and summary; earlier ones are read from the trail."""

    def __init__(self, app: App) -> None:
        self._store, self._trail = app.infrastructure.store, app.trail
        self._rows = CitationRows(app.infrastructure.database)

    def confirm(self, caller: Caller, record: Decision | Summary) -> None:
        """Confirm that a record holds. Raises Refused if the caller may not write to it."""
        self._note(caller, CONFIRM, record)

    def take_back(self, caller: Caller, organization: str, kind: Kind, id: str) -> None:
        """Undo the last confirmation of a record. Raises Refused, NotFound."""
        record = self._store.get(CLASSES[kind], organization, id)
        if not isinstance(record, (Decision, Summary)):
            raise NotFound(kind, id)
        self._note(caller, UNDO, record)

    def is_last(self, confirmed: Entry) -> bool:
        """Tell whether an entry is the last confirmation of its record that was not taken back."""
        in_force = self._in_force(confirmed.organization, confirmed.subject)
        return bool(in_force) and in_force[-1].number == confirmed.number

    def _note(self, caller: Caller, act: str, record: Decision | Summary) -> None:
        """Enter an act on the trail, and keep when the record was last confirmed after it."""
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
