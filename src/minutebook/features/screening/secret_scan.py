"""Find the secrets that are in the store already, and replace them."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from minutebook.app import App
from minutebook.memory.access.audit import AuditDraft
from minutebook.memory.access.visibility import View
from minutebook.memory.record_screening import FieldSecret, masked_fields, masked_value
from minutebook.memory.screening.secrets import masked, shortened
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import MinutebookError, NotFound, Refused
from minutebook.record.reason import Reason
from minutebook.record.records import (
    CodeChunk,
    Decision,
    Entity,
    Kind,
    Link,
    Memory,
    ProjectCommit,
    Proposal,
    Record,
    Relation,
    Summary,
    TextRecord,
    Turn,
)
from minutebook.record.trust.acts import MASK
from minutebook.record.trust.done_acts import DoneAct, Undoing
from minutebook.store.sql.side_words import SideRow, SideWords, document_of


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A stored secret: its record, field and kind, and the part of it that is shown.

    `is_proven` by its check digits. `remedy` says what helps where it cannot be replaced.
    """

    organization: str
    kind: Kind
    id: str
    field: str
    secret: str
    shown: str
    is_proven: bool
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Masked:
    """The masked occurrences, and the remaining ones with the reason as their remedy."""

    masked: list[Occurrence]
    left: list[Occurrence]


SCANNED: tuple[type[Record], ...] = (
    *(Memory, Entity, Relation, Link, Decision, Proposal, Turn, Summary, CodeChunk, ProjectCommit),
)
"""The records that are scanned, besides versions of memories and the trail."""

REMEDIES = {
    Kind.DECISION: "a decision is in Git and stays as it is: revoke the secret and supersede the "
    "decision; its history forgets it only if you rewrite it (git filter-repo) and then run "
    "`minutebook ledger rebuild`",
    Kind.ENTRY: "the audit trail is sealed: revoke the secret",
}
"""The kinds that `mask` cannot change, with the remedy."""


