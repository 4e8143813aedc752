"""The commits of branches in Git, and records of them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pygit2
from pygit2.enums import RepositoryOpenFlag, SortMode

from minutebook.features.citations.trees import UNREADABLE
from minutebook.features.code.chunking.languages import language_of
from minutebook.features.why.session_requests import WrittenCode, instant_of
from minutebook.record.records import Project, ProjectCommit

MOST_FILES, MOST_PATH, MOST_MESSAGE = 40, 200, 4_000
"""The most files in the record of a commit, and the most characters of a path and of the message."""

MOST_CHANGES, MOST_LINES, LOOKED_INTO = 1_500, 60, 6
"""The most characters of changed lines in the record of a commit, the most lines of a file, and the most files of code."""

_NOT_CODE = re.compile(
    r"(^|/)(tests?|testing|docs|examples?|bench\w*|dist|deno_dist)/|test|spec\.|(^|/)(setup|conf)\.py$|\.(md|rst|txt|json|lock)$",
    re.IGNORECASE,
)


def repository_of(root: Path) -> pygit2.Repository | None:
    """Open the repository at a folder, a work tree or bare; None if there is none that Git can read."""
    try:
        return pygit2.Repository(str(root), RepositoryOpenFlag.NO_SEARCH)
    except UNREADABLE:
        return None


def tips_of(repository: pygit2.Repository) -> list[pygit2.Oid]:
    """Return the last commits of the local branches and of the work tree, sorted, each once."""
    found = set() if repository.head_is_unborn else {repository.head.peel(pygit2.Commit).id}
    for name in repository.branches.local:
        found.add(repository.branches[name].peel(pygit2.Commit).id)
    return sorted(found, key=str)


def reachable(
    repository: pygit2.Repository,
    tips: Iterable[pygit2.Oid],
    most: int | None,
    order: SortMode = SortMode.TIME,
) -> Iterator[pygit2.Commit]:
    """Yield the tips and their ancestors, without merges, at most so many (None: all), by default the newest first."""
    walk = repository.walk(None, order)
    for each in tips:
        walk.push(each)
    return islice((each for each in walk if len(each.parent_ids) < 2), most)


def record_of(commit: pygit2.Commit, project: Project, repository: str | None) -> ProjectCommit:
    """Return a commit as the record of a project. Raises one of UNREADABLE."""
    diff = diff_of(commit)
    deltas = list(islice(diff.deltas, MOST_FILES))
    added, removed = _added_and_removed(diff, deltas)
    return ProjectCommit(
        organization=project.organization,
        id=id_of(project, commit.id),
        project=project.id,
        sha=str(commit.id),
        at=instant_of(commit),
        author=_clean(_decoded(commit.author.raw_name)),
        message=_decoded(commit.raw_message).strip().replace("\0", "")[:MOST_MESSAGE],
        files=tuple(_clean(_decoded(each.new_file.raw_path))[:MOST_PATH] for each in deltas),
        changes=" ".join({**added, **removed})[:MOST_CHANGES].replace("\0", ""),
        repository=project.repository or repository,
        user=project.user,
    )


def id_of(project: Project, sha: object) -> str:
    """Return the id of the record of a commit: `click@3fa9c1d0a1b2`."""
    return f"{project.id}@{str(sha)[:12]}"


def diff_of(commit: pygit2.Commit) -> pygit2.Diff:
    """Return the diff of a commit to its first parent, without lines of context."""
    if commit.parent_ids:
        return commit.tree.diff_to_tree(commit.parents[0].tree, swap=True, context_lines=0)
    return commit.tree.diff_to_tree(swap=True, context_lines=0)


def _added_and_removed(
    diff: pygit2.Diff, deltas: Sequence[pygit2.DiffDelta]
) -> tuple[dict[str, None], dict[str, None]]:
    """Return the lines of code that a commit added, and those that it removed, as keys in order, without those of tests."""
    removed = dict[str, None]()
    added = dict[str, None]()
    paths = (_decoded(each.new_file.raw_path) for each in deltas)
    code = [number for number, path in enumerate(paths) if _is_code(path)]
    for number in code[:LOOKED_INTO]:
        patch = diff[number]
        lines = (line for hunk in (patch.hunks if patch else ()) for line in hunk.lines)
        for line in islice(lines, MOST_LINES):
            text = line.content.strip()
            if len(text) > 3 and line.origin in "+-":
                (added if line.origin == "+" else removed).setdefault(text)
    return added, removed


def written_code(
    repository: pygit2.Repository, commit: pygit2.Commit, names: Sequence[str]
) -> WrittenCode:
    """Return the code that a commit wrote, with the names by which turns may cite it. Raises one of UNREADABLE."""
    is_own, added = _is_own(repository, commit), dict[str, None]()
    if is_own:
        diff = diff_of(commit)
        added, _ = _added_and_removed(diff, list(islice(diff.deltas, MOST_FILES)))
    return WrittenCode(str(commit.id), instant_of(commit), tuple(names), tuple(added), is_own)


def _is_own(repository: pygit2.Repository, commit: pygit2.Commit) -> bool:
    """Tell whether the author of a commit is the `user.email` of the repository's configuration here."""
    config = repository.config
    email = str(config["user.email"]).strip() if "user.email" in config else ""
    # The raw bytes: a commit may name an encoding that does not exist.
    return bool(email) and email.casefold() == _decoded(commit.author.raw_email).strip().casefold()


def _is_code(path: str) -> bool:
    return language_of(path, "") is not None and not _NOT_CODE.search(path)


def _decoded(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "replace")


def _clean(text: str) -> str:
    """Return a name with a replacement character for each that cannot be printed."""
    return "".join(each if each.isprintable() else "\ufffd" for each in text)
