"""Splits a message into the person's words and the texts that programs put there, by their tags and forms."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NOTHING = "(?!)"


@dataclass(frozen=True, slots=True)
class ProgramTexts:
    """The forms in which a client and other programs write into a person's messages.

    `outputs` and `asides` are names of tags, which begin a line or follow another tag. An output ends with the
    last closing tag of its name, since it may hold any text; without one it goes to the end of a text that begins
    with it. An aside ends with the last closing tag before the next aside of its name. `lines` are regular
    expressions for single lines. In a text that begins with one of `heads`, the person's words are those after the
    last match of `request`.
    """

    outputs: tuple[str, ...] = ()
    asides: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    request: str = _NOTHING

    def split(self, text: str) -> tuple[str, str]:
        """Return the person's words of a text, and those of programs; takes linear time."""
        programs: list[str] = []
        if self.heads and text.lstrip().startswith(self.heads):
            ends = [found.end() for found in re.finditer(self.request, text, re.MULTILINE)]
            programs.append(text[: ends[-1]] if ends else text)
            text = text[ends[-1] :] if ends else ""
        said, at = [], 0
        for start, end in sorted(self._spans(text)):
            if start >= at:
                said.append(text[at:start].strip())
                programs.append(text[start:end])
                at = end
        if not programs:
            return text, ""
        said.append(text[at:].strip())
        return "\n\n".join(filter(None, said)), "\n".join(programs)

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of each part of a text that a program wrote; parts may overlap."""
        for found in re.finditer(rf"^(?:{'|'.join((*self.lines, _NOTHING))})", text, re.MULTILINE):
            yield found.span()
        names = "|".join((*self.outputs, *self.asides))
        tags = re.compile(
            rf"(?<![^\n>])<(?P<opened>{names})(?:\s[^<>]*)?>|</(?P<closed>{names})\s*>",
            re.IGNORECASE,
        )
        beginning = len(text) - len(text.lstrip())
        ends: dict[str, int] = {}
        for tag in reversed(list(tags.finditer(text))):
            name = (tag["opened"] or tag["closed"]).lower()
            if tag["closed"]:
                ends.setdefault(name, tag.end())
                continue
            end = ends.get(name, len(text) if tag.start() == beginning else 0)
            if name in self.asides:
                end = ends.pop(name, 0)
            if end:
                yield tag.start(), end
