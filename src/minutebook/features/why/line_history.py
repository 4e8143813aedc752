"""The history of some lines of a file: the commits that changed them, through renames, moves and formatting; the last ones are kept."""

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile
from operator import eq

import pygit2
from pygit2.enums import DiffOption

from minutebook.features.citations.trees import MOST_SEARCHED, UNREADABLE, Blobs, file_id
from minutebook.features.why.telling import read_history

MOST, WAITING = 200, 16
"""Histories that are kept, and those that are read or wait for it at a time."""


STEPS = 100_000
"""Commits that are looked at, at most."""

_FORM = re.compile(r"[\s'\"`,;]+")

LIKE = 0.5
"""How alike a changed line is to the one before, by the ratio of difflib, at least."""

MOST_COMPARED = 20_000
"""Pairs of an old and a new line that are compared; of a larger rewrite all old lines count, as 0.1 ms a pair is long."""


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a file at a commit: from `first`, counted from 0, up to `end`, which is not among them.

    Where both are 0 it is the whole of a file without lines, which is empty or no text.
    """

    path: str
    first: int
    end: int


def history_of(blobs: Blobs, head: pygit2.Commit, lines: LineRange) -> Iterator[pygit2.Commit]:
    """Yield the commits that changed lines of a file as of a commit, newest first; the last one brought them.

    Commits that changed their formatting alone are left out. Of the parents of a merge it follows one that has the lines as they are,
    else the first. Raises one of UNREADABLE where the history is cut off: at a commit or a content that is not there.
    """
    files, commit = _Files(blobs), head
    for _ in range(STEPS):
        parents = commit.parents
        same = [
            each for each in parents if file_id(each, lines.path) == file_id(commit, lines.path)
        ]
        if same:
            commit = same[0]
            continue
        if not parents:
            if blobs.repository.is_shallow:
                raise LookupError(f"{commit.short_id} is the first commit of a shallow clone")
            yield commit
            return
        try:
            kept = [(each, _before(files, commit, each, lines)) for each in parents]
        except LookupError:
            # It changed their file, and perhaps them.
            yield commit
            raise
        said = files.said(commit, lines)
        # Of a merge, the side that has the lines as they are.
        kept.sort(key=lambda each: each[1] is None or files.said(each[0], each[1]) != said)
        parent, before = kept[0]
        if before is None:
            yield commit
            return
        if files.said(parent, before) != said:
            yield commit
        commit, lines = parent, before


class _Files:
    """Files at commits, line by line; those of the last steps are kept."""

    def __init__(self, blobs: Blobs) -> None:
        self.repository = blobs.repository
        self._read = lru_cache(maxsize=8)(blobs.lines)

    def found(self, commit: pygit2.Commit, path: str) -> list[str] | None:
        """Return the lines of a file, none if it is not there; None if it is no text that can be read."""
        id = file_id(commit, path)
        return [] if id is None else self._read(id)

    def lines(self, commit: pygit2.Commit, path: str) -> list[str]:
        """Return the lines of a file; none if it is not there. Raises LookupError if it is no text that can be read."""
        if (found := self.found(commit, path)) is None:
            raise LookupError(f"{path} is no text that can be read in {commit.short_id}")
        return found

    def said(self, commit: pygit2.Commit, lines: LineRange) -> str:
        """Return the text of lines without blanks, quotes, commas and semicolons, which formatters change."""
        if not lines.end:
            return str(file_id(commit, lines.path))
        return _FORM.sub("", "".join(self.lines(commit, lines.path)[lines.first : lines.end]))


def _before(
    files: _Files, commit: pygit2.Commit, parent: pygit2.Commit, lines: LineRange
) -> LineRange | None:
    """Return where lines were in a commit's parent; None if they are new."""
    if (found := _in_file(files, commit, parent, lines, lines.path)) is not None:
        return found
    diff = files.repository.diff(parent, commit)
    diff.find_similar()
    changed = [(each.old_file.path, each.new_file.path) for each in diff.deltas]
    old = next((was for was, now in changed if now == lines.path), lines.path)
    if old != lines.path and (found := _in_file(files, commit, parent, lines, old)) is not None:
        return found
    if not lines.end:
        return None
    block = files.lines(commit, lines.path)[lines.first : lines.end]
    others = (was for was, _ in changed[:MOST_SEARCHED])
    for path in dict.fromkeys((old, *others)):
        if (found := _block(block, path, files.found(parent, path) or [])) is not None:
            return found
    return None


def _in_file(
    files: _Files, commit: pygit2.Commit, parent: pygit2.Commit, lines: LineRange, old: str
) -> LineRange | None:
    """Return where lines were in a file of a commit's parent; None if they are new."""
    if file_id(parent, old) is None:
        return None
    there = replace(lines, path=old)
    if not lines.end:
        return there
    return _mapped(files.lines(parent, old), files.lines(commit, lines.path), there)


