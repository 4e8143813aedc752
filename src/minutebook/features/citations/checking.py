"""Check the citations of records against a project's files as they are."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property, partial
from pathlib import Path

import pygit2
from pygit2.enums import SortMode

from minutebook.features.citations.cited import Cited, Judged
from minutebook.features.citations.judging import cited_in, judge
from minutebook.features.citations.operations import CitingText
from minutebook.features.citations.references import as_given, references_in
from minutebook.features.citations.trees import (
    Blobs,
    CommitTree,
    SearchedTree,
    commit_named,
    compared_commits,
    compared_with_folder,
    file_id,
    open_repository,
)


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A record, and those of its citations that do not hold."""

    text: CitingText
    doubts: Sequence[Judged]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The number of records that cite changed files, and the doubtful ones, in the order of the texts."""

    citing: int
    doubtful: Sequence[Doubtful]


class CodeCheck:
    """Compares citations with the work tree of a Git repository: since it branched off a base, else since they were written.

    Raises InvalidInput if the folder is in no repository with commits and files, Git cannot read it, or the base is no commit.
    """

    def __init__(self, folder: Path, base: str | None) -> None:
        self.repository = open_repository(folder)
        self._head = self.repository.head.peel(pygit2.Commit)
        self._base = None if base is None else self._branched_from(base)
        self._blobs = Blobs(self.repository)
        self.root = Path(self.repository.workdir)
        """The work tree."""
        self._before = cache(lambda base: SearchedTree(CommitTree(self._blobs, base)))
        self._compared = cache(
            lambda base: compared_with_folder(self._blobs, base, self._before(base))
        )
        self._between = cache(partial(compared_commits, self._blobs))

    def check(self, texts: Iterable[CitingText]) -> CheckReport:
        """Judge the citations of files that changed."""
        citing, doubtful = 0, []
        for text in texts:
            base = self._base or self.at(text.at)
            comparison = self._compared(base)
            changed = frozenset(comparison.now)
            cited = list(cited_in(references_in(text.text), comparison.before, changed))
            citing += bool(cited)
            doubts = [each for each in self.judged(cited, base) if not each.holds]
            if doubts:
                doubtful.append(Doubtful(text, doubts))
        return CheckReport(citing, doubtful)

    def cited_by(self, text: CitingText, base: pygit2.Commit) -> list[Cited]:
        """Return the citations of a text in the tree of a commit."""
        return list(cited_in(references_in(text.text), self._before(base)))

    def missing(self, given: Iterable[str]) -> list[str]:
        """Return those of some citations, given by hand, that cite nothing in the last commit."""
        tree = self._before(self._head)
        return [each for each in given if not list(cited_in(references_in(as_given([each])), tree))]

    def judged(self, cited: Iterable[Cited], base: pygit2.Commit) -> list[Judged]:
        """Judge citations of a commit by the work tree."""
        found = (judge(each, self._compared(base)) for each in cited)
        return [
            each if each.holds else replace(each, since=self._since(each, base)) for each in found
        ]

    def _branched_from(self, name: str) -> pygit2.Commit:
        base = commit_named(self.repository, "--diff", name)
        common = self.repository.merge_base(base.id, self._head.id)
        return base if common is None else self.repository[common].peel(pygit2.Commit)

    @property
    def head(self) -> str:
        """The id of the last commit."""
        return str(self._head.id)

    @cached_property
    def _line(self) -> Sequence[pygit2.Commit]:
        """The commits of the branch, oldest first."""
        walk = self.repository.walk(self._head.id, SortMode.TOPOLOGICAL)
        walk.simplify_first_parent()
        return list(walk)[::-1]

    def at(self, at: datetime) -> pygit2.Commit:
        """Return the last commit before an instant, else the first."""
        before = bisect_right(self._line, at.timestamp(), key=lambda each: each.commit_time)
        return self._line[max(before - 1, 0)]

    def _since(self, judged: Judged, base: pygit2.Commit) -> str:
        """Return the short id of the first commit after a base in which it does not stand as it did."""
        cited = judged.cited
        known = file_id(base, cited.path)
        for commit in self._line:
            id = file_id(commit, cited.path)
            if commit.commit_time < base.commit_time or id == known:
                continue
            known = id
            if not judge(cited, self._between(base, commit)).holds:
                return commit.short_id
        return ""
