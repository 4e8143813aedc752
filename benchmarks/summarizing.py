"""Judge the built-in summarizer by sessions labelled by hand, in English, German and Spanish.

`python -m benchmarks.summarizing [--quick] [--show PART]`. `labelled_sessions.jsonl` holds one session a
line: its turns (prompt, thought, response), the category, words of which a title must hold one, statements
that a summary must repeat, statements that it must not (a later turn took them back), errors that were
solved or still open at the end, and a band for each score. `part` says what a session is for: `tune` and
`held` were written before any rule was tuned, `tune` to tune by. `fresh` and `last` were written later, each
judged once before it was looked at; `fresh` was then tuned by, `last` was not.

What the bands mean. Quality: how right the result stands at the end (50 unverified, 100 verified without a
correction). Productivity: how much of what was asked got done. Impact: how far it reaches (30 one small
place, 60 something that users get, 90 released to all). Complexity: how hard it was (10 one question, 30 a
small change, 60 several files and a wrong turn, 90 many parts and dead ends).
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Cell, Table, asked, machine, publish
from minutebook.features.summarizer.extractive import summarize
from minutebook.memory.journal.summary_draft import SummaryDraft
from minutebook.record.records import DEFAULT_ORGANIZATION, SCORES, Turn
from minutebook.record.writing.turns import turn_id
from minutebook.text.sentences import sentences

LABELLED = Path(__file__).with_name("labelled_sessions.jsonl")
PARTS = ("tune", "held", "fresh", "last")
START = datetime(2026, 3, 2, 9, tzinfo=UTC)

# The judge's own words, in the three languages; the summarizer has others.
_FUNCTION_WORDS = """
    a an the and or of in on at to for from with by as is are was were be that this it its if when while our your my
    their we i you into not has have had do does than but
    der die das den dem des ein eine einen einem einer eines und oder von vom zu zum zur mit für auf im in an am bei
    aus nach über ist sind war dass wenn weil als wie ich du wir sie es nicht auch
    el la los las un una unos unas y o de del en a al con por para que se es son como si cuando lo su sus mi no
"""
_CLAUSE_WORDS = """
    because so which since whenever when while but and if until before after as weil damit wenn und aber sobald
    während ohne um porque cuando y pero si mientras aunque para desde sin
"""
_PREPOSITIONS = """
    of for in on at to from with by into as across without over under during de en con por para sin del al a desde
"""
_BEFORE_A_TITLE = """
    that please you to let's we let need and then bitte du ihr dass que favor puedes podrías quiero necesitamos so
"""
_POLITE = re.compile(r",? (?:please|bitte|por favor)\b", re.IGNORECASE)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
CLAUSE_WORDS = frozenset(_CLAUSE_WORDS.split())
PREPOSITIONS = frozenset(_PREPOSITIONS.split())
BEFORE_A_TITLE = frozenset(_BEFORE_A_TITLE.split())


@dataclass(frozen=True, slots=True)
class Labelled:
    """A session and what a good summary of it is."""

    id: str
    language: str
    part: str
    category: str
    turns: tuple[Turn, ...]
    title_words: tuple[str, ...]
    must: tuple[str, ...]
    retracted: tuple[str, ...]
    solved: tuple[str, ...]
    open: tuple[str, ...]
    bands: dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the summarizer made of a session, and what is wrong with it."""

    session: Labelled
    account: SummaryDraft

    @property
    def text(self) -> str:
        """All that a reader is told."""
        return f"{self.account.title}\n{self.account.summary}"

    @property
    def leaks(self) -> list[str]:
        """Retracted statements that are repeated."""
        return [each for each in self.session.retracted if each.lower() in self.text.lower()]

    @property
    def missing(self) -> list[str]:
        """Statements that should be there and are not."""
        return [each for each in self.session.must if each.lower() not in self.text.lower()]

    @property
    def misjudged_errors(self) -> list[str]:
        """Errors told with the wrong end, or not at all."""
        ends = dict.fromkeys(self.session.solved, "resolved")
        ends |= dict.fromkeys(self.session.open, "open")
        return [name for name, end in ends.items() if not self._tells(name, end)]

    def _tells(self, name: str, end: str) -> bool:
        _, _, listed = self.account.summary.partition("Errors met: ")
        return any(
            name in each and each.endswith(end) for each in re.split(r"\)(?:, |\.|$)", listed)
        )

    @property
    def is_whole(self) -> bool:
        """Whether the title is a whole phrase."""
        return is_whole(self.account.title, self.session.turns)

    @property
    def is_on_subject(self) -> bool:
        """Whether the title holds one of the words that name the session's subject."""
        return any(word in self.account.title.lower() for word in self.session.title_words)

    def fits(self, score: str) -> bool:
        """Tell whether a score lies in its band."""
        low, high = self.session.bands[score]
        value: int = getattr(self.account, score)
        return low <= value <= high


