"""Import another program's records: drafts become records, in batches, the same draft once."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from minutebook.domain import policy
from minutebook.domain.caller import Caller, anywhere, in_call
from minutebook.domain.errors import InvalidInput, Refused
from minutebook.domain.filters import Filter
from minutebook.domain.ids import proposal_id_of
from minutebook.domain.instants import not_ahead, rfc3339
from minutebook.domain.origin import Origin, as_client
from minutebook.domain.records import (
    CLASSES,
    Entity,
    Kind,
    Memory,
    Proposal,
    ProposalStatus,
    Relation,
    Turn,
)
from minutebook.domain.writing import decision_drafts, drafts
from minutebook.domain.writing.decision_drafts import (
    LEAST_RATIONALE,
    DecisionDraft,
    build_proposal,
    check_is_whole,
)
from minutebook.domain.writing.drafts import ScopeKey, resolve_scope
from minutebook.domain.writing.metadata import check_content, check_metadata
from minutebook.domain.writing.source_drafts import (
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
from minutebook.domain.writing.turns import check_session
from minutebook.features.importers.source_names import EntityNames
from minutebook.features.importers.source_report import Outcome, SourceReport
from minutebook.services.access.audit import AuditDraft
from minutebook.services.infrastructure import Infrastructure
from minutebook.services.knowledge.mentions import Mentions
from minutebook.services.knowledge.writing import MemoryWriter
from minutebook.services.record_writer import RecordWriter

BATCH = 500
"""Drafts that are written in one transaction."""

BATCH_CHARACTERS = 2_000_000
"""Characters of their texts, about: a batch of long ones is shorter."""

RepositoryOf = Callable[[str], str | None]
"""Returns the repository of a folder that a source names; None if it belongs to none, or is gone."""

_CHANGED_HERE = "it was changed here since it was imported; the new text was not taken over"
_REMOVED = "it was removed here; --again takes it in"
_SETTLED = "its proposal was accepted or declined here; the new text was not taken over"


def of_no_repository(folder: str) -> str | None:
    """Return None: no folder sets the repository."""
    return None


_Write: TypeAlias = Callable[[AuditDraft], str]
"""Writes the record of a draft, and returns its text for the audit entry."""

_Plan: TypeAlias = tuple[Outcome, _Write]


class _LeaveOut(Exception):
    """Raised for a draft that does not become a record, with the reason."""


@dataclass(slots=True)
class _ImportBatch:
    """The outcomes of a batch, which count only once it is written."""

    counts: Counter[tuple[Outcome, Kind]] = field(default_factory=Counter)
    left_out: list[UnreadPart] = field(default_factory=list)
    waiting: list[RelationDraft] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)


class SourceImports:
    """Imports drafts of records into the caller's own scope."""

    def __init__(
        self, infrastructure: Infrastructure, writer: MemoryWriter, mentions: Mentions
    ) -> None:
        self._store = infrastructure.store
        self._trail = infrastructure.trail
        self._embeddings = infrastructure.embeddings
        self._writer = writer
        self._turns = RecordWriter[Turn](infrastructure)
        self._proposals = RecordWriter[Proposal](infrastructure)
        self._screening = infrastructure.screening
        self._mentions = mentions
        self._clock = infrastructure.clock
        self._rules = infrastructure.rules

    def run(
        self,
        caller: Caller,
        source: str,
        found: Iterable[Found],
        part: Callable[[], float],
        *,
        dry_run: bool,
        again: bool = False,
        repository_of: RepositoryOf = of_no_repository,
    ) -> SourceReport:
        """Write the drafts that are not here yet, a transaction a batch; `dry_run` only counts.

        What was removed here by its name is left out, unless it is to be taken in `again`.

        Turns and memories about a folder belong to its repository, unless the caller is bound to one.

        A run that was cut short is continued by the next. `source` names it on the audit trail, in
        one entry a batch and kind; `part` tells how much of it was read. Raises Refused if the caller
        may not write here.
        """
        with self._trail.audit_refusals(caller, None, "import", Kind.TURN, source):
            policy.check_may_import(caller, self._rules(), whole=False)
            # The folder of each draft counts, not the one that the caller works in.
            caller = anywhere(caller)
            scope = resolve_scope(caller, None, None, None)
            policy.check_may_write_to(caller, "import", scope)
        work = _Import(self, caller, source, scope, repository_of, dry_run=dry_run, again=again)
        for batch in _batches(found):
            caller.call.progress(part(), f"{work.taken:,} read")
            work.take(batch)
        work.take_waiting()
        if not dry_run:
            self._embeddings.notify()
        return work.report


