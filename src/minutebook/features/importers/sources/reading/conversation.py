"""Messages of a session put together to turns: a prompt, the way to the answer, the answer."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from minutebook.domain.writing.source_drafts import SourcePlace, TurnDraft
from minutebook.domain.writing.turns import LONGEST_SESSION, RECAP

LONGEST_PIECE = 4_000
"""Characters kept of what a tool was asked, and of what it answered; the rest is files and output."""

LONGEST_TEXT = 1_000_000
"""Characters kept of each of a turn's three texts."""

_TICK = timedelta(microseconds=1)


class Message(NamedTuple):
    """The id of a message, its position, and its instant, if it names one."""

    key: str
    place: SourcePlace
    at: datetime | None


@dataclass(slots=True)
class _Open:
    """A turn without its end yet, and the message that began it."""

    where: Message
    context: str = ""
    prompt: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    recap: str = ""


@dataclass(slots=True)
class Conversation:
    """One session of a source, read message by message; the end of a turn yields it.

    The thought holds, in order, reasoning, what was said before a tool was used, each use of a tool
    and what it answered. `undated` is the instant of messages that name none.
    """

    program: str
    session: str
    undated: datetime
    version: str = ""
    folder: str = ""
    """The folder in which the session began, as far as it was read."""
    _turn: _Open | None = None
    _last: datetime | None = None
    _context: str = ""

    def prompt(self, where: Message, text: str) -> TurnDraft | None:
        """Begin a turn; return the one that it ends."""
        ended = self.end()
        self._turn = _Open(where)
        self._turn.prompt.append(text)
        return ended

    @property
    def open_prompt(self) -> str | None:
        """The prompt of the turn that is open and has no answer yet; None if there is none."""
        turn = self._turn
        if turn is None or turn.thought or turn.answer:
            return None
        return "\n\n".join(turn.prompt)

    def context(self, parts: Mapping[str, str]) -> None:
        """Note model, folder and the like: the thought begins with them where they are not as before."""
        self.folder = self.folder or parts.get("folder", "")
        text = "; ".join(f"{name} {value}" for name, value in parts.items() if value)
        if self._turn is not None and text:
            self._turn.context = text

    def think(self, where: Message, text: str) -> None:
        """Add a piece of reasoning."""
        if text.strip():
            self._opened(where).thought.append(text)

    def say(self, where: Message, text: str) -> None:
        """Add a piece of the answer."""
        if text.strip():
            self._opened(where).answer.append(text)

    def use(self, where: Message, tool: str, arguments: str) -> None:
        """Add the use of a tool; the text before it becomes part of the thought."""
        turn = self._opened(where)
        turn.thought += turn.answer
        turn.answer.clear()
        turn.thought.append(f"[{tool}] {_cut(arguments)}".rstrip())

    def result(self, text: str) -> None:
        """Add the result of a tool."""
        if self._turn is not None and text.strip():
            self._turn.thought.append(f"→ {_cut(text)}")

    def recap(self, text: str) -> None:
        """Note how the client's own model told the session so far; the last one of a turn counts."""
        if self._turn is not None:
            self._turn.recap = " ".join(text.split())

    def end(self) -> TurnDraft | None:
        """End the open turn and return it; None if there is none, or nothing was said in it."""
        turn, self._turn = self._turn, None
        if turn is None or not any((*turn.prompt, *turn.thought, *turn.answer)):
            return None
        at = turn.where.at or self._last or self.undated
        if self._last is not None and at <= self._last:
            at = self._last + _TICK
        self._last = at
        if turn.context not in ("", self._context):
            self._context = turn.context
            turn.thought.insert(0, f"[{turn.context}]")
        if turn.recap:
            turn.thought.append(f"{RECAP} {turn.recap}")
        return TurnDraft(
            key=turn.where.key,
            place=turn.where.place,
            program=self.program,
            version=self.version,
            folder=self.folder,
            session=self.session,
            at=at,
            prompt=_joined(turn.prompt),
            thought=_joined(turn.thought),
            response=_joined(turn.answer),
        )

    def _opened(self, where: Message) -> _Open:
        """Return the open turn, or a new one without a prompt: a session may go on from another's."""
        if self._turn is None:
            self._turn = _Open(where)
        return self._turn


@lru_cache(maxsize=64)
def session_name(text: str) -> str:
    """Return a text as the name of a session: one short line; empty if nothing is left."""
    signs = (" " if unicodedata.category(c)[0] in "CZ" else c for c in text[: 4 * LONGEST_SESSION])
    return " ".join("".join(signs).split())[:LONGEST_SESSION]


def modified(seconds: float) -> datetime:
    """Return the instant of a file's last change."""
    return datetime.fromtimestamp(seconds, UTC)


def _cut(text: str) -> str:
    left_out = len(text) - LONGEST_PIECE
    return text if left_out <= 0 else f"{text[:LONGEST_PIECE]}… ({left_out:,} more characters)"


def _joined(pieces: list[str]) -> str:
    text = "\n\n".join(piece for piece in pieces if piece)
    left_out = len(text) - LONGEST_TEXT
    return text if left_out <= 0 else f"{text[:LONGEST_TEXT]}… ({left_out:,} more characters)"