def _mapped(before: list[str], after: list[str], lines: LineRange) -> LineRange | None:
    """Return the lines from which others came, by the differences of a file; None if all of them are new."""
    found: list[int] = []
    for is_equal, old, new in _regions(before, after, lines):
        asked = range(max(new.start, lines.first), min(new.stop, lines.end))
        if is_equal:
            found += [at - new.start + old.start for at in asked]
        elif len(asked) * len(old) > MOST_COMPARED:
            found += [old.start, old.stop - 1]
        elif old:
            likest = (_likest(after[at], before, old) for at in asked)
            found += (at for at in likest if at is not None)
    return replace(lines, first=min(found), end=max(found) + 1) if found else None


def _regions(
    before: list[str], after: list[str], lines: LineRange
) -> Iterator[tuple[bool, range, range]]:
    """Yield the regions of a file that are equal but for blanks, and those that are not: old lines, new lines.

    Those between the first difference and the last are left out where the lines asked about are not among them.
    """
    start = _count_equal(before, after)
    end = _count_equal(reversed(before[start:]), reversed(after[start:]))
    old_end, new_end = len(before) - end, len(after) - end
    yield True, range(start), range(start)
    if lines.first < new_end and lines.end > start:
        for is_equal, old, new in _differences(before[start:old_end], after[start:new_end]):
            yield is_equal, _shifted(old, start), _shifted(new, start)
    yield True, range(old_end, len(before)), range(new_end, len(after))


def _count_equal(one: Iterable[str], other: Iterable[str]) -> int:
    """Count the lines before the first that differs."""
    return sum(takewhile(bool, map(eq, one, other)))


def _shifted(lines: range, by: int) -> range:
    return range(lines.start + by, lines.stop + by)


def _differences(before: list[str], after: list[str]) -> Iterator[tuple[bool, range, range]]:
    """Yield the regions of two texts as `git diff` tells them, blanks aside."""
    one, other = ("\n".join([*text, ""]).encode("utf-8", "replace") for text in (before, after))
    flag = DiffOption.IGNORE_WHITESPACE
    patch = pygit2.Patch.create_from(one, other, flag=flag, context_lines=0)
    old = new = 0
    for hunk in patch.hunks:
        # Where a side has no lines, its number is that of the line before.
        old_start = hunk.old_start - (1 if hunk.old_lines else 0)
        new_start = hunk.new_start - (1 if hunk.new_lines else 0)
        yield True, range(old, old_start), range(new, new_start)
        old, new = old_start + hunk.old_lines, new_start + hunk.new_lines
        yield False, range(old_start, old), range(new_start, new)
    yield True, range(old, len(before)), range(new, len(after))


def _likest(line: str, before: list[str], old: range) -> int | None:
    """Return the old line that is most like a new one, None if none has half of it."""
    matcher = SequenceMatcher(None, b=line.strip(), autojunk=False)
    best, most = None, LIKE
    for at in old:
        matcher.set_seq1(before[at].strip())
        if matcher.real_quick_ratio() >= most and matcher.ratio() >= most:
            best, most = at, matcher.ratio()
    return best


def _block(block: list[str], path: str, text: list[str]) -> LineRange | None:
    """Return where a block of lines stands in a text, blanks aside; a single short line is none."""
    wanted = ["".join(line.split()) for line in block]
    if len("".join(wanted)) < 20 or not text:
        return None
    found = ["".join(line.split()) for line in text]
    starts = (at for at, line in enumerate(found) if line == wanted[0])
    at = next((at for at in starts if found[at : at + len(wanted)] == wanted), None)
    return None if at is None else LineRange(path, at, at + len(wanted))


class HistoryCache:
    """Reads each history once, in a thread of its own, one after the other: a question waits for it, and the next one finds it."""

    def __init__(self, commits: int) -> None:
        """Stop each history at so many commits that say why."""
        self._commits = commits
        self._guard, self._turn = threading.Lock(), threading.Lock()
        self._read: dict[tuple[str, str, LineRange], Future[Sequence[str]]] = {}

    def commits_of(
        self, repository: pygit2.Repository, lines: LineRange, wait: float
    ) -> Sequence[str]:
        """Return the ids of the last commits that changed lines.

        Raises TimeoutError if reading them takes longer than some seconds, or too many wait for it already, one of UNREADABLE if the
        repository is broken.
        """
        head = repository.head.peel(pygit2.Commit)
        key = (repository.path, str(head.id), lines)
        with self._guard:
            future = self._read.get(key)
            if future is None:
                if sum(not each.done() for each in self._read.values()) >= WAITING:
                    raise TimeoutError
                if len(self._read) >= MOST:
                    del self._read[next(iter(self._read))]
                future = self._read[key] = Future()
                threading.Thread(
                    target=self._run, args=(future, *key), name="line history", daemon=True
                ).start()
        return future.result(max(0.0, wait))

    def _run(self, future: Future[Sequence[str]], path: str, head: str, lines: LineRange) -> None:
        with self._turn:
            try:
                repository = pygit2.Repository(path)
                commit = repository[head].peel(pygit2.Commit)
                history = history_of(Blobs(repository), commit, lines)
                commits, _ = read_history(history, self._commits)
                future.set_result([str(each.id) for each in commits])
            except UNREADABLE as error:
                future.set_exception(error)
