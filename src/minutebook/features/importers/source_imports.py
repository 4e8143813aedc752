"""Import another program's records: drafts become records, in batches, the same draft once."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from minutebook.app import App
from minutebook.features.importers.source_names import EntityNames
from minutebook.memory.access.audit import AuditDraft
from minutebook.memory.intake import (
    WRITTEN,
    IntakeReport,
    Outcome,
    Removals,
    Verdict,
    is_forgotten,
    verdict_on,
)
from minutebook.memory.record_writer import RecordWriter
from minutebook.record import policy
from minutebook.record.caller import Caller, with_call, without_folder_scope
from minutebook.record.errors import InvalidInput, Refused
from minutebook.record.filters import Filter
from minutebook.record.ids import proposal_id_of
from minutebook.record.instants import capped_at_now, rfc3339
from minutebook.record.origin import Origin, as_client
from minutebook.record.records import (
    CLASSES,
    Entity,
    Kind,
    Memory,
    Proposal,
    ProposalStatus,
    Record,
    Relation,
    Turn,
)
from minutebook.record.writing import drafts
from minutebook.record.writing.decision_drafts import (
    MIN_RATIONALE,
    DecisionDraft,
    build_proposal,
    check_draft,
)
from minutebook.record.writing.drafts import ScopeKey, resolve_scope
from minutebook.record.writing.metadata import check_content, check_metadata
from minutebook.record.writing.source_drafts import (
    IMPORTED,
    KIND_OF,
    Draft,
    EntityDraft,
    Found,
    GoneTurn,
    MemoryDraft,
    ProposalDraft,
    RelationDraft,
    TurnDraft,
    UnreadPart,
)
from minutebook.record.writing.turns import check_session

BATCH = 500
"""Drafts that are written in one transaction, at most."""

BATCH_CHARACTERS = 2_000_000
"""Characters of the texts of a batch, about."""

RepositoryOf = Callable[[str], str | None]
"""Returns the repository of a folder that a source names; None if it belongs to none, or is gone."""

_CHANGED_HERE = "it was changed here since it was imported; the new text was not taken over"
_SETTLED = "its proposal was accepted or declined here; the new text was not taken over"


class _Made(NamedTuple):
    """The record that a draft becomes, None if it goes, and why the record here may not be changed to it, if so."""

    record: Record | None
    held_back: str = ""


class _LeaveOut(Exception):
    """Raised with the reason for a draft that does not become a record."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The verdict on a draft, the record `stored` now, and the one `after` the import, None if it is removed."""

    verdict: Verdict
    stored: Record | None
    after: Record | None


@dataclass(slots=True)
class _ImportBatch:
    """The outcomes of a batch, which are added to those of the run once it is written.

    `waiting` are relations whose entities may come later, `refused` the names of refusals for the trail.
    """

    report: IntakeReport = field(default_factory=IntakeReport)
    waiting: list[RelationDraft] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)


class SourceImports:
    """Imports drafts of records into the caller's own scope."""

    def __init__(self, app: App) -> None:
        self._infrastructure = app.infrastructure
        self._writer, self._mentions = app.writer, app.mentions
        self._records = RecordWriter[Any](app.infrastructure)
        self._clock, self._rules = app.clock, app.rules

    def run(
        self,
        caller: Caller,
        source: str,
        found: Iterable[Found],
        part: Callable[[], float],
        *,
        dry_run: bool,
        again: bool = False,
        repository_of: RepositoryOf = lambda _: None,
    ) -> IntakeReport:
        """Write the drafts that are not here yet, with a transaction for each batch; `dry_run` only counts.

        Records that were removed here are left out, unless `again`. Turns and memories about a folder belong
        to its repository, unless the caller is bound to one. The next run continues one that was cut short.

        `source` names the source on the audit trail, which gets an entry for each batch and kind; `part` returns
        the share of the source that was read, in [0, 1]. Raises Refused if the caller may not write here.
        """
        with self._infrastructure.trail.audit_refusals(caller, None, "import", Kind.TURN, source):
            policy.check_may_import(caller, self._rules(), whole=False)
            # The repository is that of each draft's folder, not of the one that the caller works in.
            caller = without_folder_scope(caller)
            scope = resolve_scope(caller, None, None, None)
            policy.check_may_write_to(caller, "import", scope)
        work = _Import(self, caller, source, scope, repository_of, dry_run=dry_run, again=again)
        for batch in _batches(found):
            caller.call.progress(part(), f"{work.taken:,} read")
            work.take(batch)
        work.take_waiting()
        if not dry_run:
            self._infrastructure.embeddings.notify()
        return work.report