class _Import:
    """One run: its knowledge of the store, and its counts."""

    def __init__(
        self,
        services: SourceImports,
        caller: Caller,
        source: str,
        scope: ScopeKey,
        repository_of: RepositoryOf,
        *,
        dry_run: bool,
        again: bool,
    ) -> None:
        self._again = again
        self._repository_of = repository_of
        self._by_session: dict[str, str | None] = {}
        """The repositories to which sessions belong, whose later turns stay with the first."""
        self._of = services
        self._store, self._trail = services._store, services._trail
        self._caller = caller
        self._source = source
        self._scope = scope
        self._dry_run = dry_run
        self._counted: set[str] = set()
        """The ids that a dry run would have written."""
        self._waiting: list[RelationDraft] = []
        self._entities = EntityNames(self._store, scope)
        self.report = SourceReport()
        self.taken = 0

    def take(self, batch: Sequence[Found]) -> None:
        """Write a batch; drafts that do not fit are left out, the rest is written."""
        self.taken += len(batch)
        for each in batch:
            if isinstance(each, UnreadPart):
                self.report.leave_out(each)
        self._write([each for each in batch if not isinstance(each, UnreadPart)])

    def take_waiting(self) -> None:
        """Write the relations with ends that came later in the source than they; leave out the rest."""
        waiting, self._waiting = self._waiting, []
        for start in range(0, len(waiting), BATCH):
            self._write(waiting[start : start + BATCH])
        for each in self._waiting:
            ends = [end for end in (each.source, each.target) if self._entities.id(end) is None]
            self.report.leave_out(
                UnreadPart(
                    each.place, f"the relation names an entity that is not there: {ends[0]!r}"
                )
            )

    def _write(self, drafts: Sequence[Draft]) -> None:
        if not drafts:
            return
        batch = _ImportBatch()
        try:
            if self._dry_run:
                for draft in sorted(drafts, key=lambda each: list(KIND_OF).index(type(each))):
                    self._count(draft, batch)
            else:
                with self._trail.audited_batch([self._scope.organization]):
                    for of, kind in KIND_OF.items():
                        self._write_kind(kind, [d for d in drafts if isinstance(d, of)], batch)
        except InvalidInput as error:
            # The store cannot keep one of them, and nothing was written; the halves tell which.
            self._entities.forget()
            if len(drafts) == 1:
                self.report.leave_out(UnreadPart(drafts[0].place, str(error)))
                return
            middle = len(drafts) // 2
            self._write(drafts[:middle])
            self._write(drafts[middle:])
            return
        self._waiting += batch.waiting
        for each in batch.left_out:
            self.report.leave_out(each)
        for (outcome, kind), count in batch.counts.items():
            self.report.counts[outcome][kind] += count

    def _count(self, draft: Draft, batch: _ImportBatch) -> None:
        """Count the outcome of a draft."""
        kind, id = KIND_OF[type(draft)], self._id(draft)
        if id in self._counted:
            batch.counts[Outcome.HERE, kind] += 1
        elif (plan := self._planned(draft, batch)) is not None:
            self._counted.add(id)
            batch.counts[plan[0], kind] += 1

    def _write_kind(self, kind: Kind, drafts: Sequence[Draft], batch: _ImportBatch) -> None:
        if not drafts:
            return
        organization, subject = self._scope.organization, self._source
        batch.refused.clear()
        with self._trail.audited(self._caller, organization, "import", kind, subject) as audit:
            audit.check(self._scope)
            texts = []
            for draft in drafts:
                plan = self._planned(draft, batch)
                if plan is None:
                    continue
                outcome, write = plan
                batch.counts[outcome, kind] += 1
                if outcome is not Outcome.HERE:
                    texts.append(write(audit))
            if texts:
                audit.changes(None, "\n".join(texts))
            else:
                audit.changes_nothing()
        for outcome_name in sorted(batch.refused):
            self._trail.log(self._caller, organization, "import", kind, [subject], outcome_name)

    def _planned(self, draft: Draft, batch: _ImportBatch) -> _Plan | None:
        """Return the plan for a draft; None if it is left out, or waits for its ends."""
        try:
            plan = self._plan(draft, self._id(draft))
        except (InvalidInput, _LeaveOut) as error:
            batch.left_out.append(UnreadPart(draft.place, str(error)))
            return None
        except Refused as error:
            batch.left_out.append(UnreadPart(draft.place, f"not allowed: {error.reason}"))
            batch.refused.add(type(error).__name__)
            return None
        if plan is None and isinstance(draft, RelationDraft):
            batch.waiting.append(draft)
        return plan

    def _plan(self, draft: Draft, id: str) -> _Plan | None:
        """Return the plan for a draft; None if it waits. Raises _LeaveOut, InvalidInput, Refused."""
        if isinstance(draft, GoneTurn):
            return self._plan_removal(draft, id)
        self._check_not_removed(KIND_OF[type(draft)], id)
        draft = self._of._screening.screened(self._caller, draft)
        plans: dict[type, Callable[[Any, str], _Plan | None]] = {
            TurnDraft: self._plan_turn,
            MemoryDraft: self._plan_memory,
            EntityDraft: self._plan_entity,
            RelationDraft: self._plan_relation,
            ProposalDraft: self._plan_proposal,
        }
        return plans[type(draft)](draft, id)

    def _check_not_removed(self, kind: Kind, id: str) -> None:
        home = self._scope.organization
        is_here = self._store.get(CLASSES[kind], home, id) is not None
        if not (self._again or is_here) and self._trail.tells_removed(home, kind, id):
            raise _LeaveOut(_REMOVED)

    def _id(self, draft: Draft) -> str:
        """Return the id of a draft's record: the same wherever its folder belongs by now.

        Files of one name in several projects are several, though their keys are the same.
        """
        id = draft.id_in(self._scope.repository, self._scope.user)
        if isinstance(draft, ProposalDraft):
            return proposal_id_of(draft.id_in(self._repository(draft), self._scope.user))
        if not isinstance(draft, MemoryDraft) or (own := self._repository(draft)) is None:
            return id
        here = self._store.get(Memory, self._scope.organization, id)
        noted = None if here is None else here.metadata.get("imported")
        is_same = not isinstance(noted, dict) or noted.get("file") == draft.place.file
        return id if is_same else draft.id_in(own, self._scope.user)

    def _repository(self, draft: TurnDraft | MemoryDraft | ProposalDraft) -> str | None:
        """Return the repository of a draft: the caller's own, that of its session, or of its folder."""
        if self._scope.repository is not None or not draft.folder:
            return self._scope.repository
        if not isinstance(draft, TurnDraft):
            return self._repository_of(draft.folder)
        if draft.session not in self._by_session:
            here = Filter(organization=self._scope.organization, equal={"session": draft.session})
            known = self._store.find(Turn, here, order=["at"], limit=1)
            self._by_session[draft.session] = (
                known[0].repository if known else self._repository_of(draft.folder)
            )
        return self._by_session[draft.session]

    def _plan_turn(self, draft: TurnDraft, id: str) -> _Plan:
        check_session(draft.session)
        texts = ("prompt", "thought", "response")
        said: dict[str, Any] = {name: getattr(draft, name) for name in texts}
        here = self._store.get(Turn, self._scope.organization, id)
        if here is None:
            turn = Turn(
                organization=self._scope.organization,
                id=id,
                session=draft.session,
                at=not_ahead(draft.at, self._of._clock()),
                author=self._caller.name,
                repository=self._repository(draft),
                user=self._scope.user,
                origin=_origin(draft),
                **said,
            )
            return Outcome.NEW, lambda audit: self._put_turn(audit, draft, turn)
        after = replace(here, **said)
        if after == here:
            return Outcome.HERE, _nothing
        if not policy.may_replace(self._caller, here):
            raise _LeaveOut("another imported it, and it has grown since")
        return Outcome.CHANGED, lambda audit: self._put_turn(audit, draft, after)

    def _put_turn(self, audit: AuditDraft, draft: TurnDraft, turn: Turn) -> str:
        audit.check(turn)
        self._of._turns.put(self._asking(draft), turn, None)
        return turn.text

    def _plan_removal(self, draft: GoneTurn, id: str) -> _Plan | None:
        """Return the plan for a turn that was taken back; None if it is not here, or another session's."""
        here = self._store.get(Turn, self._scope.organization, id)
        if here is None or here.session != draft.session:
            return None
        if not policy.may_replace(self._caller, here):
            raise _LeaveOut("another imported it, and it was taken back since")

        def remove(audit: AuditDraft) -> str:
            audit.check(here)
            self._store.delete(Turn, self._scope.organization, id)
            return ""

        return Outcome.CHANGED, remove

    def _plan_memory(self, draft: MemoryDraft, id: str) -> _Plan:
        if draft.user and self._scope.user not in (None, draft.user):
            raise _LeaveOut("it belongs to another user")
        digest = _digest(draft)
        here = self._store.get(Memory, self._scope.organization, id)
        if here is None:
            memory = self._new_memory(draft, id, digest)
            return Outcome.NEW, lambda audit: self._put_memory(audit, draft, memory)
        noted = here.metadata.get("imported")
        known = noted if isinstance(noted, dict) else {}
        if known.get("digest") == digest:
            return Outcome.HERE, _nothing
        is_as_imported = known.get("version") == here.version and here.deleted_at is None
        if not is_as_imported or (here.valid_until and rfc3339(here.valid_until)) != known.get(
            "valid_until"
        ):
            raise _LeaveOut(_CHANGED_HERE)
        policy.check_may_change(self._caller, self._of._rules(), here)
        after = replace(
            here,
            content=draft.content,
            title=draft.title,
            valid_from=_began(draft, here.valid_from),
            valid_until=draft.until,
            updated_at=self._of._clock(),
        )
        version = here.version + (after.text != here.text)
        after = replace(after, version=version, metadata=_metadata(draft, digest, version))
        check_content(after.content)
        check_metadata(after.metadata)
        return Outcome.CHANGED, lambda audit: self._put_memory(audit, draft, after)

    def _new_memory(self, draft: MemoryDraft, id: str, digest: str) -> Memory:
        now = self._of._clock()
        said = drafts.Draft(
            content=draft.content,
            type=draft.type,
            title=draft.title,
            repository=self._repository(draft),
            metadata=_metadata(draft, digest, 1),
            valid_from=_began(draft, draft.at or now),
            valid_until=draft.until,
        )
        memory = drafts.build_memory(self._asking(draft), self._of._rules(), said, id, now)
        return replace(memory, event_time=not_ahead(draft.at or now, now))

    def _put_memory(self, audit: AuditDraft, draft: MemoryDraft, memory: Memory) -> str:
        audit.check(memory)
        earlier = self._store.get(Memory, memory.organization, memory.id)
        audit.takes_in(memory.id, None if earlier is None else earlier.text, memory.text)
        if earlier is not None and earlier.version == memory.version:
            self._store.put(memory)
        else:
            self._of._writer.put(self._asking(draft), memory, None)
        return memory.text

    def _plan_entity(self, draft: EntityDraft, id: str) -> _Plan:
        known = self._entities.id(draft.name, draft.type)
        here = None if known is None else self._store.get(Entity, self._scope.organization, known)
        now = self._of._clock()
        if here is None:
            entity = Entity(
                organization=self._scope.organization,
                id=id,
                name=draft.name,
                type=draft.type,
                author=self._caller.name,
                created_at=not_ahead(draft.at or now, now),
                description=draft.description,
                repository=self._scope.repository,
                user=self._scope.user,
                origin=_origin(draft),
            )
            self._entities.note(draft.name, draft.type, id)
            return Outcome.NEW, lambda audit: self._put_entity(audit, entity)
        self._entities.note(draft.name, draft.type, here.id)
        if draft.description is None or here.description is not None:
            return Outcome.HERE, _nothing
        after = replace(here, description=draft.description)
        return Outcome.CHANGED, lambda audit: self._put_entity(audit, after)

    def _put_entity(self, audit: AuditDraft, entity: Entity) -> str:
        audit.check(entity)
        self._store.put(entity)
        self._of._mentions.note(entity)
        return entity.name

    def _plan_relation(self, draft: RelationDraft, id: str) -> _Plan | None:
        if self._store.get(Relation, self._scope.organization, id) is not None:
            return Outcome.HERE, _nothing
        source, target = self._entities.id(draft.source), self._entities.id(draft.target)
        if source is None or target is None:
            return None
        now = self._of._clock()
        relation = Relation(
            organization=self._scope.organization,
            id=id,
            source=source,
            target=target,
            type=draft.type,
            created_at=not_ahead(draft.at or now, now),
            origin=_origin(draft),
        )
        if self._entities.has_relation(relation):
            return Outcome.HERE, _nothing
        return Outcome.NEW, lambda audit: self._put_relation(audit, relation)

    def _put_relation(self, audit: AuditDraft, relation: Relation) -> str:
        audit.check(self._scope)
        self._store.put(relation)
        return relation.type

    def _plan_proposal(self, draft: ProposalDraft, id: str) -> _Plan:
        decision_drafts.check_may_propose(self._caller)
        said = DecisionDraft(draft.title, draft.target, draft.rationale, draft.consequences)
        check_is_whole(said, LEAST_RATIONALE)
        here = self._store.get(Proposal, self._scope.organization, id)
        if here is None:
            asking = self._asking(draft)
            made = build_proposal(asking, said, (), id, self._of._clock())
            proposal = replace(made, repository=self._repository(draft))
            return Outcome.NEW, lambda audit: self._put_proposal(audit, draft, proposal)
        fields = ("title", "target", "rationale", "consequences")
        after = replace(here, **{name: getattr(said, name) for name in fields})
        if after == here:
            return Outcome.HERE, _nothing
        if here.status is not ProposalStatus.PENDING:
            raise _LeaveOut(_SETTLED)
        return Outcome.CHANGED, lambda audit: self._put_proposal(audit, draft, after)

    def _put_proposal(self, audit: AuditDraft, draft: ProposalDraft, proposal: Proposal) -> str:
        audit.check(proposal)
        self._of._proposals.put(self._asking(draft), proposal, None)
        return proposal.text

    def _asking(self, draft: Draft) -> Caller:
        """Return the caller with the origin of a draft, for the records that it becomes."""
        return in_call(self._caller, origin=_origin(draft))


