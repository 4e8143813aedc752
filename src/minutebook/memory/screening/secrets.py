"""Find the secrets in a text, also disguised ones, and put a visible placeholder in place of each."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from minutebook.memory.screening.contexts import CONTEXTS, SecretContext
from minutebook.memory.screening.formats import FORMATS, lengths
from minutebook.memory.screening.lines import LINE_FORMS, LineForm

# What Unicode calls default ignorable, and the control sequences of terminals that set a style.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]|\x1b\\[[0-9;]{0,20}m"
)
_LETTERS_ALIKE = str.maketrans(
    "АВЕЅІЈКМНОРСТХУаеоіјѕсрхуԁԛԝһΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABESIJKMHOPCTXYaeoijscpxydqwhABEZHIKMNOPTYXo"
)  # fmt: skip
_ALIKE = re.compile(f"[{''.join(map(chr, _LETTERS_ALIKE))}]")
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile("[A-Za-z]")


def without_unseen(text: str) -> tuple[str, list[int]] | None:
    """Return a text without its invisible parts, and the position of each character in the original; None if it has no such parts.

    The last position is the end of the original.
    """
    if (text.isascii() and "\x1b[" not in text) or _INVISIBLE.search(text) is None:
        return None
    pieces, places, end = list[str](), list[int](), 0
    for each in _INVISIBLE.finditer(text):
        pieces.append(text[end : each.start()])
        places += range(end, each.start())
        end = each.end()
    pieces.append(text[end:])
    places += range(end, len(text) + 1)
    return "".join(pieces), places


def as_read(text: str) -> str:
    """Return a text as a reader sees it: without invisible parts, wide and look-alike letters as Latin ones."""
    seen = without_unseen(text)
    plain = text if seen is None else seen[0]
    if plain.isascii():
        return plain
    plain = unicodedata.normalize("NFKC", plain)
    return plain if _ALIKE.search(plain) is None else _WORD.sub(_in_latin, plain)


def _in_latin(found: re.Match[str]) -> str:
    """Return a word with its look-alike letters in Latin if it has other Latin letters."""
    return found[0].translate(_LETTERS_ALIKE) if _LATIN.search(found[0]) else found[0]


_STARTS = tuple((start, each) for each in FORMATS for start in each.starts)
_SURROUNDINGS: tuple[SecretContext | LineForm, ...] = (*CONTEXTS, *LINE_FORMS)
_BY_WORD = {
    word: [(n, each) for n, each in enumerate(_SURROUNDINGS) if word in each.words]
    for each in _SURROUNDINGS
    for word in each.words
}
"""The kinds to try at each word, each after its rank: the surest kind has the lowest."""

_SHOWN = 4
"""The number of a secret's first characters that are shown, to tell which it is."""

_MIN_SHOWN = 16
"""The least length of a secret whose first characters are shown."""

KINDS = (*(each.kind for each in FORMATS), *(each.kind for each in _SURROUNDINGS))
"""The names of all kinds of secrets."""

_MIN_WRAPPED = 6
"""The least length of a word at a line's end that may go on in the next line as a token."""

_LINE_ENDS = frozenset(",.;:!?)]}({[\"'`>")
"""Characters at the end of a line after which no token goes on in the next line."""

_DOCUMENTED_EXAMPLES = (
    # Of the JWT that jwt.io shows, and of the key in Stripe's documentation.
    "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    "4eC39HqLyjWDarjtT1zdp7dc",
)
"""Parts of secrets that documentation shows as examples; others have EXAMPLE in them and count as placeholders."""


@dataclass(frozen=True, slots=True)
class Secret:
    """The kind of a secret and its place in a text; `is_proven` if its check digits are right."""

    kind: str
    start: int
    end: int
    is_proven: bool = False


def find(text: str) -> list[Secret]:
    """Return the secrets in a text, in order and without overlaps. The time is linear in its length.

    Secrets with invisible characters inside are found too.
    """
    candidates = [*_find_tokens(text), *_find_by_surroundings(text)]
    if (seen := without_unseen(text)) is not None:
        plain, places = seen
        for each in (*_find_tokens(plain), *_find_by_surroundings(plain)):
            start, end = places[each.start], places[each.end - 1] + 1
            candidates.append(replace(each, start=start, end=end))
    return _without_overlaps(
        each
        for each in candidates
        if not any(part in text[each.start : each.end] for part in _DOCUMENTED_EXAMPLES)
    )


def mask(text: str, secrets: Sequence[Secret]) -> str:
    """Return a text with a placeholder, `[secret: GitHub token]`, in place of each secret."""
    pieces, end = list[str](), 0
    for each in secrets:
        pieces += (text[end : each.start], f"[secret: {each.kind}]")
        end = each.end
    return "".join((*pieces, text[end:]))


def masked(text: str) -> str:
    """Return a text with a placeholder in place of each secret in it."""
    secrets = find(text) if text else ()
    return mask(text, secrets) if secrets else text


def shortened(text: str, secret: Secret) -> str:
    """Return what may be shown of a secret: its first characters if it is long, and its length."""
    length = secret.end - secret.start
    beginning = text[secret.start : secret.start + _SHOWN] if length >= _MIN_SHOWN else ""
    return f"{beginning}… ({length} characters)"


@cache
def _shortest() -> int:
    """Return the length of the shortest possible token: a text without a word of that length has none."""
    return min(
        len(start) + lengths(each.before)[0] + lengths(each.body)[0]
        for each in FORMATS
        for start in each.starts
    )


def _find_tokens(text: str) -> Iterator[Secret]:
    least = _shortest()
    words = " ".join(
        (*(word for word in text.split() if len(word) >= least), *_wrapped_words(text))
    )
    if not words:
        return
    for start, format in _STARTS:
        if start not in words:
            continue
        at, tried = text.find(start), -1
        while at >= 0:
            found = format.match(text, start, at)
            # At most once in a line, so that the time stays linear.
            if found is None and at > tried:
                tried = text.find("\n", at)
                found = None if tried < 0 else format.match_wrapped(text, start, at)
            if found is not None:
                yield Secret(format.kind, *found)
            at = text.find(start, found[1] if found else at + 1)


def _wrapped_words(text: str) -> Iterator[str]:
    """Yield the last words of lines that may go on in the next line as tokens."""
    if "\n" in text:
        for line in text.split("\n"):
            word = line[line.rfind(" ") + 1 :]
            if (
                len(word) >= _MIN_WRAPPED
                and word[-1] not in _LINE_ENDS
                and not (word.isalpha() and word[1:].islower())
            ):
                yield word


def _find_by_surroundings(text: str) -> list[Secret]:
    plain = text.lower()
    if len(plain) != len(text):
        # A few capitals become several small letters, but positions in both texts must be the same.
        plain = "".join(small if len(small := each.lower()) == 1 else each for each in text)
    found = [
        (order, Secret(each.kind, start, end))
        for word, tried in _BY_WORD.items()
        if word in plain
        for order, each in tried
        for start, end in each.matches(text, plain, word)
    ]
    found.sort(key=lambda each: each[0])
    return [each for _, each in found]


def _without_overlaps(found: Iterable[Secret]) -> list[Secret]:
    """Return the secrets in the order of the text, without those that overlap one given earlier."""
    kept: list[Secret] = []
    taken = bytearray()
    for each in found:
        if len(taken) < each.end:
            taken.extend(bytes(each.end - len(taken)))
        if not any(taken[each.start : each.end]):
            taken[each.start : each.end] = b"\1" * (each.end - each.start)
            kept.append(each)
    return sorted(kept, key=lambda each: each.start)