class _Import:
    """One run of an import, with its counts."""

    def __init__(
        self,
        imports: SourceImports,
        caller: Caller,
        source: str,
        scope: ScopeKey,
        repository_of: RepositoryOf,
        *,
        dry_run: bool,
        again: bool,
    ) -> None:
        self._imports, infrastructure = imports, imports._infrastructure
        self._removals = Removals(infrastructure, again=again)
        self._repository_of = repository_of
        self._by_session: dict[str, str | None] = {}
        """The repository of each session: that of its first turn."""
        self._store, self._trail = infrastructure.store, infrastructure.trail
        self._screening = infrastructure.screening
        self._caller = caller
        self._source = source
        self._scope = scope
        self._dry_run = dry_run
        self._counted: set[str] = set()
        """The ids of the records that a dry run would have written."""
        self._waiting: list[RelationDraft] = []
        self._entities = EntityNames(self._store, scope)
        self.report = IntakeReport()
        self.taken = 0

    def take(self, batch: Sequence[Found]) -> None:
        """Write a batch; drafts that do not fit are left out, the rest is written."""
        self.taken += len(batch)
        for each in batch:
            if isinstance(each, UnreadPart):
                self.report.leave_out(each)
        self._write([each for each in batch if not isinstance(each, UnreadPart)])

    def take_waiting(self) -> None:
        """Write the relations that stand in the source before their entities; leave out those without entities."""
        waiting, self._waiting = self._waiting, []
        for start in range(0, len(waiting), BATCH):
            self._write(waiting[start : start + BATCH])
        for each in self._waiting:
            missing = [end for end in (each.source, each.target) if self._entities.id(end) is None]
            reason = f"the relation names an entity that is not there: {missing[0]!r}"
            self.report.leave_out(UnreadPart(each.place, reason))

    def _write(self, drafts: Sequence[Draft]) -> None:
        """Write drafts in one transaction; if the store cannot keep one of them, write each half by itself."""
        if not drafts:
            return
        batch = _ImportBatch()
        write = self._count_kind if self._dry_run else self._write_kind
        audited = self._trail.audited_batch([self._scope.organization])
        try:
            with nullcontext() if self._dry_run else audited:
                for cls, kind in KIND_OF.items():
                    of_kind = [each for each in drafts if isinstance(each, cls)]
                    if of_kind:
                        write(kind, of_kind, batch)
        except InvalidInput as error:
            # Nothing was written; the halves show which draft it is.
            self._entities.forget()
            if len(drafts) == 1:
                self.report.leave_out(UnreadPart(drafts[0].place, str(error)))
                return
            middle = len(drafts) // 2
            self._write(drafts[:middle])
            self._write(drafts[middle:])
            return
        self._waiting += batch.waiting
        self.report.add(batch.report)

    def _count_kind(self, kind: Kind, drafts: Sequence[Draft], batch: _ImportBatch) -> None:
        for draft in drafts:
            self._counted_plan(draft, batch)

    def _write_kind(self, kind: Kind, drafts: Sequence[Draft], batch: _ImportBatch) -> None:
        """Write the drafts of one kind, with an entry in the trail for all, and one for each reason of refusals."""
        organization, subject = self._scope.organization, self._source
        batch.refused.clear()
        with self._trail.audited(self._caller, organization, "import", kind, subject) as audit:
            audit.check(self._scope)
            # Each plan is made once the draft before it was put.
            plans = ((draft, self._counted_plan(draft, batch)) for draft in drafts)
            texts = [self._put(audit, draft, plan) for draft, plan in plans if plan is not None]
            if texts:
                audit.changes(None, "\n".join(texts))
            else:
                audit.changes_nothing()
        for outcome_name in sorted(batch.refused):
            self._trail.log(self._caller, organization, "import", kind, [subject], outcome_name)

    def _counted_plan(self, draft: Draft, batch: _ImportBatch) -> _Plan | None:
        """Count the outcome of a draft in the batch; return its plan, None if nothing is to be written."""
        kind, id = KIND_OF[type(draft)], self._id(draft)
        if id in self._counted:
            batch.report.note(Verdict(Outcome.HERE), kind)
            return None
        plan = None
        try:
            plan = self._plan(draft, kind, id)
        except Refused as error:
            batch.refused.add(type(error).__name__)
            verdict = Verdict(Outcome.LEFT_OUT, f"not allowed: {error.reason}")
        except (InvalidInput, _LeaveOut) as error:
            verdict = Verdict(Outcome.LEFT_OUT, str(error))
        else:
            if plan is None:
                if isinstance(draft, RelationDraft):
                    batch.waiting.append(draft)
                return None
            verdict = plan.verdict
        batch.report.note(verdict, kind, draft.place)
        is_written = verdict.outcome in WRITTEN
        if self._dry_run and (is_written or verdict.outcome is Outcome.HERE):
            self._counted.add(id)
        return plan if is_written else None

    def _plan(self, draft: Draft, kind: Kind, id: str) -> _Plan | None:
        """Return the plan for a draft; None for a relation whose entities are missing, or to remove a turn that is not here.

        Raises _LeaveOut, InvalidInput, Refused.
        """
        home = self._scope.organization
        if isinstance(draft, EntityDraft):
            id = self._entities.id(draft.name, draft.type) or id
        stored = self._store.get(CLASSES[kind], home, id)
        is_removed = self._removals.has_removed(kind, home, id, stored)
        made: _Made | None = _Made(None)
        if isinstance(draft, GoneTurn):
            if not isinstance(stored, Turn) or stored.session != draft.session:
                return None
            made = _Made(None, self._why_held_back(stored, "it was taken back since"))
        elif not is_removed:
            made = self._make(self._screening.screened(self._caller, draft), id, stored)
        if made is None:
            return None
        after, held = made
        if stored is None and isinstance(after, Relation) and self._entities.has_relation(after):
            stored = after
        verdict = verdict_on(after, stored, was_removed=is_removed, obstacle=held)
        return _Plan(verdict, stored, after)

    def _make(self, draft: Draft, id: str, stored: Record | None) -> _Made | None:
        """Return the record that a draft becomes; None for a relation whose entities are missing."""
        makers: dict[type, Callable[[Any, str, Any], _Made | None]] = {
            TurnDraft: self._turn,
            MemoryDraft: self._memory,
            EntityDraft: self._entity,
            RelationDraft: self._relation,
            ProposalDraft: self._proposal,
        }
        return makers[type(draft)](draft, id, stored)

    def _put(self, audit: AuditDraft, draft: Draft, plan: _Plan) -> str:
        """Carry out a plan; return the record's text for the audit entry."""
        match plan.after or plan.stored:
            case Turn() as turn if plan.after is None:
                audit.check(turn)
                self._store.delete(Turn, turn.organization, turn.id)
                return ""
            case Turn() | Proposal() as record:
                audit.check(record)
                self._imports._records.put(self._asking(draft), record, None)
                return record.text
            case Memory() as memory:
                audit.check(memory)
                stored = plan.stored if isinstance(plan.stored, Memory) else None
                audit.takes_in(memory.id, None if stored is None else stored.text, memory.text)
                if stored is not None and stored.version == memory.version:
                    self._store.put(memory)
                else:
                    self._imports._writer.put(self._asking(draft), memory, None)
                return memory.text
            case Entity() as entity:
                audit.check(entity)
                self._store.put(entity)
                self._imports._mentions.note(entity)
                return entity.name
            case Relation() as relation:
                audit.check(self._scope)
                self._store.put(relation)
                return relation.type
        raise TypeError(plan)

    def _why_held_back(self, stored: Turn, change: str) -> str:
        """Return why a turn may not be changed as its source was; empty if it may. `change` says how that was."""
        may = policy.may_replace(self._caller, stored)
        return "" if may else f"another imported it, and {change}"

    def _id(self, draft: Draft) -> str:
        """Return the id of a draft's record, which stays the same if its folder moves to another repository.

        Files with the same name, and so the same key, in several projects get different ids.
        """
        id = draft.id_in(self._scope.repository, self._scope.user)
        if isinstance(draft, ProposalDraft):
            return proposal_id_of(draft.id_in(self._repository(draft), self._scope.user))
        if not isinstance(draft, MemoryDraft):
            return id
        own = self._repository(draft)
        if own is None:
            return id
        stored = self._store.get(Memory, self._scope.organization, id)
        noted = None if stored is None else stored.metadata.get("imported")
        is_same = not isinstance(noted, dict) or noted.get("file") == draft.place.file
        return id if is_same else draft.id_in(own, self._scope.user)

    def _repository(self, draft: TurnDraft | MemoryDraft | ProposalDraft) -> str | None:
        """Return the repository of a draft: the caller's own, that of its session, or of its folder."""
        if self._scope.repository is not None or not draft.folder:
            return self._scope.repository
        if not isinstance(draft, TurnDraft):
            return self._repository_of(draft.folder)
        if draft.session not in self._by_session:
            where = Filter(organization=self._scope.organization, equal={"session": draft.session})
            known = self._store.find(Turn, where, order=["at"], limit=1)
            self._by_session[draft.session] = (
                known[0].repository if known else self._repository_of(draft.folder)
            )
        return self._by_session[draft.session]

    def _turn(self, draft: TurnDraft, id: str, stored: Turn | None) -> _Made:
        """Return the turn of a draft, or the stored one with its new texts."""
        check_session(draft.session)
        texts: dict[str, Any] = {
            name: getattr(draft, name) for name in ("prompt", "thought", "response")
        }
        if stored is not None:
            held = self._why_held_back(stored, "it has grown since")
            return _Made(replace(stored, **texts), held)
        turn = Turn(
            organization=self._scope.organization,
            id=id,
            session=draft.session,
            at=capped_at_now(draft.at, self._imports._clock()),
            author=self._caller.name,
            repository=self._repository(draft),
            user=self._scope.user,
            origin=_origin(draft),
            **texts,
        )
        return _Made(turn)

    def _memory(self, draft: MemoryDraft, id: str, stored: Memory | None) -> _Made:
        """Return the memory of a draft, or the stored one with the draft's content, if it was not changed since."""
        if draft.user and self._scope.user not in (None, draft.user):
            raise _LeaveOut("it belongs to another user")
        digest = _digest(draft)
        if stored is None:
            return _Made(self._new_memory(draft, id, digest))
        noted = stored.metadata.get("imported")
        known = noted if isinstance(noted, dict) else {}
        if not is_forgotten(stored):
            if known.get("digest") == digest:
                return _Made(stored)
            until = stored.valid_until and rfc3339(stored.valid_until)
            if (known.get("version"), known.get("valid_until")) != (stored.version, until):
                return _Made(None, _CHANGED_HERE)
        policy.check_may_change(self._caller, self._imports._rules(), stored)
        after = replace(
            stored,
            content=draft.content,
            title=draft.title,
            valid_from=_valid_from(draft, stored.valid_from),
            valid_until=draft.until,
            updated_at=self._imports._clock(),
            deleted_at=None,
        )
        version = stored.version + (after.text != stored.text)
        after = replace(after, version=version, metadata=_metadata(draft, digest, version))
        check_content(after.content)
        check_metadata(after.metadata)
        return _Made(after)

    def _new_memory(self, draft: MemoryDraft, id: str, digest: str) -> Memory:
        now = self._imports._clock()
        memory_draft = drafts.Draft(
            content=draft.content,
            type=draft.type,
            title=draft.title,
            repository=self._repository(draft),
            metadata=_metadata(draft, digest, 1),
            valid_from=_valid_from(draft, draft.at or now),
            valid_until=draft.until,
        )
        rules = self._imports._rules()
        memory = drafts.build_memory(self._asking(draft), rules, memory_draft, id, now)
        return replace(memory, event_time=capped_at_now(draft.at or now, now))

    def _entity(self, draft: EntityDraft, id: str, stored: Entity | None) -> _Made:
        """Return the entity of a draft, or the stored one, with the draft's description if it has none."""
        self._entities.note(draft.name, draft.type, id)
        if stored is not None:
            return _Made(replace(stored, description=stored.description or draft.description))
        now = self._imports._clock()
        entity = Entity(
            organization=self._scope.organization,
            id=id,
            name=draft.name,
            type=draft.type,
            author=self._caller.name,
            created_at=capped_at_now(draft.at or now, now),
            description=draft.description,
            repository=self._scope.repository,
            user=self._scope.user,
            origin=_origin(draft),
        )
        return _Made(entity)

    def _relation(self, draft: RelationDraft, id: str, stored: Relation | None) -> _Made | None:
        source, target = self._entities.id(draft.source), self._entities.id(draft.target)
        if stored is not None:
            return _Made(stored)
        if source is None or target is None:
            return None
        now = self._imports._clock()
        relation = Relation(
            organization=self._scope.organization,
            id=id,
            source=source,
            target=target,
            type=draft.type,
            created_at=capped_at_now(draft.at or now, now),
            origin=_origin(draft),
        )
        return _Made(relation)

    def _proposal(self, draft: ProposalDraft, id: str, stored: Proposal | None) -> _Made:
        policy.check_not_viewer(self._caller, "propose")
        decision = DecisionDraft(draft.title, draft.target, draft.rationale, draft.consequences)
        check_draft(decision, MIN_RATIONALE)
        if stored is None:
            caller, now = self._asking(draft), self._imports._clock()
            proposal = build_proposal(caller, decision, (), id, now)
            return _Made(replace(proposal, repository=self._repository(draft)))
        fields = ("title", "target", "rationale", "consequences")
        after = replace(stored, **{name: getattr(decision, name) for name in fields})
        return _Made(after, "" if stored.status is ProposalStatus.PENDING else _SETTLED)

    def _asking(self, draft: Draft) -> Caller:
        """Return the caller with the origin of a draft, for the records that it becomes."""
        return with_call(self._caller, origin=_origin(draft))


