"""Lock, unlock, verify and deprecate memories."""

from dataclasses import replace

from minutebook.memory.infrastructure import Infrastructure
from minutebook.memory.knowledge.writing import MemoryWriter, Rule
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict
from minutebook.record.records import Kind, Memory, Status
from minutebook.record.writing import drafts


class StatusChanges:
    """The use cases that lock a memory or change its status."""

    def __init__(self, infrastructure: Infrastructure, writer: MemoryWriter) -> None:
        self._store = infrastructure.records
        self._trail = infrastructure.trail
        self._writer = writer
        self._clock = infrastructure.clock
        self._rules = infrastructure.rules

    def lock(self, caller: Caller, id: str) -> Memory:
        """Lock a memory: nobody can change it until it is unlocked.

        Raises Forbidden, before the memory is looked up, if the caller may not lock. Raises
        NotFound if there is no such memory, Locked if it is locked already.
        """
        with self._trail.audit_refusals(caller, None, "lock", Kind.MEMORY, id):
            policy.check_may_lock(caller)

        def rule(memory: Memory) -> Memory:
            policy.check_may_change(caller, self._rules(), memory)
            return drafts.locked(memory, caller, self._clock())

        return self._change(caller, "lock", id, rule)

    def unlock(self, caller: Caller, id: str) -> Memory:
        """Unlock a memory that the caller's role or a lower one locked; it gets its earlier status back.

        Raises NotFound, Forbidden, Conflict if it is not locked.
        """

        def rule(memory: Memory) -> Memory:
            policy.check_may_unlock(caller, memory)
            if memory.locked_by is None:
                raise Conflict(memory.id, "it is not locked")
            return drafts.unlocked(memory, self._clock())

        return self._change(caller, "unlock", id, rule)

    def verify(self, caller: Caller, id: str) -> Memory:
        """Mark a memory as verified by a person; a deprecated one is valid again.

        Raises NotFound, Forbidden, Locked, Conflict if another superseded it.
        """
        return self._set_status(caller, "verify", id, Status.VERIFIED, None)

    def deprecate(self, caller: Caller, id: str, reason: str) -> Memory:
        """End a memory because it is out of date, and store the reason.

        Raises NotFound, Forbidden, Locked, Conflict if another superseded it.
        """
        return self._set_status(caller, "deprecate", id, Status.DEPRECATED, reason)

    def _set_status(
        self, caller: Caller, act: str, id: str, status: Status, reason: str | None
    ) -> Memory:
        def rule(memory: Memory) -> Memory:
            policy.check_may_change(caller, self._rules(), memory)
            if status is Status.VERIFIED:
                policy.check_may_verify(caller)
            changed = drafts.with_status(caller, memory, status, self._clock())
            return changed if reason is None else replace(changed, reason=reason)

        return self._change(caller, act, id, rule)

    def _change(self, caller: Caller, act: str, id: str, rule: Rule) -> Memory:
        return self._writer.change(caller, act, lambda: self._store.read(caller, Memory, id), rule)
