"""Messages of a session put together to turns: a prompt, the way to the answer, the answer."""

import math
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile
from minutebook.features.importers.sources.reading.values import instant_of
from minutebook.record.writing.source_drafts import (
    Found,
    GoneTurn,
    SourcePlace,
    TurnDraft,
    UnreadPart,
)
from minutebook.record.writing.turns import LONGEST_SESSION, RECAP

LONGEST_PIECE = 4_000
"""Characters kept of what a tool was asked, and of what it answered; the rest is files and output."""

LONGEST_TEXT = 1_000_000
"""Characters kept of each of a turn's three texts."""

_HELD = 90
"""Turns that are held, since the person may take them back; an earlier one is retracted if that happens."""

_TICK = timedelta(microseconds=1)


class Message(NamedTuple):
    """The id of a message, its position, and its instant, if it names one."""

    key: str
    place: SourcePlace
    at: datetime | None


class _Kind(Enum):
    """The kinds of pieces of which a turn is made; TOLD is a program's, to the model."""

    PROMPT, TOLD, THOUGHT, ANSWER, USE = range(5)


@dataclass(slots=True, eq=False)
class _Turn:
    """A turn: the message that began it, the turn that it follows, and its pieces in order.

    An aside was typed while the model worked, whatever message it is said to follow.
    """

    where: Message
    before: "_Turn | None"
    version: str
    is_aside: bool = False
    is_drafted: bool = False
    is_merged: bool = False
    context: str = ""
    recap: str = ""
    pieces: list[tuple[_Kind, str]] = field(default_factory=list)

    @property
    def is_prompted(self) -> bool:
        """Whether the person began it."""
        return bool(self.pieces) and self.pieces[0][0] is _Kind.PROMPT