class SecretScan:
    """Finds the secrets in stored records that screening of today would find."""

    def __init__(self, app: App) -> None:
        self._store, self._trail = app.infrastructure.records, app.trail
        self._embeddings, self._mentions = app.embeddings, app.mentions
        self._clock, self._rules = app.clock, app.rules
        self._side_words = SideWords(app.infrastructure.database)

    def scan(self, caller: Caller) -> Iterator[Occurrence]:
        """Yield the secrets in the records that the caller may see, also in soft-deleted memories and in versions."""
        for _, occurrences in self._records(caller):
            yield from occurrences
        for _, _, occurrences in self._copies(caller):
            yield from occurrences

    def counts(self, caller: Caller) -> Counter[Kind]:
        """Count the secrets in the records that the caller may see, by kind of record."""
        return Counter(each.kind for each in self.scan(caller))

    def mask(self, caller: Caller) -> Masked:
        """Mask the secrets in the records that the caller may see and change, also in versions of memories.

        Each record gets an entry on the trail. At the end the store's files are rewritten without the old texts.
        Raises Forbidden for viewers and agents, StoreBusy if a process reads an old state of the store for too long.
        """
        with self._trail.audit_refusals(caller, None, MASK, Kind.MEMORY, "*"):
            policy.check_may_mask(caller)
        done = Masked([], [])
        for record, occurrences in list(self._records(caller)):
            if record.kind in REMEDIES:
                done.left.extend(occurrences)
                continue
            try:
                self._replace(caller, record)
            except (Refused, NotFound) as error:
                done.left.extend(replace(each, remedy=_left_reason(error)) for each in occurrences)
            else:
                done.masked.extend(occurrences)
        for row, hidden, occurrences in list(self._copies(caller)):
            with self._store.transaction(row.organization):
                self._side_words.rewrite(row, hidden)
                self._trail.log(caller, row.organization, MASK, Kind.HEAD, ["copies"])
            done.masked.extend(occurrences)
        if done.masked:
            # Until then free pages of the files have the old texts.
            self._store.scrub()
        self._embeddings.notify()
        return done

    def _records(self, caller: Caller) -> Iterator[tuple[Record, list[Occurrence]]]:
        """Yield each record with secrets, and the secrets, those in versions of a memory included."""
        for view in self._store.seen_by(caller).where(with_deleted=True):
            for record in self._scanned_records(caller, view):
                caller.call.progress(0.0, "records")
                found = _occurrences(record)
                if isinstance(record, Memory):
                    found += self._version_occurrences(record)
                if found:
                    yield record, found

    def _copies(
        self, caller: Caller
    ) -> Iterator[tuple[SideRow, Mapping[str, str], list[Occurrence]]]:
        """Yield each row of features' tables with secrets, its masked words by column, and the secrets.

        Callers that see only a part of an organization get none.
        """
        if not policy.may_audit(caller):
            return
        for organization in self._store.seen_by(caller).organizations:
            for row in self._side_words.rows(organization):
                secrets, hidden = list[FieldSecret](), dict[str, str]()
                for column, text in row.words.items():
                    count, document = len(secrets), document_of(text)
                    shown = masked_value(f"{row.table.name}.{column}", document, secrets)
                    if len(secrets) > count:
                        hidden[column] = shown if isinstance(document, str) else json.dumps(shown)
                if secrets:
                    id = masked(row.names.get("id", ""))
                    yield (
                        row,
                        hidden,
                        [_occurrence(organization, Kind.HEAD, id, s) for s in secrets],
                    )

    def _scanned_records(self, caller: Caller, view: View) -> Iterator[Record]:
        for of in SCANNED:
            yield from view.each(of)
        if policy.may_audit(caller):
            yield from self._trail.each(caller, view.organization)

    def _version_occurrences(self, memory: Memory) -> list[Occurrence]:
        """Return the secrets in earlier versions; the last one equals the memory."""
        return [
            replace(
                each,
                kind=Kind.MEMORY,
                id=memory.id,
                field=f"{each.field} of version {version.number}",
            )
            for version in self._store.versions(memory)
            if version.number != memory.version
            for each in _occurrences(version)
        ]

    def _replace(self, caller: Caller, found: Record) -> None:
        """Mask the secrets of a record and write its entry on the trail, in one transaction."""
        kind, id = found.kind, masked(found.id)
        with self._trail.audited(caller, found.organization, MASK, kind, id) as audit:
            record = self._store.kept(found)
            if record is None:
                raise NotFound(kind, id)
            audit.check(self._store.owned_by(record))
            if isinstance(record, Memory):
                policy.check_may_change(caller, self._rules(), record)
                self._mask_versions(record)
            self._put(record, audit)

    def _mask_versions(self, memory: Memory) -> None:
        for version in self._store.versions(memory):
            hidden, found = masked_fields(version)
            if found:
                self._store.put(replace(version, **hidden))

    def _put(self, record: Record, audit: AuditDraft) -> None:
        hidden, found = masked_fields(record)
        if not found:
            return
        after = replace(record, **hidden)
        if isinstance(after, Link):
            # The type is a part of a link's id.
            self._store.delete(Link, record.organization, record.id)
            after = replace(after, id=f"{after.source}.{after.target}.{after.type}")
        if isinstance(after, Memory):
            # The last version is masked as well: masking makes no new version.
            after = replace(after, updated_at=self._clock())
        self._store.put(after)
        self._mentions.note(after)
        if isinstance(record, TextRecord) and isinstance(after, TextRecord):
            audit.changes(record.text, after.text)


def _occurrences(record: Record) -> list[Occurrence]:
    # The id of a link has its type, which may be a secret.
    id = masked(record.id)
    found = masked_fields(record)[1]
    return [_occurrence(record.organization, record.kind, id, each) for each in found]


def _occurrence(organization: str, kind: Kind, id: str, found: FieldSecret) -> Occurrence:
    return Occurrence(
        organization,
        kind,
        id,
        found.field,
        found.secret.kind,
        shortened(found.text, found.secret),
        found.secret.is_proven,
        REMEDIES.get(kind, ""),
    )


def _left_reason(error: MinutebookError) -> str:
    return f"it was left as it is: {error}"


def secrets(app: App, caller: Caller, about: object) -> Mapping[str, Any] | None:
    """Return the number of stored secrets for a page, None if there are none."""
    count = sum(app.get(SecretScan).counts(caller).values())
    return {"count": count} if count else None


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Return that masking cannot be undone, for an act that masked; None for other acts."""
    return Undoing(Reason("the secret is gone")) if act.naming_entry.act == MASK else None
