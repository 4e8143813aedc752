"""Records that may cite code, as they are kept in the table."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from minutebook.domain.records import Decision, Memory, Record, Summary
from minutebook.features.citations.rows import CitationRows, RecordName
from minutebook.features.citations.texts import CitingText, citing_text

LONGEST = 20_000
"""Characters of a text that are read for citations."""

CITING = (Memory, Decision, Summary)


@dataclass(frozen=True, slots=True)
class CitingRecord:
    """A record that may cite code: its repository, its text, and the digest of both."""

    repository: str | None
    text: CitingText
    said: str

    @property
    def name(self) -> RecordName:
        """Its kind and id."""
        return self.text.kind, self.text.id


class CitingRecords:
    """Returns records as they cite code, as of when a person last confirmed them."""

    def __init__(self, rows: CitationRows) -> None:
        self._rows = rows

    def of(self, organization: str, records: Iterable[Record]) -> list[CitingRecord]:
        """Return those records of an organization that may cite code."""
        citing = [each for each in records if isinstance(each, CITING)]
        names = {(each.kind, each.id) for each in citing if not isinstance(each, Memory)}
        confirmed = self._rows.confirmed(organization, names)
        return [_citing(each, confirmed.get((each.kind, each.id))) for each in citing]


def _citing(record: Memory | Decision | Summary, confirmed: datetime | None) -> CitingRecord:
    text = citing_text(record, confirmed)
    text = replace(text, text=text.text[:LONGEST])
    said = f"{record.repository}\n{text.at.isoformat()}\n{text.text}"
    digest = hashlib.sha1(said.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    return CitingRecord(record.repository, text, digest.hexdigest())
