"""The review: everything that waits for a person in one list, whatever found it, and one way to settle each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from minutebook.app import App
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.tidying.findings import FINDINGS, WAITING, Topic
from minutebook.features.tidying.inbox import SUGGESTION, Inbox, Waiting
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
"""Memories that nobody verified, by status."""

ACCEPTED_ELSEWHERE = Reason("accepting it needs the secret; `minutebook accept` asks for it")
"""Why a proposal is not accepted from the list."""


@dataclass(frozen=True, slots=True)
class Item:
    """One open item: the name by which it is settled, its records, and the suggestion if it is one.

    `name` is the number of a suggestion, else the id of a memory or proposal; of decisions that contradict
    one another it is empty, since another decision settles them. `opens` is when a proposal can be accepted.
    """

    topic: Topic
    name: str
    records: tuple[Record, ...]
    waiting: Waiting | None = None
    opens: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """Part of the list, and how many there are of each topic that the reader may see."""

    items: list[Item]
    counts: Counter[Topic]


class Review:
    """The list of all that waits for a person."""

    def __init__(self, app: App) -> None:
        self._inbox = app.get(Inbox)
        self._memories, self._status, self._doors = app.memories, app.status, app.doors
        self._proposals, self._decisions = app.get(Proposals), app.get(DecisionActs)
        self._clock = app.clock

    def page(
        self, caller: Caller, limit: int, offset: int = 0, topics: Sequence[Topic] = WAITING
    ) -> ReviewPage:
        """Return a page of the open items of some topics, topic by topic, with all counts.

        Active memories are counted only where they are asked for: there may be very many.
        """
        found = self._inbox.listing(caller, 0).counts
        counts = Counter({each: found[each] for each in FINDINGS})
        pending, clashes = self._proposals.pending(caller), self.clashes(caller)
        counts[Topic.PROPOSAL], counts[Topic.CLASH] = len(pending), len(clashes)
        rules = self._doors.waiting(caller)
        counts[Topic.RULE] = len(rules)
        for topic, status in MEMORIES.items():
            if topic in WAITING or topic in topics:
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
                        Item(topic, each.name, each.records, each) for each in listing.waiting
                    ]
            offset = max(0, offset - total)
        return ReviewPage(items, +counts)

    def named(self, caller: Caller, name: str) -> Item:
        """Return something by its name: a suggestion's number, a proposal's or a memory's id.

        Raises NotFound if the caller sees nothing of that name.
        """
        if _is_number(name):
            # An imported memory may be called by a number, too.
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
        if item.waiting is not None:
            return replace(item, waiting=self._inbox.apply(caller, name))
        if item.topic is Topic.PROPOSAL:
            raise Conflict(name, ACCEPTED_ELSEWHERE)
        return replace(item, records=(self._status.verify(caller, name),))

    def refuse(self, caller: Caller, name: str) -> Item:
        """Refuse a suggestion for good, decline a proposal, or deprecate a memory.

        Raises what the service of each does, and InvalidInput for a memory if the caller gives no reason.
        """
        item = self.named(caller, name)
        if item.waiting is not None:
            return replace(item, waiting=self._inbox.refuse(caller, name))
        if item.topic is Topic.PROPOSAL:
            return replace(item, records=(self._proposals.decline(caller, name),))
        reason = caller.call.reason
        if not reason:
            raise InvalidInput("reason", "must not be empty: it says why a memory is deprecated")
        return replace(item, records=(self._status.deprecate(caller, name, reason),))

    def undo(self, caller: Caller, name: str) -> Item:
        """Undo the settlement of a suggestion, or let a declined proposal wait again.

        Raises what the service of each does, and Conflict for a memory.
        """
        item = self.named(caller, name)
        if item.waiting is not None:
            return replace(item, waiting=self._inbox.undo(caller, name))
        if item.topic is Topic.PROPOSAL:
            return replace(item, records=(self._proposals.reopen(caller, name),))
        raise Conflict(name, "a memory is changed by `minutebook edit`, or on its page")

    def clashes(self, caller: Caller) -> list[list[Decision]]:
        """Return the decisions of which several hold for one target, target by target."""
        by_target: dict[tuple[str, str, str | None, str | None], list[Decision]] = {}
        for each in self._decisions.active_by_target(caller):
            key = (each.organization, each.target.casefold(), each.repository, each.user)
            by_target.setdefault(key, []).append(each)
        return [each for each in by_target.values() if len(each) > 1]

    def _unverified(
        self, caller: Caller, topic: Topic, limit: int, offset: int, rules: Sequence[Memory]
    ) -> list[Item]:
        """Return a page of the memories of a status, but for those that wait as rules."""
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