class Conversation:
    """One session of a source, read message by message: `ready` yields turns, `found` the rest at its end.

    The thought of a turn holds, in order, what programs told, reasoning, what was said before a tool
    was used, each use of a tool and what it answered. Turns are a tree: one that a person took back
    is none of those that the last one follows. `undated` is the instant of messages that name none.
    """

    def __init__(
        self, program: str, session: str, file: SourceFile, undated: datetime | None = None
    ) -> None:
        self.program = program
        self.session = session_name(session)
        self.undated = undated or file.modified
        self.version = ""
        self.folder = ""
        """The folder in which the session began, as far as it was read."""
        self._turn: _Turn | None = None
        self._turns: list[_Turn] = []
        self._path: deque[_Turn] = deque()
        """The turns that the open one follows, and that one itself, as far as they were not yielded."""
        self._keys: dict[str, _Turn | None] = {}
        """The turn at which each message stands, by the message's key."""
        self._queued: dict[str, list[_Turn]] = {}
        self._gone: list[Message] = []
        self._last: datetime | None = None
        self._context = ""

    def prompt(self, where: Message, text: str) -> None:
        """Begin a turn with the person's words."""
        self._begin(where).pieces.append((_Kind.PROMPT, text))

    def interject(self, where: Message, text: str) -> None:
        """Begin a turn with words that the person typed while the model worked."""
        self.prompt(where, text)
        self._turns[-1].is_aside = True

    def queue(self, where: Message, text: str) -> None:
        """Begin a turn with words that wait for the model to end, unless `unqueue` takes them."""
        self.interject(where, text)
        self._queued.setdefault(_words(text), []).append(self._turns[-1])

    def unqueue(self, text: str | None) -> bool:
        """Let queued words be no turn: they were sent, alone or in lines of a text, or taken back; all if None.

        Tell whether there were any.
        """
        texts = list(self._queued) if text is None else [text, *text.split("\n")]
        taken = [turn for each in texts for turn in self._queued.pop(_words(each), ())]
        for turn in taken:
            del turn.pieces[:1]
            turn.is_merged = turn.is_drafted
            self._gone.append(turn.where)
        return bool(taken)

    @property
    def has_turns(self) -> bool:
        """Whether a turn has begun."""
        return bool(self._turns)

    def is_asked(self, text: str) -> bool:
        """Tell whether the open turn has this prompt, and no answer yet."""
        pieces = [] if self._turn is None else self._turn.pieces
        said = [(kind, _words(each)) for kind, each in pieces if kind is not _Kind.TOLD]
        return said == [(_Kind.PROMPT, _words(text))]

    def has(self, key: str) -> bool:
        """Tell whether a message of the key was placed."""
        return key in self._keys

    def link(self, parent: str) -> None:
        """Note the parent of a message: where messages have one, a prompt without any stands before all turns."""
        if parent in self._keys:
            self._keys[""] = None

    def place(self, key: str, parent: str = "") -> None:
        """Note that a message stands at the turn of its parent, else at the turn that is open."""
        self._keys[key] = self._keys.get(parent or key, self._turn)

    def go_back(self, parent: str) -> None:
        """Go on behind the turn of a message: those since then were taken back. Nothing if it is not known."""
        turn, target = self._turn, self._keys.get(parent, self._turn)
        while turn is not None and turn is not target and turn.is_aside:
            turn = turn.before
        if turn is not target:
            self._go_on_behind(target)

    def take_back(self, count: float = math.inf) -> None:
        """Take back the last so many turns that the person began, or all turns."""
        turn = self._turn
        while turn is not None and count > 0:
            count -= turn.is_prompted
            turn = turn.before
        self._go_on_behind(turn)

    def drop(self, where: Message) -> None:
        """Note a message that the source took back, of which a turn may have been made earlier."""
        self._gone.append(where)

    def context(self, parts: Mapping[str, str]) -> None:
        """Note model, folder and the like: the thought begins with them where they are not as before."""
        self.folder = self.folder or parts.get("folder", "")
        text = "; ".join(f"{name} {value}" for name, value in parts.items() if value)
        if self._turn is not None and text:
            self._turn.context = text

    def tell(self, where: Message, text: str) -> None:
        """Add the words of a program in the place of the person's; they begin no turn, though they may have earlier."""
        if self._turn is not None and text:
            self._gone.append(where)
        self._add(where, _Kind.TOLD, text)

    def think(self, where: Message, text: str) -> None:
        """Add a piece of reasoning."""
        self._add(where, _Kind.THOUGHT, text)

    def say(self, where: Message, text: str) -> None:
        """Add a piece of the answer."""
        self._add(where, _Kind.ANSWER, text)

    def use(self, where: Message, tool: str, arguments: str) -> None:
        """Add the use of a tool; the text before it becomes part of the thought."""
        self._add(where, _Kind.USE, f"[{tool}] {_cut(arguments, LONGEST_PIECE)}".rstrip())

    def result(self, text: str) -> None:
        """Add the result of a tool."""
        if self._turn is not None and text.strip():
            self._turn.pieces.append((_Kind.THOUGHT, f"→ {_cut(text, LONGEST_PIECE)}"))

    def recap(self, text: str) -> None:
        """Note how the client's own model told the session so far; the last one of a turn counts."""
        if self._turn is not None:
            self._turn.recap = " ".join(text.split())

    def ready(self) -> Iterator[TurnDraft]:
        """Yield the turns that are hardly taken back any more: so many came since."""
        while len(self._path) > _HELD:
            yield from self._drafted()

    def found(self) -> Iterator[TurnDraft | GoneTurn]:
        """Yield the other turns that stand, then messages that this reading or an earlier one took for turns."""
        while self._path:
            yield from self._drafted()
        standing: set[str] = set()
        while self._turn is not None:
            standing.update([] if self._turn.is_merged else [self._turn.where.key])
            self._turn = self._turn.before
        for where in (*self._gone, *(turn.where for turn in self._turns)):
            if where.key not in standing:
                standing.add(where.key)
                yield GoneTurn(
                    key=where.key, place=where.place, program=self.program, session=self.session
                )

    def _drafted(self) -> Iterator[TurnDraft]:
        """Yield the draft of the oldest turn of the path, if something was said in it.

        What followed a message that was only queued belongs to the turn before it.
        """
        turn = self._path.popleft()
        while self._path and self._path[0].is_aside and not self._path[0].is_prompted:
            queued = self._path.popleft()
            queued.is_drafted = queued.is_merged = True
            turn.pieces += queued.pieces
        turn.is_drafted = True
        if any(text for _, text in turn.pieces):
            yield self._draft(turn)
        turn.pieces = [(kind, "") for kind, _ in turn.pieces[:1]]

    def _draft(self, turn: _Turn) -> TurnDraft:
        at = turn.where.at or self._last or self.undated
        self._last = at if self._last is None or at > self._last else self._last + _TICK
        last_use = max(
            (n for n, each in enumerate(turn.pieces) if each[0] is _Kind.USE), default=-1
        )
        prompt: list[str] = []
        thought: list[str] = []
        answer: list[str] = []
        if turn.context not in ("", self._context):
            self._context = turn.context
            thought.append(f"[{turn.context}]")
        for number, (kind, text) in enumerate(turn.pieces):
            if kind is _Kind.ANSWER and number > last_use:
                answer.append(text)
            else:
                (prompt if kind is _Kind.PROMPT else thought).append(text)
        if turn.recap:
            thought.append(f"{RECAP} {turn.recap}")
        return TurnDraft(
            key=turn.where.key,
            place=turn.where.place,
            program=self.program,
            version=turn.version,
            folder=self.folder,
            session=self.session,
            at=self._last,
            prompt=_joined(prompt),
            thought=_joined(thought),
            response=_joined(answer),
        )

    def _begin(self, where: Message) -> _Turn:
        self._turn = _Turn(where, self._turn, self.version)
        self._turns.append(self._turn)
        self._path.append(self._turn)
        return self._turn

    def _go_on_behind(self, turn: _Turn | None) -> None:
        self._turn = turn
        self._path.clear()
        while turn is not None and not turn.is_drafted:
            self._path.appendleft(turn)
            turn = turn.before

    def _add(self, where: Message, kind: _Kind, text: str) -> None:
        """Add a piece to the open turn, or to a new one without a prompt: a session may go on from another's."""
        if text.strip():
            (self._turn or self._begin(where)).pieces.append((kind, text))


