"""Rerank chunks of code: definitions and names from the query first, tests and the like last."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

DEFINES = 1.20
"""The factor of a definition, against lines that only use what others define."""

IS_NAMED = 1.50
"""The factor of a chunk whose name is the whole query, `ConfigLoader.load`."""

IS_AMONG = 1.25
"""The factor of a chunk whose name is one of the identifiers in the query."""

NON_SOURCE_FACTOR = 0.40
"""The factor of tests, examples, vendored and generated code, unless the query asks for them."""

REPEAT_FACTOR = 0.70
"""The factor of each further piece of one definition, or of a file's rest, against the one before."""

_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#|->|/)[^\W\d]\w*)*")
_PARTS = re.compile(r"\.|::|#|->|/")
_IDENTIFIER = re.compile(r"_|[a-z0-9][A-Z]|[A-Z]{2}|\d")

_NON_SOURCE = {
    "test": re.compile(
        r"(?:^|/)(?:tests?|testing|__tests__|spec|specs|fixtures?|mocks?|testdata)/"
        r"|(?:^|/)(?:test_[^/]*|conftest\.py|[^/]*[._-](?:test|tests|spec)\.[^/]*|[^/]*Tests?\.\w+)$"
    ),
    "example": re.compile(r"(?:^|/)(?:examples?|demos?|samples?|benchmarks?)/"),
    "vendor": re.compile(
        r"(?:^|/)(?:vendor|vendored|_vendor|third_party|third-party|node_modules|site-packages"
        r"|dist-packages|bower_components|externals?|deps)/"
    ),
    "generated": re.compile(r"(?:^|/)(?:dist|build|out|target|generated|gen)/"),
}
_ASKS_FOR = {
    "test": re.compile(r"\b(?:tests?|tested|testing|spec|specs|fixtures?|mocks?|unittest)\b", re.I),
    "example": re.compile(r"\b(?:examples?|demos?|samples?|benchmarks?)\b", re.I),
    "vendor": re.compile(r"\b(?:vendor|vendored|third.party|node_modules)\b", re.I),
    "generated": re.compile(r"\b(?:generated|build|dist)\b", re.I),
}


@dataclass(frozen=True, slots=True)
class Sight:
    """A chunk as ranking sees it: organization and id, its score from fusion, and its traits."""

    id: tuple[str, str]
    score: float
    path: str
    name: str
    type: str


def rerank(query: str, found: Sequence[Sight], limit: int) -> list[tuple[tuple[str, str], float]]:
    """Return ids and scores, best first, ties by path and id; at most `limit`.

    A score is that of fusion times the constants above that apply, as a part of the most that can
    be. Pieces of one definition, and those of a file that are in none, make room for others; chunks
    of one file that have names of their own do not (docs/decisions/0015-code-search.md).
    """
    names = _QueryNames.from_query(query)
    weighed = sorted(
        ((each.score * names.weight(each), each) for each in found),
        key=lambda pair: (-pair[0], pair[1].path, pair[1].id),
    )
    seen: Counter[tuple[str, str]] = Counter()
    spread = []
    for score, each in weighed:
        definition = (each.path, each.name)
        spread.append((score * REPEAT_FACTOR ** seen[definition], each.path, each.id))
        seen[definition] += 1
    spread.sort(key=lambda ranked: (-ranked[0], ranked[1], ranked[2]))
    return [(id, score) for score, _, id in spread[:limit]]


def is_named(query: str, found: Iterable[Sight]) -> bool:
    """Tell whether the query is, or holds, the name of one of the chunks."""
    names = _QueryNames.from_query(query)
    return any(names.factor(_parts(each.name)) > 1 for each in found)


@dataclass(frozen=True, slots=True)
class _QueryNames:
    """The names in a query, by their parts, and the kinds of code beside sources that it asks for."""

    whole: tuple[str, ...]
    identifiers: frozenset[tuple[str, ...]]
    wanted: frozenset[str]

    @classmethod
    def from_query(cls, query: str) -> "_QueryNames":
        text = query.strip().removesuffix("()")
        whole = _parts(text) if _NAME.fullmatch(text) else ()
        # A plain word is as likely prose as a name, unless it is all there is.
        identifiers = frozenset(
            _parts(name)
            for name in _NAME.findall(query)
            if _IDENTIFIER.search(name) or _PARTS.search(name)
        )
        wanted = frozenset(kind for kind, words in _ASKS_FOR.items() if words.search(query))
        return cls(whole, identifiers, wanted)

    def weight(self, each: Sight) -> float:
        weight = 1.0 if each.type == "other" else DEFINES
        weight *= self.factor(_parts(each.name))
        if not _kinds_beside_source(each.path) <= self.wanted:
            weight *= NON_SOURCE_FACTOR
        return weight / (DEFINES * IS_NAMED)

    def factor(self, name: tuple[str, ...]) -> float:
        """Return the factor of a chunk with a name of these parts."""
        if name and self.whole and _ends_with(name, self.whole):
            return IS_NAMED
        is_among = name and any(_ends_with(name, each) for each in self.identifiers)
        return IS_AMONG if is_among else 1.0


@lru_cache(maxsize=1 << 12)
def _kinds_beside_source(path: str) -> frozenset[str]:
    """Return the kinds of code beside sources that a path is of."""
    return frozenset(kind for kind, paths in _NON_SOURCE.items() if paths.search(path))


@lru_cache(maxsize=1 << 12)
def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.casefold() for part in _PARTS.split(name) if part)


def _ends_with(name: tuple[str, ...], end: tuple[str, ...]) -> bool:
    return len(end) <= len(name) and name[len(name) - len(end) :] == end
