"""Make suggested changes through the services of the records that they change."""

from collections.abc import Mapping

from minutebook.app import App
from minutebook.features.tidying.findings import Topic
from minutebook.features.tidying.looking.examining import Examined
from minutebook.record.caller import Caller
from minutebook.record.records import Decision, Kind, Memory, Summary


class SuggestedChanges:
    """Makes the changes of suggestions, under all rules of the services that it uses."""

    def __init__(self, app: App) -> None:
        from minutebook.features.citations.citing import Confirmations

        self._store = app.infrastructure.records
        self._memories, self._status, self._links = app.memories, app.status, app.links
        self._confirmations = app.get(Confirmations)

    def make(self, caller: Caller, examined: Examined) -> None:
        """Make the suggested change. Raises as the services of its records do."""
        merges = examined.finding is Topic.MERGE
        changed = examined.subjects[1:] if merges else examined.subjects[-1:]
        for kind, id in changed:
            if kind in _UNCHANGEABLE:
                record = self._store.read(caller, _UNCHANGEABLE[kind], id)
                self._confirmations.confirm(caller, record)
            else:
                self._change(caller, examined, self._memories.read(caller, id))

    def refuse(self, caller: Caller, examined: Examined) -> None:
        """Make the change that follows from refusing a suggestion, if any.

        Two memories that both stay are linked, so that no answer presents one as a revision of the other. A joint
        wording that is refused is deprecated, as it would repeat the memories that it words. A memory that cites
        changed code and is not confirmed is deprecated, too. Raises as the services of the records do.
        """
        kind, id = examined.subjects[0]
        if examined.finding in (Topic.DUPLICATE, Topic.CONTRADICTION):
            one, other = examined.records
            if not (getattr(one, "locked_by", None) or getattr(other, "locked_by", None)):
                self._links.link(caller, one.id, other.id)
        if examined.finding in _REFUSED and kind not in _UNCHANGEABLE:
            reason = caller.call.reason or _REFUSED[examined.finding]
            self._status.deprecate(caller, id, reason)

    def _change(self, caller: Caller, examined: Examined, memory: Memory) -> None:
        """Change a memory as was suggested."""
        reason = caller.call.reason
        match examined.finding:
            case Topic.DUPLICATE | Topic.CONTRADICTION | Topic.MERGE:
                _, successor = examined.subjects[0]
                reason = reason or _REASONS[examined.finding]
                self._memories.invalidate(caller, memory.id, reason, successor)
            case Topic.EXPIRED:
                reason = reason or f"{_REASONS[Topic.EXPIRED]}: {examined.facts['words']}"
                changes = {"valid_until": examined.due, "reason": reason}
                self._memories.update(caller, memory.id, changes)
            case Topic.CITED:
                self._status.verify(caller, memory.id)


_UNCHANGEABLE: Mapping[Kind, type[Decision | Summary]] = {
    Kind.DECISION: Decision,
    Kind.SUMMARY: Summary,
}
"""Records that are never changed, only confirmed."""

_REASONS = {
    Topic.DUPLICATE: "says the same as the one that takes its place",
    Topic.CONTRADICTION: "the one that takes its place says otherwise",
    Topic.MERGE: "the one that takes its place says this and more",
    Topic.EXPIRED: "past by its own words",
}
"""The reasons that changed records get if the person gives none."""


_REFUSED = {
    Topic.MERGE: "as a wording of others it was refused",
    Topic.CITED: "the code that it cites has changed or is gone",
}
"""Reasons of a memory that is deprecated because a suggestion about it was refused."""
