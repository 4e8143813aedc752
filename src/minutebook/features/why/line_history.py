"""The history of lines of a file: the commits that changed them, through renames, moves and formatting; with a cache."""

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
"""The most histories that are kept, and the most that are being read or wait to be read."""


STEPS = 100_000
"""The most commits that are looked at."""

_FORM = re.compile(r"[\s'\"`,;]+")

LEAST_RATIO = 0.5
"""The least similarity of a changed line to the line before, by the ratio of difflib."""

MOST_COMPARED = 20_000
"""The most pairs of an old and a new line that are compared, at 0.1 ms each; of a larger rewrite all old lines count."""


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a file at a commit, from `first`, counted from 0, to `end`, excluded.

    If both are 0, it is a whole file without lines: one that is empty or no text.
    """

    path: str
    first: int
    end: int


def history_of(blobs: Blobs, head: pygit2.Commit, lines: LineRange) -> Iterator[pygit2.Commit]:
    """Yield the commits that changed lines of a file as of the commit `head`, newest first; the last one added them.

    It leaves out commits that changed only their formatting. At a merge it follows a parent that has the same lines,
    else the first. Raises one of UNREADABLE if a commit or a content in the history is missing.
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
            earlier = [(each, _lines_in_parent(files, commit, each, lines)) for each in parents]
        except LookupError:
            # It changed the file, and perhaps the lines.
            yield commit
            raise
        content = files.content(commit, lines)
        # Parents with the same lines first.
        earlier.sort(key=lambda each: each[1] is None or files.content(each[0], each[1]) != content)
        parent, before = earlier[0]
        if before is None:
            yield commit
            return
        if files.content(parent, before) != content:
            yield commit
        commit, lines = parent, before


class _Files:
    """Files at commits, line by line; the last eight are kept in memory."""

    def __init__(self, blobs: Blobs) -> None:
        self.repository = blobs.repository
        self._read = lru_cache(maxsize=8)(blobs.lines)

    def lines_if_text(self, commit: pygit2.Commit, path: str) -> list[str] | None:
        """Return the lines of a file, none if it is not there; None if it is no text that can be read."""
        id = file_id(commit, path)
        return [] if id is None else self._read(id)

    def lines(self, commit: pygit2.Commit, path: str) -> list[str]:
        """Return the lines of a file; none if it is not there. Raises LookupError if it is no text that can be read."""
        found = self.lines_if_text(commit, path)
        if found is None:
            raise LookupError(f"{path} is no text that can be read in {commit.short_id}")
        return found

    def content(self, commit: pygit2.Commit, lines: LineRange) -> str:
        """Return the text of lines without blanks, quotes, commas and semicolons, which formatters change."""
        if not lines.end:
            return str(file_id(commit, lines.path))
        return _FORM.sub("", "".join(self.lines(commit, lines.path)[lines.first : lines.end]))


def _lines_in_parent(
    files: _Files, commit: pygit2.Commit, parent: pygit2.Commit, lines: LineRange
) -> LineRange | None:
    """Return where lines were in a commit's parent, in their file or, if they were moved, another; None if they are new."""
    found = _lines_in_file(files, commit, parent, lines, lines.path)
    if found is not None:
        return found
    diff = files.repository.diff(parent, commit)
    diff.find_similar()
    changed = [(each.old_file.path, each.new_file.path) for each in diff.deltas]
    old_path = next((old for old, new in changed if new == lines.path), lines.path)
    if old_path != lines.path:
        found = _lines_in_file(files, commit, parent, lines, old_path)
        if found is not None:
            return found
    if not lines.end:
        return None
    block = files.lines(commit, lines.path)[lines.first : lines.end]
    others = (old for old, _ in changed[:MOST_SEARCHED])
    for path in dict.fromkeys((old_path, *others)):
        found = _find_block(block, path, files.lines_if_text(parent, path) or [])
        if found is not None:
            return found
    return None


def _lines_in_file(
    files: _Files, commit: pygit2.Commit, parent: pygit2.Commit, lines: LineRange, old_path: str
) -> LineRange | None:
    """Return where lines were in the file `old_path` of a commit's parent; None if they are new."""
    if file_id(parent, old_path) is None:
        return None
    before = replace(lines, path=old_path)
    if not lines.end:
        return before
    return _mapped(files.lines(parent, old_path), files.lines(commit, lines.path), before)


