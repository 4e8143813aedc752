"""Make a suggested change through the service of its subject."""

from collections.abc import Mapping

from minutebook.app import App
from minutebook.features.tidying.findings import Topic
from minutebook.features.tidying.looking.examining import Examined
from minutebook.record.caller import Caller
from minutebook.record.records import Decision, Kind, Memory, Summary


class Changing:
    """Applies suggestions; every rule of the services that it asks holds."""

    def __init__(self, app: App) -> None:
        from minutebook.features.citations.citing import Confirmations

        self._store = app.infrastructure.records
        self._memories, self._status, self._links = app.memories, app.status, app.links
        self._confirmations = app.get(Confirmations)

    def make(self, caller: Caller, examined: Examined) -> None:
        """Make the change that was found to be due. Raises whatever the service of its subject does."""
        goes = examined.subjects[1 if examined.finding is Topic.MERGE else -1 :]
        for kind, id in goes:
            if kind in _FIXED:
                self._confirmations.confirm(caller, self._store.read(caller, _FIXED[kind], id))
            else:
                self._change(caller, examined, self._memories.read(caller, id))

    def refuse(self, caller: Caller, examined: Examined) -> None:
        """Make the change of refusing a suggestion, if any.

        Two memories that both stay are linked, so that no answer tells the one as a revision of the other. A wording that is refused is deprecated: it would say a third time what two memories say; so is what cites code that is
        no more and is not confirmed, unless nobody may change it. Raises whatever the service of its subject does.
        """
        kind, id = examined.subjects[0]
        if examined.finding in (Topic.DUPLICATE, Topic.CONTRADICTION):
            one, other = examined.records
            if not (getattr(one, "locked_by", None) or getattr(other, "locked_by", None)):
                self._links.link(caller, one.id, other.id)
        if examined.finding in _REFUSED and kind not in _FIXED:
            reason = caller.call.reason or _REFUSED[examined.finding]
            self._status.deprecate(caller, id, reason)

    def _change(self, caller: Caller, examined: Examined, memory: Memory) -> None:
        """Change a memory as was suggested."""
        reason = caller.call.reason or None
        match examined.finding:
            case Topic.DUPLICATE | Topic.CONTRADICTION | Topic.MERGE:
                stays = examined.subjects[0][1]
                said = reason or _REASONS[examined.finding]
                self._memories.invalidate(caller, memory.id, said, stays)
            case Topic.EXPIRED:
                said = reason or f"{_REASONS[Topic.EXPIRED]}: {examined.facts['words']}"
                changes = {"valid_until": examined.due, "reason": said}
                self._memories.update(caller, memory.id, changes)
            case Topic.CITED:
                self._status.verify(caller, memory.id)


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
}
"""What a changed record says of why, where a person gave no reason."""


_REFUSED = {
    Topic.MERGE: "as a wording of others it was refused",
    Topic.CITED: "the code that it cites has changed or is gone",
}
"""Reasons of a memory that is deprecated because a suggestion about it was refused."""
