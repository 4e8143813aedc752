"""Check the citations of records against a project's files as they are."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from itertools import chain, count, takewhile
from pathlib import Path

import pygit2

from minutebook.features.citations.cited import Cited, Judged
from minutebook.features.citations.judging import cited_in, judge
from minutebook.features.citations.texts import CitingText
from minutebook.features.citations.trees import (
    Blobs,
    CommitTree,
    SearchedTree,
    check_not_shallow,
    commit_named,
    compared_commits,
    compared_with_folder,
    file_id,
    open_repository,
    reading_git,
)
from minutebook.features.code.references import quote_citations, references_in, relative_to_root

_IS_FILE = re.compile(r"\w\.[A-Za-z]\w{0,9}$")


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A record, and those of its citations that do not hold."""

    text: CitingText
    doubts: Sequence[Judged]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """How many records cite changed files, and those of them that are doubtful, in the order of the texts."""

    citing: int
    doubtful: Sequence[Doubtful]


class CodeCheck:
    """Judges citations by the work tree of a Git repository, compared with the commit at which it branched off `base`.

    Without a base it compares each with the commit at which it was written. Raises InvalidInput if the folder is in no
    repository with commits and files, Git cannot read it, or the base is no commit.
    """

    @reading_git()
    def __init__(self, folder: Path, base: str | None) -> None:
        self.repository = open_repository(folder)
        self._head = self.repository.head.peel(pygit2.Commit)
        self._commits_read = [self._head]
        self._base = None if base is None else self._branched_from(base)
        self._blobs = Blobs(self.repository)
        self.root = Path(self.repository.workdir)
        """The work tree."""
        self._tree_of = cache(lambda commit: SearchedTree(CommitTree(self._blobs, commit)))
        self._changes_since = cache(
            lambda base: compared_with_folder(self._blobs, base, self._tree_of(base))
        )
        self._changes_between = cache(partial(compared_commits, self._blobs))

    @reading_git()
    def check(self, texts: Iterable[CitingText]) -> CheckReport:
        """Judge the citations of changed files. Raises InvalidInput if the history is cut off or cannot be read."""
        citing, doubtful = 0, []
        if self._base is None:
            check_not_shallow(self.repository)
        for text in texts:
            bases = [self._base] if self._base else self.bases(text.at)
            cited = [
                self.cited_by(text, each, frozenset(self._changes_since(each).now))
                for each in bases
            ]
            judged = [self.judged(*each) for each in zip(cited, bases, strict=True)]
            doubts = [each for each in worse_of(chain(*judged)) if not each.holds]
            citing += bool(cited[0] or doubts)
            if doubts:
                doubtful.append(Doubtful(text, doubts))
        return CheckReport(citing, doubtful)

    def cited_by(
        self, text: CitingText, base: pygit2.Commit, among: frozenset[str] | None = None
    ) -> list[Cited]:
        """Return the citations of a text in the files `among` those of a commit (None: all).

        It also returns those of code that was not committed when the text was written, in files not changed since:
        authors write about code before they commit it.
        """
        references, comparison = text.references(str(self.root)), self._changes_since(base)
        cited = {each.written: each for each in cited_in(references, comparison.before, among)}
        untouched = frozenset(
            each for each in comparison.differing if self._is_older(each, text.at)
        )
        for each in cited_in(references, comparison.after, untouched):
            known = cited.get(each.written)
            if each.definition is not None and not (known and _is_same(known, each)):
                cited[each.written] = replace(each, is_new=True)
        return list(cited.values())

    def _is_older(self, path: str, at: datetime) -> bool:
        """Tell whether a file of the work tree was last written before an instant."""
        try:
            return (self.root / path).stat().st_mtime <= at.timestamp()
        except (OSError, ValueError):
            return False

    @reading_git()
    def missing(self, given: Iterable[str]) -> list[str]:
        """Return those of some citations, given by hand, that cite nothing in the last commit."""
        tree = self._tree_of(self._head)
        return [
            each
            for each in given
            if not list(cited_in(references_in(quote_citations([each])), tree))
        ]

    @reading_git()
    def absent(self, text: str) -> list[str]:
        """Return the files that a text cites with a folder or lines, and that neither the work tree nor the last commit has."""
        top = str(self.root).rstrip("/")
        named = [
            (each.written, relative_to_root(top, each.path))
            for each in references_in(text)
            if each.path and _IS_FILE.search(each.path) and (each.lines or "/" in each.path)
        ]
        # An absolute path may be outside of the project.
        return [
            written
            for written, path in named
            if not (written.startswith("/") and written[1:].startswith(path))
            and not path.startswith("../")
            and not os.path.lexists(self.root / path)
            and not self._tree_of(self._head).has_named(path)
        ]

    def judged(self, cited: Iterable[Cited], base: pygit2.Commit) -> list[Judged]:
        """Judge citations of a commit by the work tree, without those in files that cannot be read."""
        return [judged for each in cited if (judged := self._judged(each, base)) is not None]

    def _judged(self, cited: Cited, base: pygit2.Commit) -> Judged | None:
        """Judge a citation by the changes since a commit; None if they cannot tell."""
        if not self._changes_since(base).can_judge(cited):
            return None
        if cited.is_new:
            # The first commit that has the new definition is the base.
            commits = self._commits_changing(cited.path, base)
            first = next((each for each in commits if self._has_definition(each, cited)), None)
            if first is None:
                return judge(cited, self._changes_since(base).with_changed(cited.path))
            base = first
        judged = judge(cited, self._changes_since(base))
        return judged if judged.holds else replace(judged, since=self._since(judged, base))

    def _has_definition(self, commit: pygit2.Commit, cited: Cited) -> bool:
        definitions = self._tree_of(commit).definitions(cited.path)
        return any(_is_same(cited, replace(cited, definition=each)) for each in definitions)

    def _branched_from(self, name: str) -> pygit2.Commit:
        """Return the last commit that the branch has in common with a named commit."""
        base = commit_named(self.repository, "--diff", name)
        common = self.repository.merge_base(base.id, self._head.id)
        if not common:
            check_not_shallow(self.repository)
        return self.repository[common].peel(pygit2.Commit) if common else base

    @property
    def head(self) -> str:
        """The id of the last commit."""
        return str(self._head.id)

    def _commits(self) -> Iterator[pygit2.Commit]:
        """Yield the commits of the branch, newest first; each is read once."""
        for number in count():
            if number == len(self._commits_read):
                parents = self._commits_read[-1].parent_ids
                parent = self.repository.get(parents[0]) if parents else None
                if parent is None:
                    return
                self._commits_read.append(parent.peel(pygit2.Commit))
            yield self._commits_read[number]

    def _commits_after(self, base: pygit2.Commit) -> Sequence[pygit2.Commit]:
        """Return the commits of the branch after `base`, oldest first; if it is not on the branch, those that are not older."""
        later = list(takewhile(lambda each: each.id != base.id, self._commits()))
        if len(later) == len(self._commits_read):
            later = [each for each in later if each.commit_time >= base.commit_time]
        return later[::-1]

    def bases(self, at: datetime) -> list[pygit2.Commit]:
        """Return the last commit up to an instant, and if that was made in the same second, the last of an earlier one.

        Commits have whole seconds: nobody can tell whether one of the same second was made before the instant. If all
        commits are later, it returns the first.
        """
        second = int(at.timestamp())
        found = list[pygit2.Commit]()
        for commit in self._commits():
            if commit.commit_time <= second:
                found = [*found[:1], commit]
                if commit.commit_time < second:
                    break
        return found or [self._commits_read[-1]]

    def _since(self, judged: Judged, base: pygit2.Commit) -> str:
        """Return the short id of the first commit after a base in which a citation does not hold; empty if there is none."""
        cited = judged.cited
        for commit in self._commits_changing(cited.path, base):
            comparison = self._changes_between(base, commit)
            if comparison.can_judge(cited) and not judge(cited, comparison).holds:
                return commit.short_id
        return ""

    def _commits_changing(self, path: str, base: pygit2.Commit) -> Iterator[pygit2.Commit]:
        """Yield the commits of the branch after a base that changed a file."""
        known = file_id(base, path)
        for commit in self._commits_after(base):
            id = file_id(commit, path)
            if id != known:
                known = id
                yield commit


def worse_of(judged: Iterable[Judged]) -> list[Judged]:
    """Return one verdict on each citation: the first by which it does not hold, else that it holds."""
    found: dict[str, Judged] = {}
    for each in judged:
        if each.cited.written not in found or found[each.cited.written].holds:
            found[each.cited.written] = each
    return list(found.values())


def _is_same(one: Cited, other: Cited) -> bool:
    """Tell whether two citations are of the same definition, with the same content."""
    ours, theirs = one.definition, other.definition
    return (
        ours is not None
        and theirs is not None
        and one.path == other.path
        and ours.names == theirs.names
        and ours.digest == theirs.digest
    )
