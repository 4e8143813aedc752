"""The order of reasons: by how much a message says about why, then the newest first."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import Self

import pygit2

from minutebook.features.citations.texts import CitingText
from minutebook.features.citations.trees import UNREADABLE
from minutebook.features.why.session_requests import Request, instant_of
from minutebook.record.records import Kind

LOOKED_AT = 30
"""The most commits of a history that are read for reasons."""

_SWEEPS = frozenset(Path(__file__).with_name("sweeps.txt").read_text(encoding="utf-8").splitlines())
_REVERTED = re.compile(r"^This reverts commit .*", re.MULTILINE)
_TRAILER = re.compile(r"^[A-Z][\w-]*-[\w-]+: .*|^\(cherry picked from .*", re.MULTILINE)
_BULLET = re.compile(r"^[*-] +\S+(?: \S+)?$", re.MULTILINE)
_BECAUSE = re.compile(
    r"\w: \w+ \w+ \w+|\b(?:because|since|so that|otherwise|instead of|lest|weil|damit|sonst)\b",
    re.IGNORECASE,
)


class Rank(IntEnum):
    """The ranks of reasons, the best first."""

    BINDING = 0
    """A decision or a rule that cites the lines."""
    TELLING = 1
    """Another record that cites them, a commit that says why or was asked for."""
    RELATED = 2
    """A decision or a rule about their file, a commit that calls itself tidying but says more or was asked for."""
    PLAIN = 3
    """A commit that only says what it changed."""
    FILE = 4
    """A memory about the file."""
    SWEEP = 5
    """A commit that only calls itself tidying, a merge or a revert."""


@dataclass(frozen=True, slots=True)
class LineChange:
    """A commit, its message as `text`, and the request that led to it, None if it is unknown."""

    kind: Kind
    id: str
    short_id: str
    at: datetime
    author: str
    text: str
    request: Request | None

    @classmethod
    def from_commit(cls, commit: pygit2.Commit, request: Request | None) -> Self:
        """Return the change of a commit in Git, with the request that led to it."""
        named, author = (str(commit.id), commit.short_id), commit.author.name
        return cls(Kind.COMMIT, *named, instant_of(commit), author, commit.message, request)

    @property
    def rank(self) -> Rank:
        """The rank by the commit's message, and by the request if that is certain."""
        rank = rank_of(self.text)
        request = self.request
        if request is None or not request.is_certain or not _says_much(request.prompt):
            return rank
        return Rank.TELLING if rank is Rank.PLAIN else min(rank, Rank.RELATED)


Reason = CitingText | LineChange


def in_order(ranked: Sequence[tuple[Rank, Reason]]) -> list[Reason]:
    """Return reasons by their ranks, those of one rank the newest first."""
    newest = sorted(ranked, key=lambda each: each[1].at, reverse=True)
    return [reason for _, reason in sorted(newest, key=lambda each: each[0])]


def read_history(
    history: Iterable[pygit2.Commit], limit: int
) -> tuple[list[pygit2.Commit], Exception | None]:
    """Return commits of a history until `limit` of them say why, or LOOKED_AT were read; and the error that ended it, if any."""
    found, telling = list[pygit2.Commit](), 0
    try:
        for commit in islice(history, max(LOOKED_AT, limit)):
            found.append(commit)
            telling += rank_of(commit.message) is Rank.TELLING
            if telling == limit:
                break
    except UNREADABLE as error:
        return found, error
    return found, None


def rank_of(message: str) -> Rank:
    """Return the rank of a commit by its message."""
    subject, _, rest = message.strip().partition("\n")
    for noise in (_REVERTED, _TRAILER, _BULLET):
        rest = noise.sub("", rest)
    if _is_sweep(subject):
        return Rank.RELATED if _says_much(rest) else Rank.SWEEP
    return Rank.TELLING if _says_much(rest) or _BECAUSE.search(subject) else Rank.PLAIN


def _is_sweep(text: str) -> bool:
    """Tell whether a text begins with a word of tidying, after a scope such as `chore(queue):`."""
    scope, colon, rest = text.partition(":")
    is_scope = bool(colon) and len(scope.split()) == 1
    said = (re.findall(r"\w+", each)[:1] for each in (scope, rest if is_scope else ""))
    return any(word[0].lower() in _SWEEPS for word in said if word)


def _says_much(text: str) -> bool:
    return len(text.split()) > 2 and not _is_sweep(text)
