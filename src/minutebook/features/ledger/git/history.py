"""A ledger read back: all of it, or the commits since one, checked act by act on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pygit2

from minutebook.features.ledger.git.errors import translate_errors
from minutebook.features.ledger.git.objects import Commit, Objects, common_folder
from minutebook.features.ledger.git.proofs import is_proved, signers
from minutebook.features.ledger.git.repository import Repository
from minutebook.features.ledger.git.trees import Layout, decisions_in, differences, with_commit_id
from minutebook.features.ledger.lineage import Rule, Violation, violations_between
from minutebook.record.errors import LedgerBroken, LedgerDamaged, LedgerError
from minutebook.record.reason import Reason
from minutebook.record.records import Decision


@dataclass(frozen=True, slots=True)
class DecisionCommit:
    """A commit that added or changed a decision: its id, its author's name and address.

    `is_ours` tells whether the reading store made it, as its proof shows; `signer` is empty unless the
    person's Git trusts the key that signed it.
    """

    id: str
    author: str
    is_ours: bool = False
    is_signed: bool = False
    signer: str = ""


@dataclass(frozen=True, slots=True)
class BranchChanges:
    """The changes between two commits of a branch, the last of which is `head`.

    `decisions` are those that were added or changed, as they are at `head`; `removed` are the ids of those that
    are gone. `violations` are the rules that a commit broke, `commits` counts the commits. By the id of a
    decision, `added_by` has the commit that added it, `changed_by` the one that changed it last.
    """

    head: str | None
    decisions: tuple[Decision, ...]
    removed: tuple[str, ...]
    violations: tuple[Violation, ...]
    commits: int
    added_by: Mapping[str, DecisionCommit] = field(default_factory=dict)
    changed_by: Mapping[str, DecisionCommit] = field(default_factory=dict)


def read_all(repository: Repository, commit: str) -> list[Decision | Violation]:
    """Return each decision as of a commit, or the violation that keeps it from being read.

    They have no commit ids, and their history is not checked: `changes_since` does both.
    """
    with translate_errors(repository.path):
        objects = repository.objects()
        tree = objects.commit(pygit2.Oid(hex=commit)).tree
        return [found for _, found in decisions_in(repository.layout, objects, tree)]


def damage_in(repository: Repository) -> list[LedgerDamaged]:
    """Find every object of the ledger, back to its first commit, that is missing or damaged."""
    with translate_errors(repository.path):
        opened = repository.open()
        tip = repository.tip(opened)
        if tip is None:
            return []
        return list(repository.objects(opened).damage(tip, repository.layout.folder))


def whole_id(repository: Repository, start: str) -> str | None:
    """Return the whole id of the commit with an id that begins with `start`; None if there is none, or several."""
    try:
        return str(repository.open().revparse_single(start).id)
    except (KeyError, ValueError, pygit2.GitError):
        return None


def changes_since(
    repository: Repository,
    since: str | None,
    until: str | None = None,
    key: bytes | None = None,
) -> BranchChanges:
    """Return the changes after the commit `since` (None: from the first), up to `until` (None: the head).

    `key` is the one with which the reading store proves its own commits. Each commit is compared with
    each of its parents, so the cost grows with their number. Raises LedgerBroken if `since` is no longer
    part of the branch, LedgerError if the clone is shallow or cannot be read.
    """
    head = until or repository.head()
    if head is None:
        if since is not None:
            raise _rewritten(repository, since)
        return BranchChanges(None, (), (), (), 0)
    if head == since:
        return BranchChanges(head, (), (), (), 0)
    with translate_errors(repository.path):
        opened = repository.open()
        last = pygit2.Oid(hex=head)
        first = None if since is None else pygit2.Oid(hex=since)
        if first is None and opened.is_shallow:
            reason = "{path} has only the latest part of its history"
            raise LedgerError(reason, "run `git fetch --unshallow` there", path=repository.path)
        if first is not None and first not in opened:
            raise _rewritten(repository, str(first))
        return _between(repository, repository.objects(opened), first, last, key)


_Changes = dict[str, tuple[Decision | None, Decision]]
"""The decisions that differ between a commit and a parent, before (None if it is new) and after, by id."""


def _changes_by_parent(
    layout: Layout, objects: Objects, commit: Commit, violations: set[Violation]
) -> list[_Changes]:
    """Return a commit's changes against each of its parents; add the rules that it broke to `violations`."""
    parents = [objects.commit(parent).tree for parent in commit.parents]
    trees: list[pygit2.Oid | None] = [*parents] or [None]
    by_parent = []
    for tree in trees:
        changes: _Changes = {}
        for _, before, after in differences(layout, objects, tree, commit.tree):
            violations.update(_violations_of(before, after))
            if isinstance(after, Decision):
                changes[after.id] = (before if isinstance(before, Decision) else None, after)
        by_parent.append(changes)
    return by_parent


