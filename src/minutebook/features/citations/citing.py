"""Records that may cite code, as they are kept in the table."""

import hashlib
from dataclasses import dataclass, replace

from minutebook.domain.records import Decision, Memory, Summary
from minutebook.features.citations.operations import CitingText, citing_text
from minutebook.features.citations.rows import RecordName

LONGEST = 20_000
"""Characters of a text that are read for citations."""


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


def citing_record(record: Memory | Decision | Summary) -> CitingRecord:
    """Return a record with its text as far as it is read, and the digest of that."""
    text = citing_text(record)
    text = replace(text, text=text.text[:LONGEST])
    said = f"{record.repository}\n{text.at.isoformat()}\n{text.text}"
    digest = hashlib.sha1(said.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    return CitingRecord(record.repository, text, digest.hexdigest())
