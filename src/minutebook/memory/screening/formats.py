"""Formats of tokens: their literal beginnings and the characters after them, and those that vendors publish."""

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
_RUN = r"<([A-Z]):(\d+)(?:-(\d+))?>"
_ESCAPES = ("\\n", "\\r", "\\t", "%20", "%3D", "%22")
"""What may stand before a token as letters although it is none: an escape."""

_LONGEST_LINE = 400
_MOST_LINES = 8
_CHARACTER = r"[A-Za-z0-9_.~+/\-]"
_TO_LINE_END = rf"{_CHARACTER}{{1,400}}[=\\]?\r?"
_NEXT_LINE = re.compile(rf"[ \t>|#*]{{0,12}}(?P<rest>{_CHARACTER}{{1,400}})(?P<soft>[=\\]?\r?)")
"""What a token goes on with in the next line, after what marks a quote, a comment or a step inwards."""

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
    for run in re.finditer(_RUN, body):
        if run.start() > end:
            yield body[end : run.start()]
        yield CharacterRun(run[1], int(run[2]), int(run[3] or run[2]))
        end = run.end()
    if end < len(body):
        yield body[end:]


@cache
def expression(body: str) -> re.Pattern[str]:
    """Return the expression of a body; it has no choice in a repetition, so that it is linear."""
    return re.compile(
        "".join(
            re.escape(part)
            if isinstance(part, str)
            else f"[{re.escape(ALPHABETS[part.letter])}]{{{part.least},{part.most}}}"
            for part in parts_of(body)
        )
    )


@cache
def longest(body: str) -> int:
    """Return how many characters a body may have."""
    return sum(
        part.most if isinstance(part, CharacterRun) else len(part) for part in parts_of(body)
    )


@cache
def shortest(body: str) -> int:
    """Return how many characters a body has at least."""
    return sum(
        part.least if isinstance(part, CharacterRun) else len(part) for part in parts_of(body)
    )


@dataclass(frozen=True, slots=True)
class TokenFormat:
    """A format of tokens: the name of its kind, its documentation, and how it is written.

    Every token has one of `starts` in it, after `before` (empty for most: the token begins with it)
    and before `body`. `check`, if any, proves a token by its check digits.
    """

    kind: str
    address: str
    starts: tuple[str, ...]
    body: str
    before: str = ""
    check: Check | None = None

    def match(self, text: str, start: str, at: int) -> tuple[int, int, bool] | None:
        """Return where a token begins and ends, and whether check digits prove it; None if it is none.

        `start` stands at `at` in the text.
        """
        after = at + len(start)
        found = expression(self.body).match(text, after)
        if found is None:
            return None
        begin, end = self._beginning(text, at), found.end()
        if begin is None or _goes_on_before(text, begin) or _goes_on_after(text, end):
            return None
        while text[end - 1] == ".":
            end -= 1
        if self.check is not None and self.check(text[begin:end]):
            return begin, end, True
        return (begin, end, False) if looks_random(text[begin:at] + text[after:end]) else None

    def match_wrapped(self, text: str, start: str, at: int) -> tuple[int, int, bool] | None:
        """Return the same of a token that is wrapped over line ends, as mails and quotes have it."""
        end = text.find("\n", at, at + _LONGEST_LINE)
        if end < 0 or not re.fullmatch(_TO_LINE_END, text[at:end]):
            return None
        first = max(0, at - longest(self.before) - 1)
        if _goes_on_before(text, at) and not self.before:
            return None
        places = [*range(first, first + len(text[first:end].rstrip("=\\\r")))]
        most = len(places) + longest(self.body)
        for _ in range(_MOST_LINES):
            following = _NEXT_LINE.match(text, end + 1)
            if following is None:
                break
            places += range(*following.span("rest"))
            end = following.end()
            if len(places) > most or text[end : end + 1] != "\n":
                break
        joined = "".join(text[place] for place in places)
        found = self.match(joined, start, at - first)
        if found is None:
            return None
        return places[found[0]], places[found[1] - 1] + 1, found[2]

    def _beginning(self, text: str, at: int) -> int | None:
        if not self.before:
            return at
        for begin in range(max(0, at - longest(self.before)), at):
            if expression(self.before).fullmatch(text, begin, at) and not _goes_on_before(
                text, begin
            ):
                return begin
        return None


def has_crc32(token: str) -> bool:
    """Tell whether the last six characters are the CRC-32 of the 30 before, in base 62.

    The check digits of GitHub's and npm's tokens: https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/.
    """
    drawn, digits = token[-36:-6], token[-6:]
    return len(token) == 40 and crc32_of(drawn) == digits


def crc32_of(drawn: str) -> str:
    """Return the six check digits of the 30 characters that were drawn for a token."""
    number, digits = zlib.crc32(drawn.encode()), ""
    while number:
        number, digit = divmod(number, len(_BASE62))
        digits = _BASE62[digit] + digits
    return digits.rjust(6, "0")


def _goes_on_before(text: str, at: int) -> bool:
    """Tell whether a longer word leads into the text at a place."""
    if at == 0 or not (text[at - 1].isascii() and text[at - 1].isalnum()) or not text[at].isalnum():
        return False
    return not text.endswith(_ESCAPES, max(0, at - 3), at)


def _goes_on_after(text: str, end: int) -> bool:
    return end < len(text) and text[end].isascii() and text[end].isalnum()


_CHECKS: dict[str, Check] = {"crc32": has_crc32}


def _listed() -> Iterator[TokenFormat]:
    listed = Path(__file__).with_name("vendors.toml").read_text(encoding="utf-8")
    for issuer in tomllib.loads(listed)["issuer"]:
        for each in issuer["formats"]:
            yield TokenFormat(
                each["kind"],
                issuer["documentation"],
                tuple(each["starts"].split()),
                each["body"],
                each.get("before", ""),
                _CHECKS[each["check"]] if "check" in each else None,
            )


FORMATS = tuple(_listed())
"""Every format with a beginning of its own."""
