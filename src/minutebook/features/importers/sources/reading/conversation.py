"""Builds the turns of a session from its messages: a prompt, the way to the answer, the answer."""

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

_MOST_HELD = 90
"""Turns that are held back, since the person may take them back; an earlier one is retracted if that happens."""

_TICK = timedelta(microseconds=1)


class MessageRef(NamedTuple):
    """The id of a message, where it stands in its file, and its instant, if it names one."""

    key: str
    place: SourcePlace
    at: datetime | None


class _Kind(Enum):
    """The kinds of pieces of which a turn is made; PROGRAM is what a program told the model."""

    PROMPT, PROGRAM, THOUGHT, ANSWER, USE = range(5)


@dataclass(slots=True, eq=False)
class _Turn:
    """A turn: the message that began it, the `previous` turn that it follows, and its pieces in order.

    An aside was typed while the model worked, whatever parent its message names. A turn is drafted once its draft was
    yielded; it is merged if its pieces became part of the turn before it.
    """

    ref: MessageRef
    previous: "_Turn | None"
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
    """One session of a source, read message by message: `settled` yields turns, `remaining` the others at its end.

    The thought of a turn holds, in order, texts of programs, reasoning, answers before a tool was used, each use
    of a tool and its result. Turns are a tree: those that a person took back are not on the path from the last
    turn to the first. `undated` is the instant of messages that name none.
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
        """The open turn and those before it, oldest first, without those that were yielded."""
        self._keys: dict[str, _Turn | None] = {}
        """The turn to which each message belongs, by the message's key."""
        self._queued: dict[str, list[_Turn]] = {}
        self._gone: list[MessageRef] = []
        self._last: datetime | None = None
        self._context = ""

    def add_prompt(self, ref: MessageRef, text: str) -> None:
        """Begin a turn with the person's words."""
        self._begin(ref).pieces.append((_Kind.PROMPT, text))

    def add_aside(self, ref: MessageRef, text: str) -> None:
        """Begin a turn with words that the person typed while the model worked."""
        self.add_prompt(ref, text)
        self._turns[-1].is_aside = True

    def add_queued(self, ref: MessageRef, text: str) -> None:
        """Begin a turn with words that wait until the model has ended; `unqueue` takes them out again."""
        self.add_aside(ref, text)
        self._queued.setdefault(_words(text), []).append(self._turns[-1])

    def unqueue(self, text: str | None) -> bool:
        """Remove queued words, since they were sent or taken back; tell whether there were any.

        They are the whole `text` or lines of it; with None all that are queued.
        """
        texts = list(self._queued) if text is None else [text, *text.split("\n")]
        taken = [turn for each in texts for turn in self._queued.pop(_words(each), ())]
        for turn in taken:
            del turn.pieces[:1]
            turn.is_merged = turn.is_drafted
            self._gone.append(turn.ref)
        return bool(taken)

    @property
    def has_turns(self) -> bool:
        """Whether a turn has begun."""
        return bool(self._turns)

    def has_open_prompt(self, text: str) -> bool:
        """Tell whether the open turn has this prompt, and no answer yet."""
        pieces = [] if self._turn is None else self._turn.pieces
        others = [(kind, _words(each)) for kind, each in pieces if kind is not _Kind.PROGRAM]
        return others == [(_Kind.PROMPT, _words(text))]

    def has_message(self, key: str) -> bool:
        """Tell whether a message with this key was noted by `note_place`."""
        return key in self._keys

    def note_parent(self, parent: str) -> None:
        """Note the parent of a message: once messages have one, a prompt without any follows no turn."""
        if parent in self._keys:
            self._keys[""] = None

    def note_place(self, key: str, parent: str = "") -> None:
        """Note that a message belongs to the turn of its parent, else to the open turn."""
        self._keys[key] = self._keys.get(parent or key, self._turn)

    def go_back(self, parent: str) -> None:
        """Take back the turns after that of a message, except asides; nothing if the message is not known."""
        turn, target = self._turn, self._keys.get(parent, self._turn)
        while turn is not None and turn is not target and turn.is_aside:
            turn = turn.previous
        if turn is not target:
            self._continue_after(target)

    def take_back_turns(self, count: float = math.inf) -> None:
        """Take back turns up to the last `count` that the person began; all turns by default."""
        turn = self._turn
        while turn is not None and count > 0:
            count -= turn.is_prompted
            turn = turn.previous
        self._continue_after(turn)

    def note_taken_back(self, ref: MessageRef) -> None:
        """Note a message that the source took back: an earlier import may have made a turn of it."""
        self._gone.append(ref)

    def note_context(self, parts: Mapping[str, str]) -> None:
        """Note model, folder and the like by name: the turn's thought begins with them if they have changed."""
        self.folder = self.folder or parts.get("folder", "")
        text = "; ".join(f"{name} {value}" for name, value in parts.items() if value)
        if self._turn is not None and text:
            self._turn.context = text

    def add_program_text(self, ref: MessageRef, text: str) -> None:
        """Add the words of a program that stand in a message of the person; they begin no turn if one is open.

        An earlier import may have taken them for a turn, which is retracted.
        """
        if self._turn is not None and text:
            self._gone.append(ref)
        self._add(ref, _Kind.PROGRAM, text)

    def add_reasoning(self, ref: MessageRef, text: str) -> None:
        """Add a piece of reasoning."""
        self._add(ref, _Kind.THOUGHT, text)

    def add_answer(self, ref: MessageRef, text: str) -> None:
        """Add a piece of the answer."""
        self._add(ref, _Kind.ANSWER, text)

    def add_tool_use(self, ref: MessageRef, tool: str, arguments: str) -> None:
        """Add the use of a tool; the text before it becomes part of the thought."""
        self._add(ref, _Kind.USE, f"[{tool}] {_cut(arguments, LONGEST_PIECE)}".rstrip())

    def add_tool_result(self, text: str) -> None:
        """Add the result of a tool."""
        if self._turn is not None and text.strip():
            self._turn.pieces.append((_Kind.THOUGHT, f"→ {_cut(text, LONGEST_PIECE)}"))

    def note_recap(self, text: str) -> None:
        """Note the summary of the session so far by the client's own model; a turn keeps the last one."""
        if self._turn is not None:
            self._turn.recap = " ".join(text.split())

    def settled(self) -> Iterator[TurnDraft]:
        """Yield the turns that have _MOST_HELD later ones: a person hardly takes them back any more."""
        while len(self._path) > _MOST_HELD:
            yield from self._drafted()

    def remaining(self) -> Iterator[TurnDraft | GoneTurn]:
        """Yield the turns that `settled` did not, then a GoneTurn for each message that is no turn any more.

        Of such a message this import or an earlier one may have made a turn.
        """
        while self._path:
            yield from self._drafted()
        kept: set[str] = set()
        while self._turn is not None:
            if not self._turn.is_merged:
                kept.add(self._turn.ref.key)
            self._turn = self._turn.previous
        for ref in (*self._gone, *(turn.ref for turn in self._turns)):
            if ref.key not in kept:
                kept.add(ref.key)
                yield GoneTurn(
                    key=ref.key, place=ref.place, program=self.program, session=self.session
                )

    def _drafted(self) -> Iterator[TurnDraft]:
        """Remove the oldest turn of the path and yield its draft, unless all its texts are empty.

        Pieces that followed a message that was only queued belong to the turn before it.
        """
        turn = self._path.popleft()
        while self._path and self._path[0].is_aside and not self._path[0].is_prompted:
            queued = self._path.popleft()
            queued.is_drafted = queued.is_merged = True
            turn.pieces += queued.pieces
        turn.is_drafted = True
        if any(text for _, text in turn.pieces):
            yield self._draft(turn)
        # The texts need no memory any more; `is_prompted` asks for the kind of the first.
        turn.pieces = [(kind, "") for kind, _ in turn.pieces[:1]]

    def _draft(self, turn: _Turn) -> TurnDraft:
        """Return the draft of a turn; its response is the answers after the last use of a tool, its thought all else."""
        at = turn.ref.at or self._last or self.undated
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
            key=turn.ref.key,
            place=turn.ref.place,
            program=self.program,
            version=turn.version,
            folder=self.folder,
            session=self.session,
            at=self._last,
            prompt=_joined(prompt),
            thought=_joined(thought),
            response=_joined(answer),
        )

    def _begin(self, ref: MessageRef) -> _Turn:
        """Begin a turn after the open one with a message, and return it."""
        self._turn = _Turn(ref, self._turn, self.version)
        self._turns.append(self._turn)
        self._path.append(self._turn)
        return self._turn

    def _continue_after(self, turn: _Turn | None) -> None:
        """Make a turn the open one, and those before it that were not drafted the path; None: no turn is open."""
        self._turn = turn
        self._path.clear()
        while turn is not None and not turn.is_drafted:
            self._path.appendleft(turn)
            turn = turn.previous

    def _add(self, ref: MessageRef, kind: _Kind, text: str) -> None:
        """Add a piece to the open turn, or to a new one without a prompt: a session may continue another one."""
        if text.strip():
            (self._turn or self._begin(ref)).pieces.append((kind, text))


