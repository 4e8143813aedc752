"""Rerank chunks of code: definitions and names from the query first, tests and the like last."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

DEFINES = 1.20
"""The factor of a definition, against lines outside of definitions."""

IS_NAMED = 1.50
"""The factor of a chunk with a name that is the whole query, `ConfigLoader.load`."""

IS_AMONG = 1.25
"""The factor of a chunk with a name that is one of the identifiers in the query."""

NON_SOURCE_FACTOR = 0.40
"""The factor of tests, examples, vendored and generated code, unless the query asks for them."""

REPEAT_FACTOR = 0.70
"""The factor of each further chunk of one definition, or of a file's lines outside of definitions, against the one before."""

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
class RankedChunk:
    """The fields of a chunk that count in ranking; `id` is organization and id, `score` that of fusion."""

    id: tuple[str, str]
    score: float
    path: str
    name: str
    type: str


def rerank(
    query: str, found: Iterable[RankedChunk], limit: int
) -> list[tuple[tuple[str, str], float]]:
    """Return ids and scores, best first, ties by path and id; at most `limit`.

    A score is that of fusion times the factors above that apply, divided by the largest product of factors.
    Chunks of one definition lower one another's score, and so do those of a file outside of definitions; chunks of
    a file with names of their own do not (docs/decisions/0015-code-search.md).
    """
    names = _QueryNames.from_query(query)
    weighted = sorted(
        (-each.score * names.weight(each), each.path, each.id, each.name) for each in found
    )
    seen: Counter[tuple[str, str]] = Counter()
    lowered = []
    for score, path, id, name in weighted:
        lowered.append((score * REPEAT_FACTOR ** seen[path, name], path, id))
        seen[path, name] += 1
    return [(id, -score) for score, _, id in sorted(lowered)[:limit]]


def is_named(query: str, found: Iterable[RankedChunk]) -> bool:
    """Tell whether the query is, or contains, the name of one of the chunks."""
    names = _QueryNames.from_query(query)
    return any(names.name_factor(_parts(each.name)) > 1 for each in found)


@dataclass(frozen=True, slots=True)
class _QueryNames:
    """The names in a query, by their parts: the `whole` query, and identifiers in it; the kinds of other code that it asks for."""

    whole: tuple[str, ...]
    identifiers: frozenset[tuple[str, ...]]
    wanted: frozenset[str]

    @classmethod
    def from_query(cls, query: str) -> "_QueryNames":
        """Return the names in a query (the whole if it is one, identifiers) and the kinds of files that it asks for."""
        text = query.strip().removesuffix("()")
        whole = _parts(text) if _NAME.fullmatch(text) else ()
        # A plain word is as likely prose as a name, unless it is the whole query.
        identifiers = frozenset(
            _parts(name)
            for name in _NAME.findall(query)
            if _IDENTIFIER.search(name) or _PARTS.search(name)
        )
        wanted = frozenset(kind for kind, words in _ASKS_FOR.items() if words.search(query))
        return cls(whole, identifiers, wanted)

    def weight(self, each: RankedChunk) -> float:
        """Return the factor of a chunk's score by its name, type and path, in (0, 1]."""
        weight = 1.0 if each.type == "other" else DEFINES
        weight *= self.name_factor(_parts(each.name))
        if not _non_source_kinds(each.path) <= self.wanted:
            weight *= NON_SOURCE_FACTOR
        return weight / (DEFINES * IS_NAMED)

    def name_factor(self, name: tuple[str, ...]) -> float:
        """Return the factor of a chunk with a name of these parts."""
        if name and self.whole and _ends_with(name, self.whole):
            return IS_NAMED
        is_among = name and any(_ends_with(name, each) for each in self.identifiers)
        return IS_AMONG if is_among else 1.0


@lru_cache(maxsize=1 << 12)
def _non_source_kinds(path: str) -> frozenset[str]:
    """Return the kinds of a path: test, example, vendor, generated; none for plain source."""
    return frozenset(kind for kind, paths in _NON_SOURCE.items() if paths.search(path))


@lru_cache(maxsize=1 << 12)
def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.casefold() for part in _PARTS.split(name) if part)


def _ends_with(name: tuple[str, ...], end: tuple[str, ...]) -> bool:
    return len(end) <= len(name) and name[len(name) - len(end) :] == end
