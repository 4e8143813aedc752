"""Import another program's records: drafts become records, in batches, the same draft once."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

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
"""Drafts that are written in one transaction."""

BATCH_CHARACTERS = 2_000_000
"""Characters of their texts, about: a batch of long ones is shorter."""

RepositoryOf = Callable[[str], str | None]
"""Returns the repository of a folder that a source names; None if it belongs to none, or is gone."""

_CHANGED_HERE = "it was changed here since it was imported; the new text was not taken over"
_SETTLED = "its proposal was accepted or declined here; the new text was not taken over"


def of_no_repository(folder: str) -> str | None:
    """Return None: no folder sets the repository."""
    return None


_Made: TypeAlias = tuple[Record | None, str]
"""The record of a draft as it would be kept, and the reason for which what is here may not follow it."""


class _LeaveOut(Exception):
    """Raised for a draft that does not become a record, with the reason."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The verdict on a draft, the record here, and the one after it; None after where it goes."""

    verdict: Verdict
    here: Record | None
    after: Record | None


@dataclass(slots=True)
class _ImportBatch:
    """The outcomes of a batch, which count only once it is written."""

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
        repository_of: RepositoryOf = of_no_repository,
    ) -> IntakeReport:
        """Write the drafts that are not here yet, a transaction a batch; `dry_run` only counts.

        What was removed here by its name is left out, unless it is to be taken in `again`.

        Turns and memories about a folder belong to its repository, unless the caller is bound to one.

        A run that was cut short is continued by the next. `source` names it on the audit trail, in
        one entry a batch and kind; `part` tells how much of it was read. Raises Refused if the caller
        may not write here.
        """
        with self._infrastructure.trail.audit_refusals(caller, None, "import", Kind.TURN, source):
            policy.check_may_import(caller, self._rules(), whole=False)
            # The folder of each draft counts, not the one that the caller works in.
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
        self._removals = Removals(services._infrastructure, again=again)
        self._repository_of = repository_of
        self._by_session: dict[str, str | None] = {}
        """The repositories to which sessions belong, whose later turns stay with the first."""
        self._of = services
        infrastructure = services._infrastructure
        self._store, self._trail = infrastructure.store, infrastructure.trail
        self._screening = infrastructure.screening
        self._caller = caller
        self._source = source
        self._scope = scope
        self._dry_run = dry_run
        self._counted: set[str] = set()
        """The ids that a dry run would have written."""
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
                    self._planned(draft, batch)
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
        self.report.add(batch.report)

    def _write_kind(self, kind: Kind, drafts: Sequence[Draft], batch: _ImportBatch) -> None:
        if not drafts:
            return
        organization, subject = self._scope.organization, self._source
        batch.refused.clear()
        with self._trail.audited(self._caller, organization, "import", kind, subject) as audit:
            audit.check(self._scope)
            plans = ((draft, self._planned(draft, batch)) for draft in drafts)
            texts = [self._put(audit, draft, plan) for draft, plan in plans if plan is not None]
            if texts:
                audit.changes(None, "\n".join(texts))
            else:
                audit.changes_nothing()
        for outcome_name in sorted(batch.refused):
            self._trail.log(self._caller, organization, "import", kind, [subject], outcome_name)

    def _planned(self, draft: Draft, batch: _ImportBatch) -> _Plan | None:
        """Count the outcome of a draft; return its plan if something is to be written."""
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
                batch.waiting += [draft] if isinstance(draft, RelationDraft) else []
                return None
            verdict = plan.verdict
        batch.report.note(verdict, kind, draft.place)
        is_written = verdict.outcome in WRITTEN
        if self._dry_run and (is_written or verdict.outcome is Outcome.HERE):
            self._counted.add(id)
        return plan if is_written else None

    def _plan(self, draft: Draft, kind: Kind, id: str) -> _Plan | None:
        """Return the plan for a draft; None if it waits, or takes back a turn that is not here.

        Raises _LeaveOut, InvalidInput, Refused.
        """
        home = self._scope.organization
        if isinstance(draft, EntityDraft):
            id = self._entities.id(draft.name, draft.type) or id
        here = self._store.get(CLASSES[kind], home, id)
        is_removed = self._removals.has_removed(kind, home, id, here)
        made: _Made | None = (None, "")
        if isinstance(draft, GoneTurn):
            if not isinstance(here, Turn) or here.session != draft.session:
                return None
            made = (None, self._held(here, "it was taken back since"))
        elif not is_removed:
            made = self._made(self._screening.screened(self._caller, draft), id, here)
        if made is None:
            return None
        after, held = made
        if here is None and isinstance(after, Relation) and self._entities.has_relation(after):
            here = after
        return _Plan(verdict_on(after, here, was_removed=is_removed, obstacle=held), here, after)

    def _made(self, draft: Draft, id: str, here: Record | None) -> _Made | None:
        makers: dict[type, Callable[[Any, str, Any], _Made | None]] = {
            TurnDraft: self._turn,
            MemoryDraft: self._memory,
            EntityDraft: self._entity,
            RelationDraft: self._relation,
            ProposalDraft: self._proposal,
        }
        return makers[type(draft)](draft, id, here)

    def _put(self, audit: AuditDraft, draft: Draft, plan: _Plan) -> str:
        """Carry out a plan; return the record's text for the audit entry."""
        match plan.after or plan.here:
            case Turn() as turn if plan.after is None:
                audit.check(turn)
                self._store.delete(Turn, turn.organization, turn.id)
                return ""
            case Turn() | Proposal() as said:
                audit.check(said)
                self._of._records.put(self._asking(draft), said, None)
                return said.text
            case Memory() as memory:
                audit.check(memory)
                here = plan.here if isinstance(plan.here, Memory) else None
                audit.takes_in(memory.id, None if here is None else here.text, memory.text)
                if here is not None and here.version == memory.version:
                    self._store.put(memory)
                else:
                    self._of._writer.put(self._asking(draft), memory, None)
                return memory.text
            case Entity() as entity:
                audit.check(entity)
                self._store.put(entity)
                self._of._mentions.note(entity)
                return entity.name
            case Relation() as relation:
                audit.check(self._scope)
                self._store.put(relation)
                return relation.type
        raise TypeError(plan)

    def _held(self, here: Turn, since: str) -> str:
        """Return the reason for which a turn may not follow its source; empty if it may."""
        may = policy.may_replace(self._caller, here)
        return "" if may else f"another imported it, and {since}"

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

    def _turn(self, draft: TurnDraft, id: str, here: Turn | None) -> _Made:
        check_session(draft.session)
        said: dict[str, Any] = {
            name: getattr(draft, name) for name in ("prompt", "thought", "response")
        }
        if here is not None:
            return replace(here, **said), self._held(here, "it has grown since")
        turn = Turn(
            organization=self._scope.organization,
            id=id,
            session=draft.session,
            at=capped_at_now(draft.at, self._of._clock()),
            author=self._caller.name,
            repository=self._repository(draft),
            user=self._scope.user,
            origin=_origin(draft),
            **said,
        )
        return turn, ""

    def _memory(self, draft: MemoryDraft, id: str, here: Memory | None) -> _Made:
        if draft.user and self._scope.user not in (None, draft.user):
            raise _LeaveOut("it belongs to another user")
        digest = _digest(draft)
        if here is None:
            return self._new_memory(draft, id, digest), ""
        noted = here.metadata.get("imported")
        known = noted if isinstance(noted, dict) else {}
        if not is_forgotten(here):
            if known.get("digest") == digest:
                return here, ""
            until = here.valid_until and rfc3339(here.valid_until)
            if (known.get("version"), known.get("valid_until")) != (here.version, until):
                return None, _CHANGED_HERE
        policy.check_may_change(self._caller, self._of._rules(), here)
        after = replace(
            here,
            content=draft.content,
            title=draft.title,
            valid_from=_began(draft, here.valid_from),
            valid_until=draft.until,
            updated_at=self._of._clock(),
            deleted_at=None,
        )
        version = here.version + (after.text != here.text)
        after = replace(after, version=version, metadata=_metadata(draft, digest, version))
        check_content(after.content)
        check_metadata(after.metadata)
        return after, ""

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
        return replace(memory, event_time=capped_at_now(draft.at or now, now))

    def _entity(self, draft: EntityDraft, id: str, here: Entity | None) -> _Made:
        self._entities.note(draft.name, draft.type, id)
        if here is not None:
            return replace(here, description=here.description or draft.description), ""
        now = self._of._clock()
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
        return entity, ""

    def _relation(self, draft: RelationDraft, id: str, here: Relation | None) -> _Made | None:
        source, target = self._entities.id(draft.source), self._entities.id(draft.target)
        if here is not None or source is None or target is None:
            return None if here is None else (here, "")
        now = self._of._clock()
        relation = Relation(
            organization=self._scope.organization,
            id=id,
            source=source,
            target=target,
            type=draft.type,
            created_at=capped_at_now(draft.at or now, now),
            origin=_origin(draft),
        )
        return relation, ""

    def _proposal(self, draft: ProposalDraft, id: str, here: Proposal | None) -> _Made:
        policy.check_not_viewer(self._caller, "propose")
        said = DecisionDraft(draft.title, draft.target, draft.rationale, draft.consequences)
        check_draft(said, MIN_RATIONALE)
        if here is None:
            made = build_proposal(self._asking(draft), said, (), id, self._of._clock())
            return replace(made, repository=self._repository(draft)), ""
        fields = ("title", "target", "rationale", "consequences")
        after = replace(here, **{name: getattr(said, name) for name in fields})
        return after, "" if here.status is ProposalStatus.PENDING else _SETTLED

    def _asking(self, draft: Draft) -> Caller:
        """Return the caller with the origin of a draft, for the records that it becomes."""
        return with_call(self._caller, origin=_origin(draft))


def counted_as_new(found: Iterable[Found]) -> IntakeReport:
    """Count drafts for a store that is still to begin."""
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
