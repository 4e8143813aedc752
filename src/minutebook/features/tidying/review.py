"""The review: all items that wait for a person in one list, and one way to settle each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from minutebook.app import App
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.tidying.findings import FINDINGS, OPEN_TOPICS, Topic
from minutebook.features.tidying.inbox import SUGGESTION, Inbox, ShownSuggestion
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, InvalidInput, NotFound
from minutebook.record.filters import MemoryQuery
from minutebook.record.reason import Reason
from minutebook.record.records import Decision, Kind, Memory, Proposal, Record, Status

MEMORIES: Mapping[Topic, Status] = {
    Topic.UNVERIFIED: Status.UNVERIFIED,
    Topic.DRAFT: Status.DRAFT,
    Topic.ACTIVE: Status.ACTIVE,
}
"""The topics of memories that nobody verified, each with their status."""

ACCEPTED_ELSEWHERE = Reason("accepting it needs the secret; `minutebook accept` asks for it")
"""The reason why a proposal cannot be accepted from the list."""


@dataclass(frozen=True, slots=True)
class Item:
    """One open item: the name by which it is settled, its records, and the suggestion if it is one.

    `name` is the number of a suggestion, else the id of a memory or proposal; of decisions that contradict
    one another it is empty, since another decision settles them. `opens` is when a proposal can be accepted.
    """

    topic: Topic
    name: str
    records: tuple[Record, ...]
    suggestion: ShownSuggestion | None = None
    opens: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """A page of the list, and how many items of each topic the reader may see."""

    items: list[Item]
    counts: Counter[Topic]


class Review:
    """Lists and settles all items that wait for a person."""

    def __init__(self, app: App) -> None:
        self._inbox = app.get(Inbox)
        self._memories, self._status, self._doors = app.memories, app.status, app.doors
        self._proposals, self._decisions = app.get(Proposals), app.get(DecisionActs)
        self._clock = app.clock

    def page(
        self, caller: Caller, limit: int, offset: int = 0, topics: Sequence[Topic] = OPEN_TOPICS
    ) -> ReviewPage:
        """Return a page of the open items of some topics, topic by topic, with all counts.

        Active memories are counted only if their topic is among these: there may be very many.
        """
        found = self._inbox.listing(caller, 0).counts
        counts = Counter({each: found[each] for each in FINDINGS})
        pending, clashes = self._proposals.pending(caller), self.clashes(caller)
        counts[Topic.PROPOSAL], counts[Topic.CLASH] = len(pending), len(clashes)
        rules = self._doors.waiting(caller)
        counts[Topic.RULE] = len(rules)
        for topic, status in MEMORIES.items():
            if topic in OPEN_TOPICS or topic in topics:
                where = MemoryQuery(status=status)
                others = sum(each.status is status for each in rules)
                counts[topic] = self._memories.count(caller, where, self._clock()) - others
        items: list[Item] = []
        for topic in topics:
            room, total = limit - len(items), counts[topic]
            if room <= 0:
                break
            if offset < total:
                end = offset + room
                if topic is Topic.RULE:
                    items += [Item(topic, each.id, (each,)) for each in rules[offset:end]]
                elif topic in MEMORIES:
                    items += self._unverified(caller, topic, room, offset, rules)
                elif topic is Topic.PROPOSAL:
                    items += [self._proposed(each) for each in pending[offset:end]]
                elif topic is Topic.CLASH:
                    items += [Item(topic, "", tuple(each)) for each in clashes[offset:end]]
                else:
                    listing = self._inbox.listing(caller, room, offset, frozenset({topic}))
                    items += [
                        Item(topic, each.name, each.records, each) for each in listing.suggestions
                    ]
            offset = max(0, offset - total)
        return ReviewPage(items, +counts)

    def named(self, caller: Caller, name: str) -> Item:
        """Return the item with a name: a suggestion's number, a proposal's or a memory's id.

        Raises NotFound if the caller sees no such item.
        """
        if _is_number(name):
            # The id of an imported memory may be a number, too.
            with suppress(NotFound):
                shown = self._inbox.read(caller, name)
                return Item(shown.suggestion.finding, shown.name, shown.records, shown)
        if name.startswith(Kind.PROPOSAL):
            found = self._decisions.read(caller, name)
            assert isinstance(found, Proposal)
            return self._proposed(found)
        try:
            memory = self._memories.read(caller, name)
        except NotFound as error:
            raise NotFound(SUGGESTION if _is_number(name) else error.kind, name) from error
        of_status = {status: topic for topic, status in MEMORIES.items()}
        return Item(of_status.get(memory.status, Topic.ACTIVE), memory.id, (memory,))

    def apply(self, caller: Caller, name: str) -> Item:
        """Apply a suggestion, or mark a memory as verified.

        Raises what `Inbox.apply` and `StatusChanges.verify` do, and Conflict for a proposal, which needs the secret.
        """
        item = self.named(caller, name)
        if item.suggestion is not None:
            return replace(item, suggestion=self._inbox.apply(caller, name))
        if item.topic is Topic.PROPOSAL:
            raise Conflict(name, ACCEPTED_ELSEWHERE)
        return replace(item, records=(self._status.verify(caller, name),))

    def refuse(self, caller: Caller, name: str) -> Item:
        """Refuse a suggestion for good, decline a proposal, or deprecate a memory.

        Raises what the service of each does, and InvalidInput for a memory if the caller gives no reason.
        """
        item = self.named(caller, name)
        if item.suggestion is not None:
            return replace(item, suggestion=self._inbox.refuse(caller, name))
        if item.topic is Topic.PROPOSAL:
            return replace(item, records=(self._proposals.decline(caller, name),))
        reason = caller.call.reason
        if not reason:
            raise InvalidInput("reason", "must not be empty: it says why a memory is deprecated")
        return replace(item, records=(self._status.deprecate(caller, name, reason),))

    def undo(self, caller: Caller, name: str) -> Item:
        """Take back how a suggestion was settled, or open a declined proposal again.

        Raises what the service of each does, and Conflict for a memory.
        """
        item = self.named(caller, name)
        if item.suggestion is not None:
            return replace(item, suggestion=self._inbox.undo(caller, name))
        if item.topic is Topic.PROPOSAL:
            return replace(item, records=(self._proposals.reopen(caller, name),))
        raise Conflict(name, "a memory is changed by `minutebook edit`, or on its page")

    def clashes(self, caller: Caller) -> list[list[Decision]]:
        """Return the active decisions of each target that has several."""
        by_target: dict[tuple[str, str, str | None, str | None], list[Decision]] = {}
        for each in self._decisions.active_by_target(caller):
            key = (each.organization, each.target.casefold(), each.repository, each.user)
            by_target.setdefault(key, []).append(each)
        return [each for each in by_target.values() if len(each) > 1]

    def _unverified(
        self, caller: Caller, topic: Topic, limit: int, offset: int, rules: Sequence[Memory]
    ) -> list[Item]:
        """Return a page of the memories of a topic, without those that are among the `rules`."""
        status = MEMORIES[topic]
        listed = {(each.organization, each.id) for each in rules if each.status is status}
        most = limit + offset + len(listed)
        page = self._memories.page(caller, most, 0, MemoryQuery(status=status), self._clock())
        others = [each for each in page.memories if (each.organization, each.id) not in listed]
        return [Item(topic, each.id, (each,)) for each in others[offset : offset + limit]]

    def _proposed(self, proposal: Proposal) -> Item:
        opens = self._proposals.opens(proposal)
        return Item(Topic.PROPOSAL, proposal.id, (proposal,), opens=opens)


def _is_number(name: str) -> bool:
    number = name.partition("@")[0]
    return number.isascii() and number.isdecimal() and len(number) <= 9
