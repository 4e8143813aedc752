"""Find instructions to the reader inside a text: orders, role tags, hidden characters."""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from minutebook.memory.screening.secrets import as_read

DEFAULT_REACH = 150
"""The most characters that a match may extend before and after one of the mark's words, unless the mark says otherwise."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A way in which a text reads as instructions; the pattern and `words` are in small letters, as is the searched text.

    Each match of the pattern must contain one of the words and at most `reach` characters before and after it.
    """

    name: str
    words: tuple[str, ...]
    pattern: str
    reach: int = DEFAULT_REACH

    def is_in(self, text: "_Lowered") -> bool:
        """Tell whether a text has the mark."""
        words = [word for hint, word in _with_hints(self.words) if hint in text.vocabulary]
        if not words:
            return False
        pattern = re.compile(self.pattern)
        return any(
            pattern.search(window)
            for form in text.forms
            for window in _windows(words, form, self.reach)
        )


class _Lowered:
    """A text in small letters: on one line, and if that differs also with its line ends."""

    def __init__(self, text: str) -> None:
        lowered = text.lower()
        words = lowered.split()
        line = " ".join(words)
        self.forms = (line,) if line == lowered else (line, lowered)
        # Each word once: a long text repeats most of its words, so that this is searched several times as fast.
        self.vocabulary = f" {' '.join(set(words))} "


@cache
def _with_hints(words: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return each entry of `words` after a hint, its longest part: a text with the entry has the hint in its vocabulary."""
    return [(max(each.split(), key=len) if " " in each.strip() else each, each) for each in words]


def _windows(words: Sequence[str], text: str, reach: int) -> Iterator[str]:
    """Yield the parts of a text around these words, `reach` characters to each side; parts that meet are joined."""
    places = sorted(
        (found.start(), found.end())
        for word in words
        for found in re.finditer(re.escape(word), text)
    )
    start, end = 0, -1
    for first, last in places:
        if first - reach > end:
            if end > 0:
                yield text[start:end]
            start = max(0, first - reach)
        end = max(end, last + reach)
    if end > 0:
        yield text[start:end]


def _marks() -> Iterator[Mark]:
    file = Path(__file__).with_name("instructions.toml").read_text(encoding="utf-8")
    for each in tomllib.loads(file)["mark"]:
        pattern, reach = "".join(each["pattern"]), each.get("reach", DEFAULT_REACH)
        yield Mark(each["name"], tuple(each["words"]), pattern, reach)


MARKS = tuple(_marks())
"""The ways in which a text reads as instructions, as `instructions.toml` lists them."""

HIDDEN = "has hidden characters"
"""The name of the mark for characters that a reader of the text does not see."""

# Tags (U+E0000), bidirectional controls, and zero-width characters where no script or emoji needs them.
_HIDDEN = (
    "[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069\u2060-\u2064\u00ad]{2}"
    "|[\U000e0001-\U000e007e]|[\u202d\u202e]|(?<=.)[\u200b\ufeff]|(?<=[A-Za-z])[\u200c\u200d](?=[A-Za-z])"
    # Selectors of a variant beyond the one that a sign may have, and fillers of Hangul where no Hangul is.
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}|[A-Za-z][\ufe00-\ufe0f\U000e0100-\U000e01ef]|[\u115f\u1160\u3164\uffa0]{2}|(?<=[A-Za-z])[\u3164\uffa0]"
)

_MAY_BE_HIDDEN = "[\u00ad\u115f\u1160\u200b-\u200d\u202a-\u202e\u2060-\u2069\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]"
"""Every character that `_HIDDEN` may match: one class is searched much faster than alternatives."""

KINDS: tuple[str, ...] = (*(each.name for each in MARKS), HIDDEN)


MOST_REMEMBERED = 10_000
"""The most texts whose marks are remembered, by their digests, as the same texts are asked about often."""

_known: dict[bytes, tuple[str, ...]] = {}


def marks_of(text: str) -> list[str]:
    """Return the names of the marks of a text; nearly every text has none.

    A mark does not tell the intent: a text about such orders that quotes one has the mark too.
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    marks = _known.get(digest)
    if marks is None:
        if len(_known) >= MOST_REMEMBERED:
            _known.clear()
        marks = _known[digest] = tuple(_find_marks(text))
    return list(marks)


def _find_marks(text: str) -> list[str]:
    read = _Lowered(as_read(text))
    found = [each.name for each in MARKS if each.is_in(read)]
    if re.search(_MAY_BE_HIDDEN, text) and re.search(_HIDDEN, text) and not _is_flag(text):
        found.append(HIDDEN)
    return found


def _is_flag(text: str) -> bool:
    """Tell whether the tag characters of a text are those of a regional flag, which begins with U+1F3F4."""
    rest = re.sub("\U0001f3f4[\U000e0020-\U000e007e]{1,10}\U000e007f", "", text)
    return re.search(_HIDDEN, rest) is None
