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
from minutebook.features.tidying.looking.state import FOLLOWER, interval, organizations_to_tidy
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

FINDERS_VERSION = "4"
"""Must be raised when the finders change: then all records are examined once more."""

BATCH = 200
"""Suggestions that are read at once."""

RETRY = 3600.0
"""Seconds after a failed round before the next is tried."""

RULE_REASON = "tidy rule"
"""The reason, in the trail, of a change that a rule applied."""


@dataclass(slots=True)
class Round:
    """The results of a round: how many changes were examined, how many suggestions of each finding are new, how many applied.

    `is_elsewhere`: another process makes a round, and nothing was done. `is_unfinished`: more changes are left.
    """

    looked_at: int = 0
    found: Counter[Topic] = field(default_factory=Counter)
    applied: Counter[Topic] = field(default_factory=Counter)
    is_elsewhere: bool = False
    is_unfinished: bool = False


class Rounds:
    """Finds disorder, organization by organization, from where the last round stopped.

    `every` is the time between rounds by schedule, None: there are none. The setting `tidy_rules` says
    which suggestions are applied unasked.
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
        """Make a round over the organizations that are due; None if none is. Raises as `run`."""
        if self.every is None:
            return None
        before = (self._clock() - self.every).isoformat()
        due = frozenset(
            name
            for name in organizations_to_tidy(self._records, caller)
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
        """Examine the changes and the suggestions that are due, put new ones into the inbox, and apply the rules.

        A dry run only counts the suggestions that would be new. It examines about `most` changes (None: all), of the
        organizations `among` (None: all that the caller may see). Raises Forbidden to viewers.
        """
        policy.check_may_act(caller, "tidy")
        done = Round()
        for name in organizations_to_tidy(self._records, caller):
            if among is not None and name not in among:
                continue
            self._examine_organization(caller, name, done, most, dry_run=dry_run)
        if self._rules and not dry_run:
            done.applied += self._inbox.apply_by_rules(_by_rule(caller), self._rules)
        return done

    def suggest(self, memory: Memory, others: Sequence[str]) -> None:
        """Suggest to end one memory of each pair of a memory and another, of those with the ids `others`, if one should."""
        near = (self._store.get(Memory, memory.organization, each) for each in others)
        pairs = (self._examining.pair(memory, each) for each in near if each is not None)
        self._keep_new(memory.organization, filter(None, pairs), None)

    def _examine_organization(
        self, caller: Caller, organization: str, done: Round, most: int | None, *, dry_run: bool
    ) -> None:
        """Make the round over one organization, and add its results to `done`."""
        seen = set[str]()
        before, found_before = done.looked_at, Counter(done.found)

        def examine(caller: Caller, organization: str, changes: Sequence[Change]) -> None:
            found = self._findings_in(organization, changes)
            done.found += self._keep_new(organization, found, seen if dry_run else None)
            done.looked_at += len(changes)

        def finish() -> Mapping[str, object]:
            """Return the facts to be noted with the end of the round."""
            if not dry_run:
                self._drop_stale(caller, organization)
            done.found += self._open_due(organization, dry_run=dry_run)
            cited = self._findings_on_citations(caller, organization)
            done.found += self._keep_new(organization, cited, seen if dry_run else None)
            looked_at, found = done.looked_at - before, dict(done.found - found_before)
            return {"at": self._clock().isoformat(), "looked_at": looked_at, "found": found}

        try:
            outcome = Follower(self._infrastructure, FOLLOWER, examine, FINDERS_VERSION).follow(
                caller,
                organization,
                most=None if most is None else most - before,
                keeps=not dry_run,
                on_end=finish,
            )
        except WorkSpent:
            # The next call goes on after the changes that were examined.
            outcome = Followed.UNFINISHED
        done.is_elsewhere |= outcome is Followed.ELSEWHERE
        done.is_unfinished |= outcome is Followed.UNFINISHED

    def _keep_new(
        self, organization: str, found: Iterable[Examined], seen: set[str] | None
    ) -> Counter[Topic]:
        """Keep the new suggestions, or in a dry run only add their ids to `seen`; return how many of each finding are open."""
        new: Sequence[Suggestion] = self._suggestions(organization, found)
        if seen is None:
            new = self._rows.add(organization, new)
        else:
            known = self._rows.known(organization, [each.id for each in new]) | seen
            new = list({each.id: each for each in new if each.id not in known}.values())
            seen.update(each.id for each in new)
        return Counter(each.finding for each in new if each.state is State.OPEN)

    def _suggestions(self, organization: str, found: Iterable[Examined]) -> list[Suggestion]:
        """Return findings as suggestions; those that are due on a later day wait."""
        now = self._clock()
        made = [suggestion_of(organization, each, now) for each in found]
        return [
            replace(each, state=State.WAITING) if each.due is not None and each.due > now else each
            for each in made
        ]

    def _findings_in(self, organization: str, changes: Iterable[Change]) -> Iterator[Examined]:
        """Yield the findings on the memories among some changes: expired, badly worded, a pair with a near memory."""
        now = self._clock()
        for change in changes:
            if change.deleted or change.kind is not Kind.MEMORY:
                continue
            memory = self._store.get(Memory, organization, change.id)
            if memory is None:
                continue
            found = [self._examining.expired(memory)]
            if memory.deleted_at is None and holds_at(memory, now):
                found.append(self._examining.wording(memory))
                near = self._candidates.near(memory)
                found += [self._examining.pair(memory, other) for other in near]
            yield from (each for each in found if each is not None)

    def _open_due(self, organization: str, *, dry_run: bool) -> Counter[Topic]:
        """Open the suggestions that have become due and still hold, remove the others; return how many of each finding."""
        rows, opened = self._rows, Counter[Topic]()
        while due := rows.due(organization, self._clock(), BATCH):
            for each in due:
                still_holds = self._examining.examine_again(each) is not None
                opened[each.finding] += still_holds
                if dry_run:
                    continue
                if still_holds:
                    rows.put(replace(each, state=State.OPEN))
                else:
                    rows.remove(organization, each.id)
            if dry_run:
                break
        return +opened

    def _findings_on_citations(self, caller: Caller, organization: str) -> Iterator[Examined]:
        """Yield the findings on records with doubtful citations."""
        for kind, id in sorted(self._citations.doubtful(caller, organization)):
            record = self._store.get(CLASSES[kind], organization, id)
            if isinstance(record, CITING) and (found := self._examining.citing(record)):
                yield found

    def _drop_stale(self, caller: Caller, organization: str) -> None:
        """Remove open suggestions that hold no more; let settled ones be taken back no more if a record is gone."""
        for state in (State.OPEN, State.APPLIED, State.REFUSED):
            for each in self._rows.everything(organization, state):
                caller.call.progress(1.0, organization)
                if state is State.OPEN and self._examining.examine_again(each) is None:
                    self._rows.remove(organization, each.id)
                elif each.entry is not None and not self._has_all_records(each):
                    self._inbox.forget(each)

    def _has_all_records(self, suggestion: Suggestion) -> bool:
        home = suggestion.organization
        found = (self._store.get(CLASSES[kind], home, id) for kind, id in suggestion.subjects)
        return all(each is not None for each in found)


def _by_rule(caller: Caller) -> Caller:
    """Return the caller for a rule's acts: in the owner's own process the person, who set the rule."""
    asks = with_call(without_folder_scope(caller), reason=RULE_REASON)
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
