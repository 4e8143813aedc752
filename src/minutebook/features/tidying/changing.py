"""Make a suggested change through the service of its subject, and take it back exactly."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from minutebook.domain import policy
from minutebook.domain.caller import Caller, anywhere
from minutebook.domain.errors import Conflict
from minutebook.domain.origin import answers_for
from minutebook.domain.records import Decision, Kind, Memory, Status, Summary, Turn
from minutebook.domain.writing.turns import summary_id
from minutebook.features.citations.confirming import Confirmations
from minutebook.features.tidying.findings import Suggestion, Topic
from minutebook.features.tidying.looking.examining import Examined
from minutebook.features.tidying.merging import EntityMerging
from minutebook.services.infrastructure import Infrastructure
from minutebook.services.journal.summaries import Summaries
from minutebook.services.knowledge.memories import Memories
from minutebook.services.knowledge.status import StatusChanges
from minutebook.services.knowledge.supersession import Supersession
from minutebook.services.knowledge.writing import MemoryWriter

UNDO = "undo"
"""The act that takes a change of a memory back."""


class Changing:
    """Applies suggestions; every rule of the services that it asks holds."""

    def __init__(
        self,
        infrastructure: Infrastructure,
        writer: MemoryWriter,
        supersession: Supersession,
        memories: Memories,
        status: StatusChanges,
        merging: EntityMerging,
        summaries: Summaries,
        confirmations: Confirmations,
    ) -> None:
        self._store = infrastructure.records
        self._trail = infrastructure.trail
        self._rules = infrastructure.rules
        self._clock = infrastructure.clock
        self._writer = writer
        self._supersession = supersession
        self._memories = memories
        self._status = status
        self._merging = merging
        self._summaries = summaries
        self._confirmations = confirmations

    def make(self, caller: Caller, examined: Examined) -> str:
        """Make the change that was found to be due; return the data that `take_back` needs.

        Raises whatever the service of its subject does.
        """
        if examined.finding is Topic.SAME_ENTITY:
            kept, gone = (id for _, id in examined.subjects)
            return self._merging.merge(caller, kept, gone)
        if examined.finding is Topic.NO_SUMMARY:
            (turn,) = examined.records
            assert isinstance(turn, Turn)
            self._summaries.summarize_session_of(caller, turn)
            return json.dumps({"summary": summary_id(turn.session, turn.repository, turn.user)})
        (kind, _), *_ = goes = examined.subjects[1 if examined.finding is Topic.MERGE else -1 :]
        if kind in _FIXED:
            return json.dumps([self._confirm(caller, kind, id) for kind, id in goes])
        return json.dumps([self._change(caller, examined, id) for _, id in goes])

    def refuse(self, caller: Caller, examined: Examined) -> str:
        """Make the change of refusing a suggestion, if any; return the data that `take_back` needs.

        A wording that is refused is deprecated: it would say a third time what two memories say; so is what cites code that is
        no more and is not confirmed, unless nobody may change it. Raises whatever the service of its subject does.
        """
        kind, id = examined.subjects[0]
        if examined.finding not in _REFUSED or kind in _FIXED:
            return ""
        before = self._memories.read(caller, id)
        reason = caller.call.reason or _REFUSED[examined.finding]
        after = self._status.deprecate(caller, id, reason)
        return json.dumps([_noted(before, after)])

    def _confirm(self, caller: Caller, kind: Kind, id: str) -> dict[str, object]:
        before, at = self._confirmations.confirm(caller, self._store.read(caller, _FIXED[kind], id))
        was = None if before is None else before.isoformat()
        return {"kind": kind, "id": id, "before": was, "at": at.isoformat()}

    def _change(self, caller: Caller, examined: Examined, id: str) -> dict[str, object]:
        before = self._memories.read(caller, id)
        return _noted(before, self._changed(caller, examined, before)())

    def _changed(self, caller: Caller, examined: Examined, memory: Memory) -> Callable[[], Memory]:
        """Return the act that changes a memory as was suggested."""
        reason = caller.call.reason or None
        match examined.finding:
            case Topic.DUPLICATE | Topic.CONTRADICTION | Topic.MERGE:
                stays = examined.subjects[0][1]
                said = reason or _REASONS[examined.finding]
                return partial(self._memories.invalidate, caller, memory.id, said, stays)
            case Topic.EXPIRED:
                said = reason or f"{_REASONS[Topic.EXPIRED]}: {examined.facts['words']}"
                changes = {"valid_until": examined.due, "reason": said}
                return partial(self._memories.update, caller, memory.id, changes)
            case Topic.UNVERIFIED | Topic.CITED:
                return partial(self._status.verify, caller, memory.id)
            case _:
                said = reason or _REASONS[examined.finding]
                return partial(self._status.deprecate, caller, memory.id, said)

    def take_back(self, caller: Caller, suggestion: Suggestion) -> None:
        """Undo a change that was made; the changed records are as they were before.

        Raises Conflict if something else was done to the record since, or nothing is known of how it was.
        """
        if not suggestion.undo:
            raise Conflict(suggestion.id, "how it was before is not known any more")
        if suggestion.finding is Topic.SAME_ENTITY:
            self._merging.split(caller, suggestion.undo)
            return
        noted = json.loads(suggestion.undo)
        if suggestion.finding is Topic.NO_SUMMARY:
            self._without_summary(caller, suggestion.organization, noted["summary"])
            return
        with self._trail.audited_batch([suggestion.organization]):
            # Before one undo could take back several changes, it noted the only one by itself.
            for each in noted if isinstance(noted, list) else [noted]:
                if "kind" in each:
                    self._unconfirm(caller, **each)
                else:
                    self._restore(caller, each["id"], each["before"], each["after"], each.get("at"))

    def _unconfirm(self, caller: Caller, kind: Kind, id: str, before: str | None, at: str) -> None:
        record = self._store.read(caller, _FIXED[Kind(kind)], id)
        was = None if before is None else datetime.fromisoformat(before)
        self._confirmations.take_back(caller, record, datetime.fromisoformat(at), was)

    def _restore(
        self,
        caller: Caller,
        id: str,
        before: dict[str, str | None],
        after: dict[str, str | None],
        at: str | None,
    ) -> None:
        def rule(memory: Memory) -> Memory:
            policy.check_may_change(caller, self._rules(), memory)
            if _fields(memory) != after:
                raise Conflict(memory.id, "something else was done to it since; open it to see")
            # When it was last said to hold is as before, too.
            was_at = self._clock() if at is None else datetime.fromisoformat(at)
            return replace(memory, **_values(before), updated_at=was_at)  # type: ignore[arg-type]

        find = partial(self._memories.read, caller, id)
        ended = find()
        self._writer.change(caller, UNDO, find, rule)
        if ended.superseded_by is not None and before["superseded_by"] is None:
            with self._trail.audited(
                caller, ended.organization, "unlink", Kind.MEMORY, id
            ) as audit:
                audit.check(ended)
                self._supersession.unlink(ended)

    def _without_summary(self, caller: Caller, organization: str, id: str) -> None:
        """Remove the summary that was made. Raises Conflict if it was made anew since."""
        with self._trail.audited(caller, organization, UNDO, Kind.SUMMARY, id) as audit:
            summary = self._store.seen_in(organization, anywhere(caller)).get(Summary, id)
            if summary is None:
                raise Conflict(id, "the summary is gone already")
            audit.check(summary)
            policy.check_may_remove_work_of(caller, answers_for(summary.author, summary.origin))
            audit.changes(summary.text, None)
            self._store.delete(Summary, organization, id)


_FIXED: Mapping[Kind, type[Decision | Summary]] = {
    Kind.DECISION: Decision,
    Kind.SUMMARY: Summary,
}
"""Records that nobody changes: they are confirmed."""

_REASONS = {
    Topic.DUPLICATE: "says the same as the one that takes its place",
    Topic.CONTRADICTION: "the one that takes its place says otherwise",
    Topic.MERGE: "the one that takes its place says this and more",
    Topic.EXPIRED: "past by its own words",
    Topic.ENDED: "its validity has ended",
    Topic.UNUSED_RULE: "nobody recalled it",
}
"""What a changed record says of why, where a person gave no reason."""


_REFUSED = {
    Topic.MERGE: "as a wording of others it was refused",
    Topic.CITED: "the code that it cites has changed or is gone",
}
"""Reasons of a memory that is deprecated because a suggestion about it was refused."""


def _noted(before: Memory, after: Memory) -> dict[str, object]:
    return {
        "id": before.id,
        "before": _fields(before),
        "after": _fields(after),
        "at": before.updated_at.isoformat(),
    }


def _fields(memory: Memory) -> dict[str, str | None]:
    until = memory.valid_until
    return {
        "status": str(memory.status),
        "valid_until": None if until is None else until.isoformat(),
        "reason": memory.reason,
        "superseded_by": memory.superseded_by,
    }


def _values(fields: dict[str, str | None]) -> dict[str, object]:
    until = fields["valid_until"]
    return {
        **fields,
        "status": Status(fields["status"] or ""),
        "valid_until": None if until is None else datetime.fromisoformat(until),
    }
