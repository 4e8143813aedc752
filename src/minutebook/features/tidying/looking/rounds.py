"""Go through the changes since the last round, find disorder, and suggest changes."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from minutebook.app import App
from minutebook.features.citations.citing import CITING
from minutebook.features.citations.following import Followed, Follower, noted_at_end
from minutebook.features.tidying.findings import State, Suggestion, Topic, parse_rules
from minutebook.features.tidying.inbox import Inbox
from minutebook.features.tidying.looking.examining import (
    Examined,
    Examining,
    MemoryNeighbours,
    suggestion_of,
)
from minutebook.features.tidying.looking.state import FOLLOWER, interval, tended
from minutebook.features.tidying.rows import TidyRows
from minutebook.features.tidying.settings import TidyingSettings
from minutebook.memory.jobs import Job
from minutebook.record import policy
from minutebook.record.caller import Caller, with_call, without_folder_scope
from minutebook.record.errors import WorkSpent
from minutebook.record.reason import count_of
from minutebook.record.records import CLASSES, Kind, Memory, Role
from minutebook.record.writing.validity import holds_at
from minutebook.store.values import Change

log = logging.getLogger(__name__)

FINDERS = "4"
"""Counts up when the finders find other things: everything is then looked at once more."""

BATCH = 200
"""Suggestions that are read at once."""

RETRY = 3600.0
"""Seconds after a failed round before the next is tried."""

ACTOR = "tidy rule"
"""Why something was applied that nobody asked for, in the trail."""


@dataclass(slots=True)
class Round:
    """The results of a round: how many changes were examined, and by kind the new and the applied ones.

    `is_elsewhere`: another process is at it, and nothing was done. `is_unfinished`: there is more to look at.
    """

    looked_at: int = 0
    found: Counter[Topic] = field(default_factory=Counter)
    applied: Counter[Topic] = field(default_factory=Counter)
    is_elsewhere: bool = False
    is_unfinished: bool = False


class Rounds:
    """Finds disorder, organization by organization, from where the last round stopped.

    `rules` say what may be applied unasked, from which certainty on; `every` how often unasked,
    None: never.
    """

    def __init__(self, app: App) -> None:
        from minutebook.features.citations.verdicts import Citations

        self.every = interval(app.settings)
        self._infrastructure = app.infrastructure
        self._store, self._records = app.infrastructure.store, app.infrastructure.records
        self._rows = TidyRows(app.infrastructure.database)
        self._clock = app.clock
        self._candidates, self._examining = app.get(MemoryNeighbours), app.get(Examining)
        self._citations = app.get(Citations)
        self._inbox = app.get(Inbox)
        self._rules = parse_rules(app.settings.of(TidyingSettings).tidy_rules)

    def run_if_due(self, caller: Caller) -> Round | None:
        """Do as `run` does for the organizations that are due; None if none is. Raises the same."""
        if self.every is None:
            return None
        before = (self._clock() - self.every).isoformat()
        due = frozenset(
            name
            for name in tended(self._records, caller)
            if str(noted_at_end(self._store, FOLLOWER, name).get("at", "")) <= before
        )
        return self.run(caller, among=due) if due else None

    def run(
        self,
        caller: Caller,
        *,
        dry_run: bool = False,
        most: int | None = None,
        among: frozenset[str] | None = None,
    ) -> Round:
        """Examine the changes and the findings that have come due; put suggestions into the inbox.

        Then apply what rules let be applied. A dry run counts what would be new, and writes nothing. `most`
        is how many changes are looked at, about; `among` are the organizations, None: all of the caller's.
        Raises Forbidden to viewers.
        """
        policy.check_may_act(caller, "tidy")
        done = Round()
        for name in tended(self._records, caller):
            if among is not None and name not in among:
                continue
            self._go_through(caller, name, done, most, dry_run=dry_run)
        if self._rules and not dry_run:
            done.applied += self._inbox.apply_by_rules(_by_rule(caller), self._rules)
        return done

    def suggest(self, memory: Memory, others: Sequence[str]) -> None:
        """Keep suggestions for the pairs of a memory with others of its organization, by id, of which one should end."""
        near = (self._store.get(Memory, memory.organization, each) for each in others)
        pairs = (self._examining.pair(memory, each) for each in near if each is not None)
        self._new(memory.organization, filter(None, pairs), None)

    def _go_through(
        self, caller: Caller, organization: str, done: Round, most: int | None, *, dry_run: bool
    ) -> None:
        seen = set[str]()
        before, found_before = done.looked_at, Counter(done.found)

        def look(caller: Caller, organization: str, changes: Sequence[Change]) -> None:
            found = self._of_changes(organization, changes)
            done.found += self._new(organization, found, seen if dry_run else None)
            done.looked_at += len(changes)

        def look_at_all() -> Mapping[str, object]:
            if not dry_run:
                self._drop_stale(caller, organization)
            done.found += self._what_is_due(organization, dry_run=dry_run)
            cited = self._citing(caller, organization)
            done.found += self._new(organization, cited, seen if dry_run else None)
            looked_at, found = done.looked_at - before, dict(done.found - found_before)
            return {"at": self._clock().isoformat(), "looked_at": looked_at, "found": found}

        try:
            outcome = Follower(self._infrastructure, FOLLOWER, look, FINDERS).follow(
                caller,
                organization,
                most=None if most is None else most - before,
                keeps=not dry_run,
                on_end=look_at_all,
            )
        except WorkSpent:
            # What was looked at is kept, and the next call goes on behind it.
            outcome = Followed.UNFINISHED
        done.is_elsewhere |= outcome is Followed.ELSEWHERE
        done.is_unfinished |= outcome is Followed.UNFINISHED

    def _new(
        self, organization: str, found: Iterable[Examined], seen: set[str] | None
    ) -> Counter[Topic]:
        """Keep the suggestions that are new, or note them as `seen` in a dry run; return how many open ones of each kind there are."""
        new: Sequence[Suggestion] = self._suggestions(organization, found)
        if seen is None:
            new = self._rows.add(organization, new)
        else:
            known = self._rows.known(organization, [each.id for each in new]) | seen
            new = list({each.id: each for each in new if each.id not in known}.values())
            seen.update(each.id for each in new)
        return Counter(each.finding for each in new if each.state is State.OPEN)

    def _suggestions(self, organization: str, found: Iterable[Examined]) -> list[Suggestion]:
        """Return findings as suggestions; those of a later day wait."""
        now = self._clock()
        made = [suggestion_of(organization, each, now) for each in found]
        return [
            replace(each, state=State.WAITING) if each.due is not None and each.due > now else each
            for each in made
        ]

    def _of_changes(self, organization: str, changes: Iterable[Change]) -> Iterator[Examined]:
        now = self._clock()
        for change in changes:
            if change.deleted or change.kind is not Kind.MEMORY:
                continue
            memory = self._store.get(Memory, organization, change.id)
            if memory is None:
                continue
            if (expired := self._examining.expired(memory)) is not None:
                yield expired
            if memory.deleted_at is None and holds_at(memory, now):
                if (wording := self._examining.wording(memory)) is not None:
                    yield wording
                yield from self._pairs(memory)

    def _pairs(self, memory: Memory) -> Iterator[Examined]:
        for other in self._candidates.near(memory):
            if (found := self._examining.pair(memory, other)) is not None:
                yield found

    def _what_is_due(self, organization: str, *, dry_run: bool) -> Counter[Topic]:
        """Open the suggestions that have come due; return how many of each kind."""
        rows, opened = self._rows, Counter[Topic]()
        while due := rows.due(organization, self._clock(), BATCH):
            for each in due:
                is_so = self._examining.examine_again(each) is not None
                opened[each.finding] += is_so
                if dry_run:
                    continue
                if is_so:
                    rows.put(replace(each, state=State.OPEN))
                else:
                    rows.remove(organization, each.id)
            if dry_run:
                break
        return +opened

    def _citing(self, caller: Caller, organization: str) -> Iterator[Examined]:
        for kind, id in sorted(self._citations.doubtful(caller, organization)):
            record = self._store.get(CLASSES[kind], organization, id)
            if isinstance(record, CITING) and (found := self._examining.citing(record)):
                yield found

    def _drop_stale(self, caller: Caller, organization: str) -> None:
        """Remove open suggestions that hold no more; keep no images of records that are gone."""
        for state in (State.OPEN, State.APPLIED, State.REFUSED):
            last = 0
            while batch := self._rows.find(organization, state, BATCH, last):
                last = batch[-1].number
                for each in batch:
                    caller.call.progress(1.0, organization)
                    if state is State.OPEN and self._examining.examine_again(each) is None:
                        self._rows.remove(organization, each.id)
                    elif each.entry is not None and not self._is_there(each):
                        self._inbox.forget(each)

    def _is_there(self, suggestion: Suggestion) -> bool:
        home = suggestion.organization
        found = (self._store.get(CLASSES[kind], home, id) for kind, id in suggestion.subjects)
        return all(each is not None for each in found)


def _by_rule(caller: Caller) -> Caller:
    """Return the caller for a rule's acts: where the owner's process runs, the person that set it."""
    asks = with_call(without_folder_scope(caller), reason=ACTOR)
    is_owners = not caller.token and caller.role is Role.AGENT
    return replace(asks, role=Role.HUMAN) if is_owners else asks


def jobs(app: App) -> Iterable[Job]:
    """Yield the job of the rounds, if they are made by schedule."""
    rounds = app.get(Rounds)

    def tidy(caller: Caller) -> None:
        if (done := rounds.run_if_due(caller)) is not None:
            log.info("tidied: %s", count_of(done.found.total(), "new suggestion"))

    if rounds.every is not None:
        yield Job("tidying", tidy, "tidying by schedule failed", retry=RETRY)
