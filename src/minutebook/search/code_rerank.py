"""Which of the chunks that were found a person who asks that would want first."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

DEFINES = 1.20
"""How much more a definition counts than lines that only use what others define."""

IS_NAMED = 1.50
"""How much more a chunk counts whose name is the whole question, `ConfigLoader.load`."""

IS_AMONG = 1.25
"""How much more one counts whose name is one of the identifiers in the question."""

ASIDE = 0.40
"""How much less tests, examples, vendored and generated code count, unless they are asked for."""

REPEAT_FACTOR = 0.70
"""How much less each further piece of one definition, or of a file's rest, counts than the one before."""

_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#|->|/)[^\W\d]\w*)*")
_PARTS = re.compile(r"\.|::|#|->|/")
_IDENTIFIER = re.compile(r"_|[a-z0-9][A-Z]|[A-Z]{2}|\d")

_ASIDE = {
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
_ASKED = {
    "test": re.compile(r"\b(?:tests?|tested|testing|spec|specs|fixtures?|mocks?|unittest)\b", re.I),
    "example": re.compile(r"\b(?:examples?|demos?|samples?|benchmarks?)\b", re.I),
    "vendor": re.compile(r"\b(?:vendor|vendored|third.party|node_modules)\b", re.I),
    "generated": re.compile(r"\b(?:generated|build|dist)\b", re.I),
}


@dataclass(frozen=True, slots=True)
class Sight:
    """A chunk as ranking sees it: organization and id, its score from fusion, and what it is."""

    id: tuple[str, str]
    score: float
    path: str
    name: str
    type: str


def rerank(query: str, found: Sequence[Sight], limit: int) -> list[tuple[tuple[str, str], float]]:
    """Give ids and scores, best first, ties by path and id; at most `limit`.

    A score is that of fusion times the constants above that apply, as a part of the most that can
    be. Pieces of one definition, and those of a file that are in none, make room for others; chunks
    of one file that have names of their own do not (docs/decisions/0015-code-search.md).
    """
    asked = _Asked.of(query)
    weighed = sorted(
        ((each.score * asked.weight(each), each) for each in found),
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question says of names and of places."""

    whole: tuple[str, ...]
    among: frozenset[tuple[str, ...]]
    places: frozenset[str]

    @classmethod
    def of(cls, query: str) -> "_Asked":
        text = query.strip().removesuffix("()")
        whole = _parts(text) if _NAME.fullmatch(text) else ()
        # A plain word is as likely prose as a name, unless it is all there is.
        among = frozenset(
            _parts(name)
            for name in _NAME.findall(query)
            if _IDENTIFIER.search(name) or _PARTS.search(name)
        )
        places = frozenset(place for place, words in _ASKED.items() if words.search(query))
        return cls(whole, among, places)

    def weight(self, each: Sight) -> float:
        weight = 1.0 if each.type == "other" else DEFINES
        name = _parts(each.name)
        if name and self.whole and _ends_with(name, self.whole):
            weight *= IS_NAMED
        elif name and any(_ends_with(name, asked) for asked in self.among):
            weight *= IS_AMONG
        if any(
            place not in self.places and paths.search(each.path) for place, paths in _ASIDE.items()
        ):
            weight *= ASIDE
        return weight / (DEFINES * IS_NAMED)


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.casefold() for part in _PARTS.split(name) if part)


def _ends_with(name: tuple[str, ...], end: tuple[str, ...]) -> bool:
    return len(end) <= len(name) and name[len(name) - len(end) :] == end