def _between(
    repository: Repository,
    objects: Objects,
    first: pygit2.Oid | None,
    last: pygit2.Oid,
    key: bytes | None,
) -> BranchChanges:
    """Return the changes after the commit `first` (None: all), up to `last`. Raises as `changes_since`."""
    layout = repository.layout
    violations: set[Violation] = set()
    added_by: dict[str, DecisionCommit] = {}
    changed_by: dict[str, DecisionCommit] = {}
    commits, reaches_first = objects.history(first, last)
    if not reaches_first:
        raise _rewritten(repository, str(first))
    for commit in commits:
        by_parent = _changes_by_parent(layout, objects, commit, violations)
        # A decision that a merge has from one of its parents was changed by an earlier commit.
        changed = set.intersection(*(set(changes) for changes in by_parent))
        written = [by_parent[0][id][1] for id in changed]
        is_ours = key is not None and is_proved(key, layout.organization, commit.trailers, written)
        by = DecisionCommit(str(commit.id), commit.author, is_ours, commit.is_signed)
        for id in changed:
            changed_by[id] = by
            if all(changes[id][0] is None for changes in by_parent):
                added_by.setdefault(id, by)
    earlier = None if first is None else objects.commit(first).tree
    decisions, removed = [], []
    for _, before, after in differences(layout, objects, earlier, objects.commit(last).tree):
        if isinstance(after, Decision):
            writer = changed_by.get(after.id)
            decisions.append(with_commit_id(after, str(last) if writer is None else writer.id))
        elif isinstance(before, Decision):
            removed.append(before.id)
    unproved = {
        each.id
        for each in (*added_by.values(), *changed_by.values())
        if each.is_signed and not each.is_ours
    }
    signer = signers(common_folder(repository.open()) / "objects", unproved)
    return BranchChanges(
        str(last),
        tuple(decisions),
        tuple(removed),
        tuple(sorted(violations, key=lambda each: (each.rule.name, each.ids, each.reason))),
        len(commits),
        _with_signers(added_by, signer),
        _with_signers(changed_by, signer),
    )


def _with_signers(
    by_decision: Mapping[str, DecisionCommit], signer: Mapping[str, str]
) -> dict[str, DecisionCommit]:
    """Return the commits with their signers; `signer` has a signer's name by the id of a commit."""
    return {id: replace(each, signer=signer.get(each.id, "")) for id, each in by_decision.items()}


def _violations_of(
    before: Decision | Violation | None, after: Decision | Violation | None
) -> list[Violation]:
    """Return the rules that a commit broke at one path; None where the path has no file."""
    if isinstance(after, Violation):
        return [after]
    if isinstance(before, Violation):
        # The violation was reported with its commit; mending the file is allowed.
        return []
    if before is not None and after is not None and before.id != after.id:
        return [Violation(Rule.KEPT, (before.id,), "{id} took the place of it", id=after.id)]
    return violations_between(before, after)


def _rewritten(repository: Repository, since: str) -> LedgerBroken:
    return LedgerBroken(
        Reason(
            "{path}: the history was rewritten, commit {since} is no part of it",
            path=repository.path,
            since=since[:12],
        ),
        Reason("bring that commit back, or look the history through and rebuild from it"),
        (since,),
    )
