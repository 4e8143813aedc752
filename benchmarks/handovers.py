"""Judge summaries by what a colleague must learn from them: `python -m benchmarks handovers`.

`handovers.jsonl` holds one session a line, in English, German or Spanish, 8 to 60 turns long: its turns (prompt, thought with
the uses of tools, response), `facts` to be told (each a list of wordings of which one suffices), statements that a later turn
took back (`taken_back`), and pieces of commands and their output (`tool`). `part` says what a session is for: `first` were
written before the first summarizer that they judged; `tune` and `held` after it and before its successor, in the shape of long
responses with lists and tables, `tune` to tune by. `--summaries FILE` judges any other summarizer by a JSON object of session id
to summary; `--show PART` prints all of a part.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Cell, Table, asked, machine, publish
from benchmarks.summarizing import turns_of
from minutebook.features.summarizer.extractive import summarize
from minutebook.record.records import Turn

LABELLED = Path(__file__).with_name("handovers.jsonl")
PARTS = ("first", "tune", "held", "unseen")


@dataclass(frozen=True, slots=True)
class Handover:
    """A session, and what a colleague must and must not be told of it."""

    id: str
    language: str
    part: str
    turns: tuple[Turn, ...]
    facts: tuple[tuple[str, ...], ...]
    taken_back: tuple[str, ...]
    tool: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A summary, and what is right and wrong in it."""

    session: Handover
    text: str

    @property
    def missing(self) -> list[tuple[str, ...]]:
        """Facts that are told in none of their wordings."""
        return [each for each in self.session.facts if not any(map(self._tells, each))]

    @property
    def stale(self) -> list[str]:
        """Statements that were taken back and are told."""
        return list(filter(self._tells, self.session.taken_back))

    @property
    def of_tools(self) -> list[str]:
        """Lines that hold a piece of a command or of its output."""
        lines = self.text.splitlines()
        return [line for line in lines if any(piece in line for piece in self.session.tool)]

    @property
    def twice(self) -> list[str]:
        """Sentences that stand there twice."""
        said = [each for each in re.split(r"(?<=[.!?])\s+", self.text) if len(each.split()) > 3]
        return sorted({each for each in said if said.count(each) > 1})

    @property
    def words(self) -> int:
        """How many words it has."""
        return len(self.text.split())

    def _tells(self, wording: str) -> bool:
        return plain(wording) in plain(self.text)


def plain(text: str) -> str:
    """Return a text in small letters and without the marks of Markdown."""
    return text.lower().replace("*", "").replace("`", "")


def read() -> list[Handover]:
    """Read the sessions."""
    rows = map(json.loads, LABELLED.read_text(encoding="utf-8").splitlines())
    return [
        Handover(
            each["id"],
            each["language"],
            each["part"],
            turns_of(each["id"], each["turns"]),
            tuple(map(tuple, each["facts"])),
            tuple(each["taken_back"]),
            tuple(each["tool"]),
        )
        for each in rows
    ]


def built_in(session: Handover) -> str:
    """Return what the built-in summarizer tells of a session, with the title."""
    draft = summarize(lambda: session.turns, len(session.turns))
    return f"{draft.title}\n{draft.summary}"


def judged(by: Callable[[Handover], str]) -> list[Judged]:
    """Judge a summarizer's account of each session."""
    return [Judged(each, by(each)) for each in read()]


def tables(found: Sequence[Judged]) -> list[Table]:
    """Sum up, by session and by part."""
    columns = ("part", "session", "turns", "facts told", "taken back, told", "lines of tools", "twice", "words")  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for part in PARTS:
        own = [each for each in found if each.session.part == part]
        groups = [(each.session.id, [each]) for each in own] + [("all", own)]
        rows += [
            (part, name, sum(len(each.session.turns) for each in group), *_counts(group), max(each.words for each in group))
            for name, group in groups
        ]  # fmt: skip
    return [Table("Handovers", columns, rows)]


def _counts(group: Sequence[Judged]) -> tuple[Cell, ...]:
    facts = sum(len(each.session.facts) for each in group)
    told = facts - sum(len(each.missing) for each in group)
    stale = sum(len(each.stale) for each in group)
    taken_back = sum(len(each.session.taken_back) for each in group)
    return (
        f"{told}/{facts}",
        f"{stale}/{taken_back}",
        sum(len(each.of_tools) for each in group),
        sum(len(each.twice) for each in group),
    )


def show(found: Sequence[Judged]) -> None:
    """Print each summary and what is wrong with it."""
    for each in found:
        print(f"\n## {each.session.id}: {each.words} words")
        print(*(f"missing: {' | '.join(fact)}" for fact in each.missing), sep="\n")
        print(*(f"stale: {text}" for text in each.stale), sep="\n")
        print(*(f"tool: {line}" for line in each.of_tools), sep="\n")
        print(f"    {each.text}".replace("\n", "\n    "))


def main() -> None:
    """Judge, print, keep."""
    parser = asked("Judge summaries by what a colleague must learn from them.")
    parser.add_argument("--summaries", type=Path, help="judge these: a JSON object of session id to summary")  # fmt: skip
    parser.add_argument("--show", choices=PARTS, help="print each summary of this part, and what is wrong with it")  # fmt: skip
    given = parser.parse_args()
    by = built_in
    if given.summaries:
        texts: Mapping[str, str] = json.loads(given.summaries.read_text(encoding="utf-8"))
        by = lambda session: texts.get(session.id, "")  # noqa: E731
    found = judged(by)
    if given.show:
        show([each for each in found if each.session.part == given.show])
    publish("handovers", {**machine(), "sessions": len(found)}, tables(found), quick=given.quick)


if __name__ == "__main__":
    main()
