"""Each organization's ledger in Git, and the tables that follow it."""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from minutebook.domain.deciding import contradicted, joined, settled
from minutebook.domain.errors import Conflict, Forbidden, LedgerBroken, LedgerBusy, LedgerError
from minutebook.domain.filters import Filter, home_of
from minutebook.domain.ids import RandomBits, new_id, uuid_named
from minutebook.domain.lineage import (
    Rule,
    Seat,
    Violation,
    authorship_of,
    violations,
    violations_near,
)
from minutebook.domain.policy import Caller
from minutebook.domain.records import (
    Authorship,
    Decision,
    DecisionStatus,
    Kind,
    LedgerMark,
    Proposal,
    ProposalStatus,
    Role,
)
from minutebook.services.claims import Claims
from minutebook.services.reach import Clock, filters
from minutebook.services.trail import Trail
from minutebook.services.vectors import Embedded
from minutebook.store.protocol import Store

if TYPE_CHECKING:
    # Git and YAML take 0.14 s to import; who has no ledger does without them.
    from minutebook.ledger.repository import Act, Repository

log = logging.getLogger(__name__)

FOLDER = "docs/decisions"
"""Where decisions lie in a person's repository when its top is named."""

_PATIENCE = 30.0
_PLAIN = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_OWN = "own"


@dataclass(frozen=True, slots=True)
class LedgerPlace:
    """Where ledgers lie: `own` holds a repository an organization, made on first use.

    `named` is a repository that a person named, or a folder in one; it is the ledger of the
    organization `home`. `durability` is the store's: whether an act survives a power cut.
    """

    own: Path
    home: str
    named: Path | None = None
    durability: Literal["full", "normal"] = "full"


