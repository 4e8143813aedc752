"""Formats of tokens, as vendors publish them: a literal beginning and the characters after it."""

import re
import tomllib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from minutebook.memory.screening.randomness import looks_random

ALPHABETS = {
    "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "B": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "D": "0123456789",
    "H": "0123456789abcdef",
    "L": "abcdefghijklmnopqrstuvwxyz0123456789",
    "T": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~-",
    "U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "V": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "W": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
}
"""The characters that a run of a format is made of, by the letter that names them in a body."""

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RUN_NOTATION = r"<([A-Z]):(\d+)(?:-(\d+))?>"
_ESCAPES = ("\\n", "\\r", "\\t", "%20", "%3D", "%22")
"""Escapes that may stand before a token and end in a letter or digit that is no part of a longer word."""

_LONGEST_LINE = 400
_MOST_LINES = 8
_CHARACTER = r"[A-Za-z0-9_.~+/\-]"
_TO_LINE_END = rf"{_CHARACTER}{{1,400}}[=\\]?\r?"
_NEXT_LINE = re.compile(rf"[ \t>|#*]{{0,12}}(?P<rest>{_CHARACTER}{{1,400}})(?P<soft>[=\\]?\r?)")
"""Matches the rest of a token in the next line, after the marks of a quote or comment, or an indent."""

Check = Callable[[str], bool]
"""Tells whether the check digits of a whole token are right."""


@dataclass(frozen=True, slots=True)
class CharacterRun:
    """From `least` to `most` characters of an alphabet."""

    letter: str
    least: int
    most: int


Part = CharacterRun | str


def parts_of(body: str) -> Iterator[Part]:
    """Yield the runs of a body (`<A:30>`, `<H:32-64>`) and the literals between them, in order."""
    end = 0
    for run in re.finditer(_RUN_NOTATION, body):
        if run.start() > end:
            yield body[end : run.start()]
        yield CharacterRun(run[1], int(run[2]), int(run[3] or run[2]))
        end = run.end()
    if end < len(body):
        yield body[end:]


@cache
def expression(body: str) -> re.Pattern[str]:
    """Return the regular expression of a body; no repetition has alternatives, so that its time is linear."""
    return re.compile(
        "".join(
            re.escape(part)
            if isinstance(part, str)
            else f"[{re.escape(ALPHABETS[part.letter])}]{{{part.least},{part.most}}}"
            for part in parts_of(body)
        )
    )


@cache
def lengths(body: str) -> tuple[int, int]:
    """Return the fewest and the most characters that a body may have."""
    parts = list(parts_of(body))
    literal = sum(len(each) for each in parts if isinstance(each, str))
    runs = [each for each in parts if isinstance(each, CharacterRun)]
    return literal + sum(run.least for run in runs), literal + sum(run.most for run in runs)


@dataclass(frozen=True, slots=True)
class TokenFormat:
    """A format of tokens: the name of their kind, the address of its documentation, and its parts.

    A token is `before` (empty for most formats), one of `starts`, and `body`, in this order. `check`,
    if any, proves a token by its check digits.
    """

    kind: str
    address: str
    starts: tuple[str, ...]
    body: str
    before: str = ""
    check: Check | None = None

    def match(self, text: str, start: str, position: int) -> tuple[int, int, bool] | None:
        """Return the begin and end of the token with `start` at `position`, and whether check digits prove it; None if there is none."""
        after = position + len(start)
        found = expression(self.body).match(text, after)
        if found is None:
            return None
        begin, end = self._beginning_of(text, position), found.end()
        if begin is None or _continues_before(text, begin) or _continues_after(text, end):
            return None
        while text[end - 1] == ".":
            end -= 1
        if self.check is not None and self.check(text[begin:end]):
            return begin, end, True
        return (begin, end, False) if looks_random(text[begin:position] + text[after:end]) else None

    def match_wrapped(self, text: str, start: str, position: int) -> tuple[int, int, bool] | None:
        """Return the same as `match` for a token that is wrapped over several lines, as in mails and quotes."""
        end = text.find("\n", position, position + _LONGEST_LINE)
        if end < 0 or not re.fullmatch(_TO_LINE_END, text[position:end]):
            return None
        first = max(0, position - lengths(self.before)[1] - 1)
        if _continues_before(text, position) and not self.before:
            return None
        positions = [*range(first, first + len(text[first:end].rstrip("=\\\r")))]
        most = len(positions) + lengths(self.body)[1]
        for _ in range(_MOST_LINES):
            following = _NEXT_LINE.match(text, end + 1)
            if following is None:
                break
            positions += range(*following.span("rest"))
            end = following.end()
            if len(positions) > most or text[end : end + 1] != "\n":
                break
        joined = "".join(text[each] for each in positions)
        found = self.match(joined, start, position - first)
        if found is None:
            return None
        return positions[found[0]], positions[found[1] - 1] + 1, found[2]

    def _beginning_of(self, text: str, position: int) -> int | None:
        if not self.before:
            return position
        before = expression(self.before)
        for begin in range(max(0, position - lengths(self.before)[1]), position):
            if before.fullmatch(text, begin, position) and not _continues_before(text, begin):
                return begin
        return None


def has_crc32(token: str) -> bool:
    """Tell whether the last six characters of a token are the CRC-32 of the 30 before, in base 62.

    The check digits of GitHub's and npm's tokens: https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/.
    """
    drawn, digits = token[-36:-6], token[-6:]
    return len(token) == 40 and crc32_of(drawn) == digits


def crc32_of(drawn: str) -> str:
    """Return the six check digits for the 30 random characters of a token."""
    number, digits = zlib.crc32(drawn.encode()), ""
    while number:
        number, digit = divmod(number, len(_BASE62))
        digits = _BASE62[digit] + digits
    return digits.rjust(6, "0")


def _continues_before(text: str, position: int) -> bool:
    """Tell whether the word at a position begins further left."""
    before = text[max(0, position - 1) : position]
    if not (before.isascii() and before.isalnum() and text[position].isalnum()):
        return False
    return not text.endswith(_ESCAPES, max(0, position - 3), position)


def _continues_after(text: str, end: int) -> bool:
    return end < len(text) and text[end].isascii() and text[end].isalnum()


_CHECKS: dict[str, Check] = {"crc32": has_crc32}


def _formats() -> Iterator[TokenFormat]:
    file = Path(__file__).with_name("vendors.toml").read_text(encoding="utf-8")
    for issuer in tomllib.loads(file)["issuer"]:
        for each in issuer["formats"]:
            yield TokenFormat(
                each["kind"],
                issuer["documentation"],
                tuple(each["starts"].split()),
                each["body"],
                each.get("before", ""),
                _CHECKS[each["check"]] if "check" in each else None,
            )


FORMATS = tuple(_formats())
"""All formats, as `vendors.toml` lists them."""
