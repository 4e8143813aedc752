"""Judge what the built-in summarizer takes for retracted, by sessions labelled by hand in four languages.

`python -m benchmarks.retractions [--quick] [--show PART]`. `retractions.jsonl` holds one session a line: its
turns (prompt, response), its `kind` (what a later statement changes: a number, a state, a name, a cause, a
choice; or `trap`: nothing, though it looks so), statements that a later turn took back, and statements that
hold. Each label is a part of the text as written. `learn`, `seen`, `unseen`, `final`, `mixed`, `more` and `kept` have mostly two
turns; `long` (replaced in the next turn, mostly), `far` (replaced some turns later) and `lessons` have more. All these are fitted to by
`benchmarks.fit_talks`. `distinct` and `independent` are not; the latter is by another author. The labelled sessions of
`benchmarks.summarizing` are judged beside them; what a summary of those must hold counts as what holds.

A retracted statement is repeated if the title or the summary holds it. A statement that holds is dropped if
the sentence that says it is among those taken back. Beside the labelled statements, all other sentences count.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import summarizing
from benchmarks.measure import Cell, Table, asked, machine, publish
from minutebook.features.summarizer.extractive import Selection, quotes_of, summarize
from minutebook.record.records import Turn

LABELLED = Path(__file__).with_name("retractions.jsonl")
PARTS = (
    "learn",
    "seen",
    "unseen",
    "final",
    "mixed",
    "more",
    "kept",
    "long",
    "far",
    "lessons",
    "distinct",
    "independent",
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A session with statements that were taken back and statements that hold."""

    id: str
    language: str
    part: str
    kind: str
    turns: tuple[Turn, ...]
    retracted: tuple[str, ...]
    holds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a session's statements.

    `repeated` of the retracted ones stand in the summary, `left` of them could; of those that hold, `told`
    stand in the summary and `dropped` were taken for retracted; `others` are sentences without a retracted statement that lost a part.
    """

    session: Labelled
    repeated: list[str]
    left: list[str]
    told: list[str]
    dropped: list[str]
    others: list[str]
    sentences: int


def read(path: Path = LABELLED) -> list[Labelled]:
    """Read the labelled sessions."""
    told = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        Labelled(
            id=each["id"],
            language=each["language"],
            part=each["part"],
            kind=each["kind"],
            turns=summarizing.turns_of(each["id"], [(prompt, "", response) for prompt, response in each["turns"]]),
            retracted=tuple(each["retracted"]),
            holds=tuple(each["holds"]),
        )
        for each in told
    ]  # fmt: skip


def earlier_sets() -> list[Labelled]:
    """Return the labelled sessions of `benchmarks.summarizing` as they are judged here."""
    return [
        Labelled(each.id, each.language, each.part, "any", each.turns, each.retracted, each.must)
        for each in summarizing.read()
    ]


def judged(session: Labelled) -> Judged:
    """Summarise a session and compare what is left with its labels."""
    draft = summarize(lambda: session.turns, len(session.turns))
    text = f"{draft.title}\n{draft.summary}".lower()
    found = list(quotes_of(session.turns, len(session.turns)))
    selection = Selection(found, len(session.turns))
    left = {
        i: found[i].text for i, chance in selection.chances.items() if chance < selection.most_doubt
    }
    remains = "\n".join(left.values()).lower()
    said = "\n".join(each.text for each in found).lower()
    innocent = [
        index
        for index, each in enumerate(found)
        if not any(label.lower() in each.text.lower() for label in session.retracted)
    ]
    return Judged(
        session,
        repeated=[each for each in session.retracted if each.lower() in text],
        left=[each for each in session.retracted if each.lower() in remains],
        told=[each for each in session.holds if each.lower() in text],
        dropped=[each for each in session.holds if each.lower() in said and each.lower() not in remains],
        others=[found[index].text for index in innocent if left.get(index) != found[index].text],
        sentences=len(innocent),
    )  # fmt: skip


def tables(found: Sequence[Judged]) -> list[Table]:
    """Sum up, by part, language and kind."""
    columns = ("part", "which", "sessions", "retracted, repeated", "retracted, left", "holds, dropped", "holds, told", "other sentences, dropped")  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for part in (*PARTS, *summarizing.PARTS):
        of_part = [each for each in found if each.session.part == part]
        kinds = sorted({each.session.kind for each in of_part} - {"any"})
        for which in ("all", "en", "de", "es", "fr", *kinds):
            group = [
                each for each in of_part if which in ("all", each.session.language, each.session.kind)
            ]  # fmt: skip
            rows.append((part, which, len(group), *_counts(group)))
    return [Table("Retractions", columns, rows)]


def _counts(group: Sequence[Judged]) -> tuple[str, ...]:
    retracted = sum(len(each.session.retracted) for each in group)
    holds = sum(len(each.session.holds) for each in group)
    return (
        f"{sum(len(each.repeated) for each in group)}/{retracted}",
        f"{sum(len(each.left) for each in group)}/{retracted}",
        f"{sum(len(each.dropped) for each in group)}/{holds}",
        f"{sum(len(each.told) for each in group)}/{holds}",
        f"{sum(len(each.others) for each in group)}/{sum(each.sentences for each in group)}",
    )


def show(found: Sequence[Judged]) -> None:
    """Print what is wrong with each session."""
    for each in found:
        for name, wrong in (("left", each.left), ("dropped", each.dropped), ("other", each.others)):
            for text in wrong:
                print(f"{each.session.id}: {name}: {text}")


def main() -> None:
    """Judge, print, keep."""
    parser = asked("Judge what the built-in summarizer takes for retracted.")
    parser.add_argument("--show", choices=(*PARTS, *summarizing.PARTS), help="print what is wrong with this part")  # fmt: skip
    given = parser.parse_args()
    found = [judged(each) for each in (*read(), *earlier_sets())]
    if given.show:
        show([each for each in found if each.session.part == given.show])
    method = {**machine(), "sessions": len(found), "written": "by hand, by the author of the rules"}  # fmt: skip
    publish("retractions", method, tables(found), quick=given.quick)


if __name__ == "__main__":
    main()