@dataclass(frozen=True, slots=True)
class LedgerState:
    """Where a ledger is and how far it was followed; read-only for a `reason`, None if it is not."""

    organization: str
    path: str
    commit_id: str | None
    reason: str | None = None
    remedy: str = ""
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild found and brought over.

    `to_tables` are the decisions that Git had otherwise, `to_git` those that the tables had.
    `conflicts` are targets on which several are active, `notes` what earlier commits did that none
    may do, and that has no effect any more.
    """

    organization: str
    path: str
    decisions: int
    to_tables: tuple[str, ...]
    to_git: tuple[str, ...]
    conflicts: tuple[Violation, ...]
    notes: tuple[Violation, ...]


class Ledgers:
    """Commits decisions and brings the tables to what Git says.

    A commit is made inside the transaction that keeps its decisions. So a kill leaves either
    neither, or a commit that the tables lack; whoever next asks takes that in, as they take in what
    a `git pull` brought.
    """

    def __init__(
        self,
        store: Store,
        trail: Trail,
        embedded: Embedded,
        claims: Claims,
        place: LedgerPlace,
        clock: Clock,
        randbits: RandomBits,
    ) -> None:
        self._store = store
        self._trail = trail
        self._embedded = embedded
        self._claims = claims
        self._place = place
        self._clock = clock
        self._randbits = randbits
        self._broken: dict[str, LedgerError] = {}

    def commit(
        self, organization: str, what: str, caller: Caller, plan: Callable[[], Sequence[Decision]]
    ) -> tuple[Decision, ...]:
        """Commit and keep what `plan` gives; call inside the transaction of the act.

        `plan` is asked when the tables are at the ledger's head, again each time another commit came
        between; what it raises goes through. Gives the decisions with their commit. Raises
        LedgerError.
        """

        def decide(head: str | None) -> "Act":
            self._take_in(organization, head)
            return self._act(what, caller, plan())

        committed = self.repository(organization).perform(decide)
        for decision in committed.decisions:
            self._store.put(decision)
        self._note_mark(organization, committed.id)
        return committed.decisions

    def follow(self, organization: str) -> None:
        """Bring the tables to the head of a ledger; LedgerError, LedgerBroken."""
        head, mark = self._head(organization), self._mark(organization)
        if head != (None if mark is None else mark.commit_id):
            with self._store.transaction():
                # Others may have decided since; the head that was read may be behind their mark.
                self._take_in(organization, self._head(organization))

    def heed(self, caller: Caller) -> None:
        """Follow the ledgers that the caller may hear; one that is broken is served as it was."""
        open_to = {where.organization for where in filters(self._store, caller)}
        self._heed(sorted(open_to | {home_of(caller)}))

    def catch_up(self) -> None:
        """End what a kill cut short, then follow every ledger; one that is broken stays as it was."""
        for organization in self._organizations():
            if self._exists(organization):
                try:
                    self.repository(organization).heal()
                except LedgerError as error:
                    self._set_broken(organization, error)
        self._heed(self._organizations())

    def states(self, caller: Caller | None = None) -> list[LedgerState]:
        """Tell how each ledger stands that the caller (None: anybody) may hear."""
        if caller is None:
            names = self._organizations()
        else:
            open_to = {where.organization for where in filters(self._store, caller)}
            names = sorted(open_to | {home_of(caller)})
        self._heed(names)
        return [self._state(name) for name in names if self._is_used(name)]

    def check(self) -> list[Violation]:
        """Find everything that does not hold among the decisions in the tables."""
        found: list[Violation] = []
        for organization in self._organizations():
            found += violations(self._kept(organization).values())
        return found

    def rebuild(self, caller: Caller) -> Rebuilt:
        """Make Git and the tables of the caller's organization agree: what one lacks, it is given.

        Of two readings of one decision the later holds. Refused, and nothing changed, where they
        contradict each other or what came of it would not be sound: LedgerBroken. Forbidden to
        agents.
        """
        organization = home_of(caller)
        path = self._path_named(organization)
        said = (caller, organization, "rebuild", Kind.LEDGER, path)
        with self._trail.guard(*said):
            if authorship_of(caller) is Authorship.AGENT:
                reason = f"the role {caller.role} may not rebuild a ledger; a person may"
                raise Forbidden("rebuild", reason, needs=Role.HUMAN)
        with self._trail.act(*said):
            rebuilt = self._rebuild(caller, organization, path)
        self._broken.pop(organization, None)
        self._embedded.want()
        return rebuilt

    def find(self, organization: str, id: str) -> Decision | None:
        """Give the decision with an id, None where there is none."""
        found = self._store.get(Kind.DECISION, organization, id)
        return found if isinstance(found, Decision) else None

    def sitting(self, seat: Seat) -> list[Decision]:
        """Give the active decisions on a seat."""
        here = Filter(
            organization=seat.organization,
            equal={
                "target": seat.target,
                "status": DecisionStatus.ACTIVE,
                "repository": seat.repository,
                "user": seat.user,
            },
        )
        return cast("list[Decision]", self._store.find(Kind.DECISION, here))

    # What Git brought

    def _take_in(self, organization: str, head: str | None) -> None:
        """Keep what came up to a commit, if it is sound; call inside a transaction."""
        mark = self._mark(organization)
        since = None if mark is None else mark.commit_id
        if head == since:
            return
        if head is None:
            raise LedgerBroken(
                f"{self._path_named(organization)}: the ledger has no commits any more",
                "bring the repository back, or write it anew by `minutebook ledger rebuild`",
                (),
            )
        from minutebook.ledger.history import news

        brought = news(self.repository(organization), since, head)
        _check_sound(brought.violations)
        self._keep(organization, brought.decisions)
        find = partial(self.find, organization)
        near = violations_near([each.id for each in brought.decisions], find, self.sitting)
        _check_sound(_without_conflicts(near))
        self._note_mark(organization, head)
        self._embedded.want()

    def _keep(self, organization: str, brought: Iterable[Decision]) -> list[str]:
        """Keep decisions as Git has them, or later; give the ids of those that were otherwise."""
        changed = []
        for decision in brought:
            earlier = self.find(organization, decision.id)
            if earlier is not None:
                decision = replace(decision, origin=earlier.origin)
            if earlier == decision:
                continue
            if earlier is not None:
                _check_uncontradicted([(earlier, decision)])
                decision = joined(decision, earlier)
            self._store.put(decision)
            if earlier is None or _plain(earlier) != _plain(decision):
                changed.append(decision.id)
            self._settle(decision)
            if earlier is None:
                role = Role.HUMAN if decision.authorship is Authorship.HUMAN else Role.AGENT
                author = Caller(name=decision.author, role=role)
                self._trail.note(author, organization, "take_in", Kind.DECISION, [decision.id])
        return changed

    def _settle(self, decision: Decision) -> None:
        """Note on the proposal that became a decision what an act that was cut short did not."""
        if decision.proposal is None:
            return
        found = self._store.get(Kind.PROPOSAL, decision.organization, decision.proposal)
        if isinstance(found, Proposal) and found.status is ProposalStatus.PENDING:
            self._store.put(settled(found, decision))

    # Rebuilding

    def _rebuild(self, caller: Caller, organization: str, path: str) -> Rebuilt:
        from minutebook.ledger.history import news

        head, kept = self._head(organization), self._kept(organization)
        written = self._written(organization, head)
        _check_uncontradicted((kept[id], written[id]) for id in kept.keys() & written.keys())
        whole = {**kept, **written}
        for id in kept.keys() & written.keys():
            whole[id] = joined(written[id], kept[id])
        found = violations(whole.values())
        _check_sound(_without_conflicts(found))
        notes: tuple[Violation, ...] = ()
        if head is not None:
            # Also stamps each decision with the commit that last wrote it.
            history = news(self.repository(organization), None, head)
            stamps = {each.id: each.commit_id for each in history.decisions}
            whole = {
                id: replace(each, commit_id=stamps.get(id, each.commit_id))
                for id, each in whole.items()
            }
            notes = history.violations
        lacking = [
            each
            for id, each in sorted(whole.items())
            if id not in written or _plain(written[id]) != _plain(each)
        ]
        to_tables = self._keep(
            organization, (each for id, each in sorted(whole.items()) if kept.get(id) != each)
        )
        if lacking:
            self._bring_to_git(caller, organization, head, lacking)
        elif head is not None:
            self._note_mark(organization, head)
        return Rebuilt(
            organization=organization,
            path=path,
            decisions=len(whole),
            to_tables=tuple(to_tables),
            to_git=tuple(each.id for each in lacking),
            conflicts=tuple(each for each in found if each.rule is Rule.ONE_ACTIVE),
            notes=notes,
        )

    def _written(self, organization: str, head: str | None) -> dict[str, Decision]:
        from minutebook.ledger.history import read_all

        if head is None:
            return {}
        found = read_all(self.repository(organization), head)
        _check_sound([each for each in found if isinstance(each, Violation)])
        return {each.id: each for each in found if isinstance(each, Decision)}

    def _bring_to_git(
        self, caller: Caller, organization: str, head: str | None, lacking: Sequence[Decision]
    ) -> None:
        def decide(now: str | None) -> "Act":
            if now != head:
                raise LedgerBusy("another commit came while the ledger was read", "try again")
            return self._act(f"Bring back {len(lacking)} decisions", caller, lacking)

        try:
            committed = self.repository(organization).perform(decide)
        except Conflict as error:
            # Another decision lies in the file of one that Git lacks.
            _check_sound([Violation(Rule.KEPT, (error.id,), error.reason)])
            raise
        for decision in committed.decisions:
            self._store.put(decision)
        self._note_mark(organization, committed.id)

    # Where and how far

    def repository(self, organization: str) -> "Repository":
        """Give the ledger of an organization; nothing is made or opened yet."""
        from minutebook.ledger.repository import Repository

        root = self._named(organization)
        if root is None:
            path = self._own(organization)
            alone = partial(self._claims.taken, f"ledger {path}", _PATIENCE)
            return Repository.own(path, organization, alone, self._place.durability)
        control = root[0] / ".git"
        # Beside the repository, for whoever shares it from another data directory.
        claims = Claims(control / "minutebook") if control.is_dir() else self._claims
        alone = partial(claims.taken, "ledger", _PATIENCE)
        return Repository.shared(root[0], root[1], organization, alone, self._place.durability)

    def _named(self, organization: str) -> tuple[Path, str] | None:
        """Give the top of the repository that a person named, and the folder in it."""
        named = self._named_for(organization)
        if named is None:
            return None
        for top in (named, *named.parents):
            if (top / ".git").exists():
                folder = named.relative_to(top).as_posix()
                return top, FOLDER if folder == "." else folder
        raise LedgerError(
            f"{named} lies in no Git repository",
            "run `git init` in the project's folder, or name another ledger",
        )

    def _named_for(self, organization: str) -> Path | None:
        """Give the path that a person named for an organization's ledger, or None."""
        return self._place.named if organization == self._place.home else None

    def _own(self, organization: str) -> Path:
        plain = _PLAIN.fullmatch(organization) is not None
        return self._place.own / (organization if plain else str(uuid_named(organization)))

    def _exists(self, organization: str) -> bool:
        """Tell whether there is a repository, so that looking makes none."""
        return self._named_for(organization) is not None or self._own(organization).exists()

    def _is_used(self, organization: str) -> bool:
        return self._exists(organization) or self._mark(organization) is not None

    def _path_named(self, organization: str) -> str:
        return str(self._named_for(organization) or self._own(organization))

    def _head(self, organization: str) -> str | None:
        return self.repository(organization).head() if self._exists(organization) else None

    def _mark_id(self, organization: str) -> str:
        named = self._named_for(organization)
        return _OWN if named is None else str(named)

    def _mark(self, organization: str) -> LedgerMark | None:
        found = self._store.get(Kind.LEDGER, organization, self._mark_id(organization))
        return found if isinstance(found, LedgerMark) else None

    def _note_mark(self, organization: str, commit: str) -> None:
        self._store.put(
            LedgerMark(
                organization=organization,
                id=self._mark_id(organization),
                commit_id=commit,
                verified_at=self._clock(),
            )
        )

    def _organizations(self) -> list[str]:
        return sorted({*self._store.organizations(), self._place.home})

    def _kept(self, organization: str) -> dict[str, Decision]:
        # Not `each`, which would miss what an import has put inside its transaction.
        every = self._store.find(Kind.DECISION, Filter(organization=organization))
        return {each.id: each for each in cast("list[Decision]", every)}

    def _heed(self, organizations: Iterable[str]) -> None:
        for organization in organizations:
            if not self._is_used(organization):
                continue
            try:
                self.follow(organization)
            except LedgerError as error:
                self._set_broken(organization, error)
            else:
                self._broken.pop(organization, None)

    def _set_broken(self, organization: str, error: LedgerError) -> None:
        known = self._broken.get(organization)
        self._broken[organization] = error
        if known is None or known.reason != error.reason:
            log.warning("the ledger of %s is read-only: %s", organization, error.reason)

    def _state(self, organization: str) -> LedgerState:
        mark, error = self._mark(organization), self._broken.get(organization)
        commit = None if mark is None else mark.commit_id
        path = self._path_named(organization)
        if error is None:
            return LedgerState(organization, path, commit)
        ids = error.ids if isinstance(error, LedgerBroken) else ()
        return LedgerState(organization, path, commit, error.reason, error.remedy, ids)

    def _act(self, what: str, caller: Caller, decisions: Sequence[Decision]) -> "Act":
        from minutebook.ledger.repository import Act

        now = self._clock()
        return Act(
            id=new_id(now, self._randbits),
            what=what,
            author=caller.name,
            authorship=authorship_of(caller),
            at=now,
            decisions=tuple(decisions),
        )


def _check_sound(found: Sequence[Violation]) -> None:
    """Refuse what a ledger may not say; LedgerBroken with the first reason and all ids."""
    if not found:
        return
    ids = tuple(dict.fromkeys(id for each in found for id in each.ids))
    first = f"{', '.join(found[0].ids)}: {found[0].reason} ({found[0].rule})"
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    raise LedgerBroken(
        f"the ledger's history does what none may do: {first}{more}",
        "see `git log` for who did it, undo it by `git revert`, then run `minutebook ledger rebuild`",
        ids,
    )


def _check_uncontradicted(pairs: Iterable[tuple[Decision, Decision]]) -> None:
    _check_sound(
        [
            Violation(Rule.FIXED, (kept.id,), f"its {name} is not what was recorded")
            for kept, written in pairs
            for name in contradicted(kept, written)
        ]
    )


def _without_conflicts(found: Sequence[Violation]) -> list[Violation]:
    """Leave out targets with several active decisions: a merge brings them, a person settles them."""
    return [each for each in found if each.rule is not Rule.ONE_ACTIVE]


def _plain(decision: Decision) -> Decision:
    """Return what the ledger's file holds of a decision."""
    return replace(decision, commit_id=None, origin=None)