def _mapped(before: list[str], after: list[str], lines: LineRange) -> LineRange | None:
    """Return the lines of `before` from which those of `after` came; None if all of them are new."""
    found: list[int] = []
    for is_equal, old, new in _regions(before, after, lines):
        wanted = range(max(new.start, lines.first), min(new.stop, lines.end))
        if is_equal:
            found += [number - new.start + old.start for number in wanted]
        elif len(wanted) * len(old) > MOST_COMPARED:
            found += [old.start, old.stop - 1]
        elif old:
            similar = (_most_similar(after[number], before, old) for number in wanted)
            found += (number for number in similar if number is not None)
    return replace(lines, first=min(found), end=max(found) + 1) if found else None


def _regions(
    before: list[str], after: list[str], lines: LineRange
) -> Iterator[tuple[bool, range, range]]:
    """Yield the regions of two versions of a file: whether they are equal without blanks, the old lines, the new lines.

    It leaves out those from the first difference to the last if they have none of the wanted `lines`.
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
    """Return the number of equal lines before the first that differs."""
    return sum(takewhile(bool, map(eq, one, other)))


def _shifted(lines: range, by: int) -> range:
    return range(lines.start + by, lines.stop + by)


def _differences(before: list[str], after: list[str]) -> Iterator[tuple[bool, range, range]]:
    """Yield the regions of two texts, as `_regions` does, by Git's diff without blanks."""
    one, other = ("\n".join([*text, ""]).encode("utf-8", "replace") for text in (before, after))
    flag = DiffOption.IGNORE_WHITESPACE
    patch = pygit2.Patch.create_from(one, other, flag=flag, context_lines=0)
    old = new = 0
    for hunk in patch.hunks:
        # If a side has no lines, its number is that of the line before.
        old_start = hunk.old_start - (1 if hunk.old_lines else 0)
        new_start = hunk.new_start - (1 if hunk.new_lines else 0)
        yield True, range(old, old_start), range(new, new_start)
        old, new = old_start + hunk.old_lines, new_start + hunk.new_lines
        yield False, range(old_start, old), range(new_start, new)
    yield True, range(old, len(before)), range(new, len(after))


def _most_similar(line: str, before: list[str], old: range) -> int | None:
    """Return the number of the old line that is most similar to a new one, None if none reaches LEAST_RATIO."""
    matcher = SequenceMatcher(None, b=line.strip(), autojunk=False)
    best, highest = None, LEAST_RATIO
    for number in old:
        matcher.set_seq1(before[number].strip())
        if matcher.real_quick_ratio() >= highest and matcher.ratio() >= highest:
            best, highest = number, matcher.ratio()
    return best


def _find_block(block: list[str], path: str, text: list[str]) -> LineRange | None:
    """Return where a text has a block of lines, without blanks; None if it has not, or the block is too short to tell."""
    wanted = ["".join(line.split()) for line in block]
    if len("".join(wanted)) < 20 or not text:
        return None
    found = ["".join(line.split()) for line in text]
    for start in range(len(found) - len(wanted) + 1):
        if found[start : start + len(wanted)] == wanted:
            return LineRange(path, start, start + len(wanted))
    return None


class HistoryCache:
    """Reads each history once, in threads, one after the other; each stops at `limit` commits with a reason.

    A question that does not wait long enough leaves the history to the next one.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._guard, self._turn = threading.Lock(), threading.Lock()
        self._read: dict[tuple[str, str, LineRange], Future[Sequence[str]]] = {}

    def commits_of(
        self, repository: pygit2.Repository, lines: LineRange, wait: float
    ) -> Sequence[str]:
        """Return the ids of the last commits that changed lines.

        Raises TimeoutError if reading them takes longer than `wait` seconds, or too many histories wait already, one of
        UNREADABLE if the repository is damaged.
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
        """Read a history and set it, or the error, as the result of the future; one at a time."""
        with self._turn:
            try:
                repository = pygit2.Repository(path)
                commit = repository[head].peel(pygit2.Commit)
                history = history_of(Blobs(repository), commit, lines)
                commits, _ = read_history(history, self._limit)
                future.set_result([str(each.id) for each in commits])
            except UNREADABLE as error:
                future.set_exception(error)
