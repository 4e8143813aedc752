"""Tell whether two entities are one: by their names, aliases, types and neighbours."""

import re
import unicodedata
from collections.abc import Iterator, Set
from dataclasses import dataclass, field

from minutebook.language.note_words import LISTS

_WORDS = re.compile(r"[^\W_]+", re.UNICODE)
_HUMPS = re.compile(r"(?<=[a-zà-ÿ0-9])(?=[A-Z])")
_SIGNS = re.compile(r"[+#*]")
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_LEAST_TYPED = 6
"""Letters that a name has at least of which one letter may be mistyped."""

_LEAST_BEGINNING = 5
"""Letters that a name has at least which is another's beginning."""

_LEAST_LEFT_OUT = 0.55
"""The share of a longer name's letters that a short form of it keeps."""


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity as tidying knows it: its names, its type, the ids of its neighbours."""

    name: str
    type: str
    aliases: tuple[str, ...] = ()
    neighbours: Set[str] = field(default_factory=frozenset)


def sameness(one: NamedEntity, other: NamedEntity) -> tuple[float, str]:
    """Return how certain it is that two entities are one, in [0, 1], and the reason."""
    types = {one.type.casefold(), other.type.casefold()}
    shared = len(one.neighbours & other.neighbours)
    if len(types) > 1 and not (types & LISTS["vague"] and shared):
        return 0.0, ""
    best = (0.0, "")
    for mine in (one.name, *one.aliases):
        for theirs in (other.name, *other.aliases):
            is_alias = mine != one.name or theirs != other.name
            best = max(best, _alike(mine, theirs, types, shared, is_alias=is_alias))
    return best


def blocks(name: str) -> Iterator[str]:
    """Yield keys of which two names of one thing are likely to share one: only those are compared."""
    parts = _parts(name)
    if not parts:
        return
    joined = "".join(parts)
    yield joined
    yield _plain(name)
    yield " ".join(sorted(_stem(each) for each in parts))
    yield f"~{joined[:4]}"
    yield f"^{parts[0]}"
    yield f"${parts[-1]}"
    if len(parts) > 1:
        yield "".join(each[0] for each in parts)


def _alike(
    mine: str, theirs: str, types: Set[str], shared: int, *, is_alias: bool
) -> tuple[float, str]:
    if sorted(_SIGNS.findall(mine)) != sorted(_SIGNS.findall(theirs)):
        return 0.0, ""
    ours, other = _parts(mine), _parts(theirs)
    if not ours or not other or _numbers(ours) != _numbers(other):
        return 0.0, ""
    if "".join(ours) == "".join(other) or _plain(mine) == _plain(theirs):
        # What two names are called alike may still be two: a first name is many people's.
        return (
            (0.9, "an alias of one is the other's name")
            if is_alias
            else (0.97, "the same name, spelt otherwise")
        )
    if sorted(ours) == sorted(other):
        return 0.9, "the same words in another order"
    stems = [sorted(_stem(each) for each in side) for side in (ours, other)]
    if stems[0] == stems[1]:
        return 0.85, "the same name, once in the plural"
    return max(
        _of_person(ours, other, types, shared),
        _initials(ours, other),
        _beginning(mine, theirs, ours, other),
        _mistyped(ours, other, types, shared),
        _with_type(ours, other, types),
    )


def _of_person(
    ours: list[str], other: list[str], types: Set[str], shared: int
) -> tuple[float, str]:
    """Judge a first name, or an initial, beside the full name of a person."""
    short, long = sorted((ours, other), key=lambda parts: sum(map(len, parts)))
    if not types & LISTS["persons"] or not shared:
        return 0.0, ""
    if len(short) == 1 and len(long) > 1 and short[0] in (long[0], long[-1]):
        return 0.75, "a part of the full name, and the same neighbours"
    is_initial = len(short) == len(long) == 2 and short[1] == long[1] and len(short[0]) == 1
    if is_initial and long[0].startswith(short[0]):
        return 0.85, "the same name with an initial, and the same neighbours"
    return 0.0, ""


def _initials(ours: list[str], other: list[str]) -> tuple[float, str]:
    short, long = sorted((ours, other), key=len)
    is_short = len(short) == 1 and len(long) > 1 and len(short[0]) == len(long)
    if is_short and short[0] == "".join(each[0] for each in long):
        return 0.8, "the initials of the other name"
    return 0.0, ""


def _beginning(mine: str, theirs: str, ours: list[str], other: list[str]) -> tuple[float, str]:
    """Judge a single word that is the other's beginning, where little is left out: Postgres, PostgreSQL."""
    if " " in mine.strip() or " " in theirs.strip():
        return 0.0, ""
    short, long = sorted(("".join(ours), "".join(other)), key=len)
    is_beginning = long.startswith(short) and len(short) >= _LEAST_BEGINNING
    if is_beginning and len(short) / len(long) >= _LEAST_LEFT_OUT:
        return 0.75, "the beginning of the other name"
    return 0.0, ""


def _mistyped(ours: list[str], other: list[str], types: Set[str], shared: int) -> tuple[float, str]:
    """Judge names of which one word has one letter more, less or another."""
    if len(ours) != len(other):
        return 0.0, ""
    differing = [(a, b) for a, b in zip(ours, other, strict=True) if a != b]
    if len(differing) != 1 or not _is_one_letter(*differing[0]):
        return 0.0, ""
    shorter = min(map(len, differing[0]))
    # A first or last letter makes another word far more often than one inside does: React, Preact.
    is_inside = differing[0][0][0] == differing[0][1][0]
    if shared and is_inside and shorter >= _LEAST_TYPED - 1:
        return 0.85, "one letter differs, and the same neighbours"
    if is_inside and shorter >= _LEAST_TYPED + 2:
        return 0.75, "one letter differs"
    return 0.0, ""


def _with_type(ours: list[str], other: list[str], types: Set[str]) -> tuple[float, str]:
    """Judge a name that the other one is with its type said again: staging, staging environment."""
    short, long = sorted((ours, other), key=len)
    if len(long) == len(short) + 1 and long[:-1] == short and long[-1] in types:
        return 0.85, "the same name, once with its type"
    return 0.0, ""


def _parts(name: str) -> list[str]:
    """Return the words of a name without case, accents, signs and small words."""
    text = _HUMPS.sub(" ", name).casefold().translate(_GERMAN)
    found = _WORDS.findall(_unaccented(text))
    return [each for each in found if each not in LISTS["small"]] or found


def _plain(name: str) -> str:
    """Return the letters of a name without case, accents and signs: Zürich as Zurich."""
    return "".join(_WORDS.findall(_unaccented(name.casefold())))


def _unaccented(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _numbers(parts: list[str]) -> list[str]:
    return sorted(each for each in parts if any(c.isdigit() for c in each))


def _stem(word: str) -> str:
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _is_one_letter(one: str, other: str) -> bool:
    """Tell whether one letter was added, left out, replaced or two were swapped."""
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    start = 0
    while start < len(short) and short[start] == long[start]:
        start += 1
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    rest = short[start + 1 :] == long[start + 1 :]
    is_swap = short[start : start + 2] == long[start : start + 2][::-1]
    return rest or (is_swap and short[start + 2 :] == long[start + 2 :])
