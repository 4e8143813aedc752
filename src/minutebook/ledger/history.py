"""A ledger read back: all of it, or what came since a commit, checked act by act on the way."""

from dataclasses import dataclass

import pygit2

from minutebook.domain.errors import LedgerBroken, LedgerDamaged, LedgerError
from minutebook.domain.lineage import Rule, Violation, violations_between
from minutebook.domain.records import Decision
from minutebook.ledger.errors import translate_errors
from minutebook.ledger.objects import Objects
from minutebook.ledger.repository import Repository
from minutebook.ledger.trees import decisions_in, differences, stamped


@dataclass(frozen=True, slots=True)
class News:
    """What a branch brought: decisions as they are now, and what its commits may not have done.

    `commits` counts those looked at, `removed` names the decisions that are no longer there.
    """

    head: str | None
    decisions: tuple[Decision, ...]
    removed: tuple[str, ...]
    violations: tuple[Violation, ...]
    commits: int


def read_all(repository: Repository, commit: str) -> list[Decision | Violation]:
    """Read every decision as of a commit, or why it cannot be read; without their commits.

    Looks at no history: use `news` for what is to be trusted.
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


def news(repository: Repository, since: str | None, until: str | None = None) -> News:
    """Return what came after a commit (None: from the beginning), up to another (None: the head).

    Each commit in between is compared with each of its parents, so the cost grows with their
    number. Raises LedgerBroken if the earlier commit is no longer part of the branch, LedgerError
    if the clone is shallow or cannot be read.
    """
    head = until or repository.head()
    if head is None:
        if since is not None:
            raise _rewritten(repository, since)
        return News(None, (), (), (), 0)
    if head == since:
        return News(head, (), (), (), 0)
    with translate_errors(repository.path):
        opened = repository.open()
        last = pygit2.Oid(hex=head)
        first = None if since is None else pygit2.Oid(hex=since)
        if first is None and opened.is_shallow:
            raise LedgerError(
                f"{repository.path} has only the latest part of its history",
                "run `git fetch --unshallow` there",
            )
        if first is not None and first not in opened:
            raise _rewritten(repository, str(first))
        return _between(repository, repository.objects(opened), first, last)


def _between(
    repository: Repository, objects: Objects, first: pygit2.Oid | None, last: pygit2.Oid
) -> News:
    layout = repository.layout
    found: set[Violation] = set()
    writers: dict[str, str] = {}
    commits, is_continued = objects.history(first, last)
    if not is_continued:
        raise _rewritten(repository, str(first))
    for commit in commits:
        parents = [objects.commit(parent).tree for parent in commit.parents]
        trees: list[pygit2.Oid | None] = [*parents] or [None]
        for tree in trees:
            for path, before, after in differences(layout, objects, tree, commit.tree):
                if len(trees) == 1:
                    writers[path] = str(commit.id)
                found.update(_wrong(before, after))
    earlier = None if first is None else objects.commit(first).tree
    decisions, removed = [], []
    for path, before, after in differences(layout, objects, earlier, objects.commit(last).tree):
        if isinstance(after, Decision):
            decisions.append(stamped(after, writers.get(path, str(last))))
        elif isinstance(before, Decision):
            removed.append(before.id)
    order = sorted(found, key=lambda each: (each.rule.name, each.ids, each.reason))
    return News(str(last), tuple(decisions), tuple(removed), tuple(order), len(commits))


def _wrong(
    before: Decision | Violation | None, after: Decision | Violation | None
) -> list[Violation]:
    if isinstance(after, Violation):
        return [after]
    if isinstance(before, Violation):
        # The violation was reported with its commit; mending the file is allowed.
        return []
    if before is not None and after is not None and before.id != after.id:
        return [Violation(Rule.KEPT, (before.id,), f"{after.id} took the place of it")]
    return violations_between(before, after)


def _rewritten(repository: Repository, since: str) -> LedgerBroken:
    return LedgerBroken(
        f"{repository.path}: the history was rewritten, commit {since[:12]} is no part of it",
        "bring that commit back, or look the history through and rebuild from it",
        (since,),
    )