Hear = Callable[[Message, Mapping[str, Any]], Conversation | UnreadPart | None]
"""Takes in a line of a file; returns the session to which it belongs, or the line if it cannot be read."""


def read_lines(source: ImportSource, hearer: Callable[[SourceFile], Hear]) -> Iterator[Found]:
    """Yield the turns of the files of a source that has an object a line.

    The key of a message without an id is the number of its line; of a further one on the line it has more.
    """
    for file in source.files:
        hear, line, nth = hearer(file), 0, 0
        sessions: dict[int, Conversation] = {}
        for each in source.objects(file):
            if isinstance(each, UnreadPart):
                yield each
                continue
            nth = nth + 1 if each[0] == line else 0
            line = each[0]
            place = SourcePlace(str(file.path), line)
            at = instant_of(each[1].get("timestamp"))
            session = hear(Message(f"{line}.{nth}" if nth else str(line), place, at), each[1])
            if isinstance(session, UnreadPart):
                yield session
            elif session is not None:
                sessions[id(session)] = session
                yield from session.ready()
        for session in sessions.values():
            yield from session.found()


@lru_cache(maxsize=64)
def session_name(text: str) -> str:
    """Return a text as the name of a session: one short line; empty if nothing is left."""
    signs = (" " if unicodedata.category(c)[0] in "CZ" else c for c in text[: 4 * LONGEST_SESSION])
    return " ".join("".join(signs).split())[:LONGEST_SESSION]


def _words(text: str) -> str:
    """Return the words of a message in one line: of its forms some have no images."""
    return " ".join(text.replace("[image]", "").split())


def _cut(text: str, most: int) -> str:
    left_out = len(text) - most
    return text if left_out <= 0 else f"{text[:most]}… ({left_out:,} more characters)"


def _joined(pieces: list[str]) -> str:
    return _cut("\n\n".join(filter(None, pieces)), LONGEST_TEXT)