def count_as_new(found: Iterable[Found]) -> IntakeReport:
    """Count drafts for a store that has not begun: each is new, once."""
    report, seen = IntakeReport(), set()
    for each in found:
        if isinstance(each, UnreadPart):
            report.leave_out(each)
            continue
        if not isinstance(each, GoneTurn):
            id = each.id_in(None, None)
            verdict = Verdict(Outcome.HERE if id in seen else Outcome.NEW)
            report.note(verdict, KIND_OF[type(each)])
            seen.add(id)
    return report


def _batches(found: Iterable[Found]) -> Iterator[list[Found]]:
    """Yield the found parts in batches of at most BATCH, each ended as soon as its texts exceed BATCH_CHARACTERS."""
    batch: list[Found] = []
    size = 0
    for each in found:
        batch.append(each)
        match each:
            case TurnDraft():
                size += len(each.prompt) + len(each.thought) + len(each.response)
            case MemoryDraft():
                size += len(each.content)
            case ProposalDraft():
                size += len(each.rationale)
        if len(batch) == BATCH or size > BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _origin(draft: Draft) -> Origin:
    """Return the origin of a record: the program that wrote it, and the file that was read."""
    return Origin(
        client=as_client(draft.program),
        version=as_client(draft.version),
        contract=IMPORTED,
        session=draft.place.file,
    )


def _metadata(draft: MemoryDraft, digest: str, version: int) -> dict[str, object]:
    """Return a memory's metadata: the source's, and `imported` with its place there and the version here that is as imported."""
    imported = {
        "from": draft.program,
        "file": draft.place.file,
        "line": draft.place.line,
        "digest": digest,
        "version": version,
    }
    ended = {} if draft.until is None else {"valid_until": rfc3339(draft.until)}
    return {**draft.metadata, "imported": imported | ended}


def _digest(draft: MemoryDraft) -> str:
    """Return a digest of a draft by which a later import sees whether the source has changed.

    It leaves out the draft's instant, which may be that of the file.
    """
    fields: list[object] = [draft.content, draft.title, draft.type, draft.metadata]
    if draft.until is not None:
        fields.append(draft.until)
    data = json.dumps(fields, sort_keys=True, default=str).encode()
    return hashlib.sha256(data).hexdigest()[:32]


def _valid_from(draft: MemoryDraft, stated: datetime) -> datetime:
    """Return the instant from which a memory holds: the stated one, but at least a second before its end."""
    return stated if draft.until is None else min(stated, draft.until - timedelta(seconds=1))