def read(path: Path = LABELLED) -> list[Labelled]:
    """Read the labelled sessions."""
    return [_session(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def judged(session: Labelled) -> Judged:
    """Summarise a session."""
    return Judged(session, summarize(lambda: session.turns, len(session.turns)))


def is_whole(title: str, turns: Sequence[Turn]) -> bool:
    """Tell whether a title is a whole phrase: a sentence of the session, or a part that can stand alone.

    A part ends where its sentence does, at a mark, before a conjunction or (not in German, whose verbs
    come last) a preposition; it begins so too, or after what only makes a request polite.
    """
    words = _words(title)
    if len(words) < 2 or title.endswith("…"):
        return False
    said = [
        each for turn in turns for part in (turn.prompt, turn.thought, turn.response) for each in sentences(part)
    ]  # fmt: skip
    return any(_is_part(each, words) for sentence in said for each in _places(words, sentence))


def _places(words: Sequence[str], sentence: str) -> list[tuple[str, str]]:
    """Return what stands before and after the words wherever they stand in a row in a sentence."""
    sentence = _POLITE.sub("", sentence)
    pattern = r"[\W_]+".join(re.escape(word) for word in words)
    return [
        (sentence[: match.start()], sentence[match.end() :])
        for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", sentence, re.IGNORECASE)
    ]


def _is_part(around: tuple[str, str], words: Sequence[str]) -> bool:
    before, after = around
    last, following = _words(before)[-1:], _words(after)[:1]
    german = bool({"der", "die", "das", "den", "ein", "eine", "einen", "bitte", "wir"} & {*words, *_words(before)})  # fmt: skip
    ends = CLAUSE_WORDS if german else CLAUSE_WORDS | PREPOSITIONS
    begins = not last or bool(re.search(r"[,;:—–()!?¿.«»„“\"]\s*\W*$", before)) or last[0] in BEFORE_A_TITLE  # fmt: skip
    if following and words[-1] in FUNCTION_WORDS:
        return False
    closes = not following or bool(re.match(r"\W*[,;:—–()!?.]", after)) or following[0] in ends
    return begins and closes


def _words(text: str) -> list[str]:
    return re.findall(r"[\w'-]*\w", text.lower())


def turns_of(session: str, told: Sequence[Sequence[str]]) -> tuple[Turn, ...]:
    """Make the turns of a session from prompts, thoughts and responses, a minute apart."""
    instants = [START + timedelta(minutes=number) for number in range(len(told))]
    return tuple(
        Turn(
            organization=DEFAULT_ORGANIZATION,
            id=turn_id(at),
            session=session,
            at=at,
            prompt=prompt,
            thought=thought,
            response=response,
            author="agent",
        )
        for at, (prompt, thought, response) in zip(instants, told, strict=True)
    )


def _session(told: dict[str, Any]) -> Labelled:
    return Labelled(
        id=told["id"],
        language=told["language"],
        part=told["part"],
        category=told["category"],
        turns=turns_of(told["id"], told["turns"]),
        title_words=tuple(told["title_words"]),
        must=tuple(told["must"]),
        retracted=tuple(told["retracted"]),
        solved=tuple(told["solved"]),
        open=tuple(told["open"]),
        bands={name: (told[name][0], told[name][1]) for name in SCORES},
    )


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the rank correlation of two rows; ties have their mean rank, a constant row gives NaN."""
    first, second = _ranks(one), _ranks(other)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    row = np.asarray(values, dtype=np.float64)
    below = (row[:, None] > row).sum(axis=1)
    same = (row[:, None] == row).sum(axis=1)
    return np.asarray(below + (same - 1) / 2, dtype=np.float64)


def tables(found: Sequence[Judged]) -> list[Table]:
    """Sum up, by part and language."""
    groups = [
        (part, language, [j for j in found if j.session.part == part and language in ("all", j.session.language)])
        for part in PARTS
        for language in ("all", "en", "de", "es")
    ]  # fmt: skip
    groups = [group for group in groups if group[2]]
    columns = ("part", "language", "sessions", "category", "whole titles", "titles on subject", "retracted, repeated", "said as must be", "errors' ends")  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (part, language, len(group), *_counts(group)) for part, language, group in groups
    ]
    scores: list[tuple[Cell, ...]] = []
    for part, language, group in groups:
        for name in SCORES:
            middle = [sum(j.session.bands[name]) / 2 for j in group]
            given = [float(getattr(j.account, name)) for j in group]
            fits = sum(j.fits(name) for j in group)
            scores.append((part, language, name, f"{fits}/{len(group)}", spearman(given, middle)))
    return [
        Table("Labelled sessions", columns, rows),
        Table("Scores", ("part", "language", "score", "in its band", "Spearman"), scores),
    ]


def _counts(group: Sequence[Judged]) -> tuple[str, ...]:
    def share(good: Callable[[Judged], bool]) -> str:
        return f"{sum(map(good, group))}/{len(group)}"

    def listed(wrong: Callable[[Judged], list[str]], of: Callable[[Labelled], int]) -> str:
        return f"{sum(len(wrong(j)) for j in group)}/{sum(of(j.session) for j in group)}"

    errors = sum(len(j.session.solved) + len(j.session.open) for j in group)
    wrong = sum(len(j.misjudged_errors) for j in group)
    must = sum(len(j.session.must) for j in group)
    return (
        share(lambda j: j.account.category == j.session.category),
        share(lambda j: j.is_whole),
        share(lambda j: j.is_on_subject),
        listed(lambda j: j.leaks, lambda s: len(s.retracted)),
        f"{must - sum(len(j.missing) for j in group)}/{must}",
        f"{errors - wrong}/{errors}",
    )


def show(found: Sequence[Judged]) -> None:
    """Print each session's account and what is wrong with it."""
    for each in found:
        session, account = each.session, each.account
        print(f"\n## {session.id}: {account.title!r}{'' if each.is_whole else '  [NOT WHOLE]'}")
        wrong = [f"{n} {getattr(account, n)} not in {session.bands[n]}" for n in SCORES if not each.fits(n)]  # fmt: skip
        if account.category != session.category:
            wrong.append(f"category {account.category} not {session.category}: {account.reasons['category']}")  # fmt: skip
        wrong += [f"leak: {leak}" for leak in each.leaks]
        wrong += [f"missing: {must}" for must in each.missing]
        wrong += [f"error: {name}" for name in each.misjudged_errors]
        wrong += [] if each.is_on_subject else ["title not on subject"]
        print(*wrong, sep="\n")
        print(f"    {account.summary}".replace("\n", "\n    "))


def main() -> None:
    """Judge, print, keep."""
    parser = asked("Judge the built-in summarizer by labelled sessions.")
    parser.add_argument("--show", choices=PARTS, help="print each summary of this part, and what is wrong")  # fmt: skip
    given = parser.parse_args()
    found = [judged(each) for each in read()]
    if given.show:
        show([each for each in found if each.session.part == given.show])
    method = {**machine(), "sessions": len(found), "written": "by hand, by the author of the rules"}  # fmt: skip
    publish("summarizing", method, tables(found), quick=given.quick)


if __name__ == "__main__":
    main()