LineReader = Callable[[MessageRef, Mapping[str, Any]], Conversation | UnreadPart | None]
"""Takes in a line of a file; returns the session to which it belongs, or the line if it cannot be read."""


def read_lines(
    source: ImportSource, reader_of: Callable[[SourceFile], LineReader]
) -> Iterator[Found]:
    """Yield the turns of a source's files, which have a JSON object on each line; `reader_of` returns a file's reader.

    The key of a message is the number of its line; that of the second object on a line ends with `.1`, and so on.
    """
    for file in source.files:
        read_line, line, nth = reader_of(file), 0, 0
        sessions: dict[int, Conversation] = {}
        for each in source.objects(file):
            if isinstance(each, UnreadPart):
                yield each
                continue
            number, item = each
            nth = nth + 1 if number == line else 0
            line = number
            place, key = SourcePlace(str(file.path), line), f"{line}.{nth}" if nth else str(line)
            session = read_line(MessageRef(key, place, instant_of(item.get("timestamp"))), item)
            if isinstance(session, UnreadPart):
                yield session
            elif session is not None:
                sessions[id(session)] = session
                yield from session.settled()
        for session in sessions.values():
            yield from session.remaining()


@lru_cache(maxsize=64)
def session_name(text: str) -> str:
    """Return a text as the name of a session: one short line; empty if nothing is left."""
    signs = (" " if unicodedata.category(c)[0] in "CZ" else c for c in text[: 4 * LONGEST_SESSION])
    return " ".join("".join(signs).split())[:LONGEST_SESSION]


def _words(text: str) -> str:
    """Return the words of a message in one line, without images, which not every form of a message has."""
    return " ".join(text.replace("[image]", "").split())


def _cut(text: str, most: int) -> str:
    left_out = len(text) - most
    return text if left_out <= 0 else f"{text[:most]}… ({left_out:,} more characters)"


def _joined(pieces: list[str]) -> str:
    return _cut("\n\n".join(filter(None, pieces)), LONGEST_TEXT)
