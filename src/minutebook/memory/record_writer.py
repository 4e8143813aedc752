"""Writes a record with a text: screens it for secrets and embeds it outside any lock, then puts and audits it in one transaction."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from minutebook.memory.embeddings import TextEmbedding
from minutebook.memory.infrastructure import Infrastructure
from minutebook.memory.record_screening import R
from minutebook.record.caller import Caller
from minutebook.record.records import Decision, Memory, Proposal, Summary, Turn

T = TypeVar("T", Memory, Decision, Proposal, Turn, Summary)

EMBEDDED_AT_ONCE = 4000
"""The most characters of a text that is embedded before the call returns; a longer one is embedded in the background."""


def unchanged(record: T) -> T:
    """Return the record as it is."""
    return record


class RecordWriter(Generic[T]):
    """Writes records of one class: screens and embeds each, then writes record, embedding and audit entry together."""

    def __init__(self, infrastructure: Infrastructure) -> None:
        self._store = infrastructure.records
        self._embeddings = infrastructure.embeddings
        self._trail = infrastructure.trail
        self._screening = infrastructure.screening

    def screened(self, caller: Caller, record: R, before: R | None = None) -> R:
        """Return a record, or a draft, as it may be stored, with its secrets noted or masked."""
        return self._screening.screened(caller, record, before)

    def write(self, caller: Caller, act: str, record: T, finish: Callable[[T], T] = unchanged) -> T:
        """Screen, embed and commit a record; one without vectors is found only by words until `backfill`."""
        record = self.screened(caller, record)
        embedding = self.embed(record.text)
        written = self.commit(caller, act, record, embedding, finish)
        self.announce([embedding])
        return written

    def announce(self, embeddings: Iterable[TextEmbedding | None]) -> None:
        """Wake the background if one of the embeddings of records just committed is None."""
        if self._embeddings.is_expected and any(each is None for each in embeddings):
            self._embeddings.notify()

    def embed(self, text: str) -> TextEmbedding | None:
        """Return the embedding of a short text if the model is ready, else None."""
        return self._embeddings.try_embed_passage(text) if len(text) <= EMBEDDED_AT_ONCE else None

    def commit(
        self,
        caller: Caller,
        act: str,
        record: T,
        embedding: TextEmbedding | None,
        finish: Callable[[T], T] = unchanged,
    ) -> T:
        """Write a record, its embedding and its audit entry in one transaction; return the record as written.

        `finish` is called inside the transaction and returns the final record, or raises. Raises Refused if the caller
        may not write there.
        """
        with self._trail.audited(caller, record.organization, act, record.kind, record.id) as audit:
            audit.check(record)
            record = finish(record)
            earlier = self._store.kept(record)
            self.put(caller, record, embedding)
            audit.subject = record.id
            audit.changes(None if earlier is None else earlier.text, record.text)
        return record

    def put(self, caller: Caller, record: T, embedding: TextEmbedding | None) -> None:
        """Put a record with a new text, its embedding and the records that belong to it; call inside the act's transaction."""
        self._store.put(record)
        self._embeddings.put(record, embedding)
        self._put_further(caller, record)

    def _put_further(self, caller: Caller, record: T) -> None:
        """Put the records that belong to a record; a subclass does so."""