def counted_as_new(found: Iterable[Found]) -> SourceReport:
    """Count drafts for a store that is still to begin."""
    report, seen = SourceReport(), set()
    for each in found:
        if isinstance(each, UnreadPart):
            report.leave_out(each)
            continue
        if not isinstance(each, GoneTurn):
            id = each.id_in(None, None)
            report.counts[Outcome.HERE if id in seen else Outcome.NEW][KIND_OF[type(each)]] += 1
            seen.add(id)
    return report


def _batches(found: Iterable[Found]) -> Iterator[list[Found]]:
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
    """Return a memory's metadata: the source's own, and from where it came as of which version."""
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
    """Return the digest of a source's draft: it stays while the source says the same.

    Without its instant, which may be that of the file.
    """
    said: list[object] = [draft.content, draft.title, draft.type, draft.metadata]
    if draft.until is not None:
        said.append(draft.until)
    data = json.dumps(said, sort_keys=True, default=str).encode()
    return hashlib.sha256(data).hexdigest()[:32]


def _began(draft: MemoryDraft, said: datetime) -> datetime:
    """Return when a memory began to hold: as it is said, but before its end."""
    return said if draft.until is None else min(said, draft.until - timedelta(seconds=1))


def _nothing(audit: AuditDraft) -> str:
    return ""
