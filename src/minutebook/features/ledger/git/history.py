"""A ledger read back: all of it, or the commits since one, checked act by act on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pygit2

from minutebook.features.ledger.git.errors import translate_errors
from minutebook.features.ledger.git.objects import Commit, Objects, common_folder
from minutebook.features.ledger.git.proofs import is_proved, signers
from minutebook.features.ledger.git.repository import Repository
from minutebook.features.ledger.git.trees import Layout, decisions_in, differences, stamped
from minutebook.features.ledger.lineage import Rule, Violation, violations_between
from minutebook.record.errors import LedgerBroken, LedgerDamaged, LedgerError
from minutebook.record.reason import Reason
from minutebook.record.records import Decision


@dataclass(frozen=True, slots=True)
class Commission:
    """The commit by which a decision came or changed: its id, its author's name and address.

    `is_ours` tells whether the store that reads proves it, `signer` is who signed it, if the person trusts that.
    """

    id: str
    author: str
    is_ours: bool = False
    is_signed: bool = False
    signer: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """The news of a branch: decisions as they are now, and the rules that its commits broke.

    `commits` counts those looked at, `removed` names the decisions that are no longer there. `came` and
    `changed` have the commits that brought a decision, and that changed it last, by its id.
    """

    head: str | None
    decisions: tuple[Decision, ...]
    removed: tuple[str, ...]
    violations: tuple[Violation, ...]
    commits: int
    came: Mapping[str, Commission] = field(default_factory=dict)
    changed: Mapping[str, Commission] = field(default_factory=dict)


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


def whole_id(repository: Repository, start: str) -> str | None:
    """Return the id of the commit that begins so; None if there is none, or several."""
    try:
        return str(repository.open().revparse_single(start).id)
    except (KeyError, ValueError, pygit2.GitError):
        return None


def news(
    repository: Repository,
    since: str | None,
    until: str | None = None,
    key: bytes | None = None,
) -> News:
    """Return the news after a commit (None: from the beginning), up to another (None: the head).

    `key` is that by which the store that reads proves its own commits. Each commit in between is compared with each of its parents, so the cost grows with their
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
            reason = "{path} has only the latest part of its history"
            raise LedgerError(reason, "run `git fetch --unshallow` there", path=repository.path)
        if first is not None and first not in opened:
            raise _rewritten(repository, str(first))
        return _between(repository, repository.objects(opened), first, last, key)


def _made(
    layout: Layout, objects: Objects, commit: Commit, wrong: set[Violation]
) -> list[dict[str, tuple[Decision | None, Decision]]]:
    """Return for each parent of a commit the decisions that differ, before and after; add the violations to `wrong`.

    What a merge has from one of its parents was brought by the commit before.
    """
    parents = [objects.commit(parent).tree for parent in commit.parents]
    trees: list[pygit2.Oid | None] = [*parents] or [None]
    made: list[dict[str, tuple[Decision | None, Decision]]] = []
    for tree in trees:
        made.append({})
        for _, before, after in differences(layout, objects, tree, commit.tree):
            wrong.update(_wrong(before, after))
            if isinstance(after, Decision):
                made[-1][after.id] = (before if isinstance(before, Decision) else None, after)
    return made


def _between(
    repository: Repository,
    objects: Objects,
    first: pygit2.Oid | None,
    last: pygit2.Oid,
    key: bytes | None,
) -> News:
    layout = repository.layout
    found: set[Violation] = set()
    came: dict[str, Commission] = {}
    changed: dict[str, Commission] = {}
    commits, is_continued = objects.history(first, last)
    if not is_continued:
        raise _rewritten(repository, str(first))
    for commit in commits:
        made = _made(layout, objects, commit, found)
        own = set.intersection(*(set(each) for each in made))
        by = _commission(commit, layout.organization, [made[0][id][1] for id in own], key)
        for id in own:
            changed[id] = by
            if all(each[id][0] is None for each in made):
                came.setdefault(id, by)
    earlier = None if first is None else objects.commit(first).tree
    decisions, removed = [], []
    for _, before, after in differences(layout, objects, earlier, objects.commit(last).tree):
        if isinstance(after, Decision):
            writer = changed.get(after.id)
            decisions.append(stamped(after, str(last) if writer is None else writer.id))
        elif isinstance(before, Decision):
            removed.append(before.id)
    order = sorted(found, key=lambda each: (each.rule.name, each.ids, each.reason))
    came, changed = _signed(repository, [came, changed])
    return News(
        str(last), tuple(decisions), tuple(removed), tuple(order), len(commits), came, changed
    )


def _commission(
    commit: Commit, organization: str, written: Sequence[Decision], key: bytes | None
) -> Commission:
    is_ours = key is not None and is_proved(key, organization, commit.trailers, written)
    return Commission(str(commit.id), commit.author, is_ours, commit.is_signed)


def _signed(
    repository: Repository, brought: Sequence[dict[str, Commission]]
) -> list[dict[str, Commission]]:
    """Note the signers of the commits that the store does not prove."""
    asked = {
        each.id
        for by_id in brought
        for each in by_id.values()
        if each.is_signed and not each.is_ours
    }
    who = signers(common_folder(repository.open()) / "objects", asked)
    return [
        {id: replace(each, signer=who.get(each.id, "")) for id, each in by_id.items()}
        for by_id in brought
    ]


def _wrong(
    before: Decision | Violation | None, after: Decision | Violation | None
) -> list[Violation]:
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
