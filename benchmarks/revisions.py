"""Judge which text is told to revise which: `python -m benchmarks revisions`.

`revisions.jsonl` holds pairs of a statement and a later one, in five languages, each with a question: half of them revise
it (`marked` by a word such as "now", or by none), half look alike and revise nothing. They were written before anything
was fitted; lines with odd numbers were learnt from (`learn`), lines with even numbers were not (`unseen`). Pairs of notes
are judged beside them, as wholes: those of `tidy.jsonl` and of the patterns of `tidy_patterns.jsonl`.
A pair is marked if `text.revisions` says that it is likely; no figure fits itself to what it judges.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from benchmarks.fit_revisions import Pair, Reader, labelled, notes, verdict_of
from benchmarks.measure import Cell, Table, asked, machine, publish
from minutebook.features.tidying.looking.notes import PairVerdict, compare
from minutebook.text.revisions import DatedText, revisions

AT_ONCE = 12
"""Texts that are judged at once where time is measured, as many as a search returns."""


def is_marked(reader: Reader, pair: Pair, *, by_states: bool, is_asked: bool) -> bool:
    """Tell whether the newer text of a pair is told to revise the older."""
    given: dict[str, Any] = {}
    if is_asked:
        question = reader.question(pair.question) if by_states else None
        given = {"asked": pair.question, "question": question}
    spell = reader.spell if by_states else None
    return bool(revisions(reader.candidates(pair, by_states=by_states), spell, **given))


def _pair(row: dict[str, Any]) -> Pair:
    return Pair(row["older"], row["newer"], verdict_of(row), row["language"], row["question"])


def shares(rows: Sequence[dict[str, Any]], marks: Sequence[bool]) -> Iterator[tuple[Cell, ...]]:
    """Yield how many of each group are marked: by word, form and language, and of what looks alike."""
    groups: dict[str, list[bool]] = {}
    for row, mark in zip(rows, marks, strict=True):
        if row["label"] == "alike":
            names = ["look alike", f"look alike, {row['language']}"]
        else:
            word = "with a word of change" if row["marked"] else "without such a word"
            names = ["revise", f"revise, {word}", f"revise, {row['form']}s", f"revise, {row['language']}"]  # fmt: skip
        for name in names:
            groups.setdefault(name, []).append(mark)
    for name in sorted(groups, key=lambda each: (each.startswith("look"), each)):
        found = groups[name]
        yield name, len(found), sum(found), f"{sum(found) / len(found):.2f}"


def of_notes(reader: Reader) -> Iterator[tuple[Cell, ...]]:
    """Yield for each part of the pairs of notes, by states and by words, how many of each label get which verdict."""
    for part, by_states in product(("learn", "unseen", "fresh"), (True, False)):
        spell = reader.spell if by_states else None
        counts: Counter[tuple[PairVerdict, PairVerdict]] = Counter()
        for pair in notes(part):
            older, newer = reader.candidates(pair, by_states=by_states)
            found = compare(older, newer, spell)
            counts[pair.verdict, found.verdict] += 1
        for label in PairVerdict:
            told = [counts[label, each] for each in PairVerdict]
            yield part, "states" if by_states else "words", str(label), sum(told), *told


def speed(reader: Reader, rows: Sequence[dict[str, Any]], rounds: int) -> tuple[Cell, ...]:
    """Return the processor's milliseconds for the candidates of one question, the least and the middle of some rounds."""
    began = datetime(2026, 3, 4, tzinfo=UTC)
    found = []
    for turn in range(rounds):
        some = [rows[(turn * 7 + number * 3) % len(rows)] for number in range(AT_ONCE // 2)]
        texts = [text for each in some for text in (each["older"], each["newer"])]
        given = [
            DatedText(text, began + timedelta(days=day), reader.packed(text))
            for day, text in enumerate(texts)
        ]
        question = reader.question(some[0]["question"])
        at = time.process_time()
        revisions(given, reader.spell, asked=some[0]["question"], question=question)
        found.append(1000 * (time.process_time() - at))
    found.sort()
    return AT_ONCE, f"{found[0]:.1f}", f"{found[len(found) // 2]:.1f}"


def main() -> None:
    """Judge, print, keep."""
    parser = asked("Judge which text is told to revise which.")
    parser.add_argument("--show", action="store_true", help="print what is wrongly told")
    given = parser.parse_args()
    reader = Reader()
    every = 8 if given.quick else 1
    tables = []
    for part in ("learn", "unseen"):
        rows = labelled(part)[::every]
        pairs = [_pair(each) for each in rows]
        for by_states, is_asked in ((True, True), (True, False), (False, True), (False, False)):
            marks = [
                is_marked(reader, each, by_states=by_states, is_asked=is_asked) for each in pairs
            ]
            name = f"{part}: {'states' if by_states else 'words'}, {'asked' if is_asked else 'not asked'}"
            tables.append(
                Table(name, ("pairs", "count", "marked", "share"), list(shares(rows, marks)))
            )
            if given.show:
                for mark, each in zip(marks, pairs, strict=True):
                    if mark is not each.revises:
                        print(
                            f"{name} {'missed' if each.revises else 'wrong'}: {each.older} | {each.newer}"
                        )
    columns = ("part", "by", "label", "pairs", *(f"told {each}" for each in PairVerdict))
    if not given.quick:
        tables.append(Table("Pairs of notes", columns, list(of_notes(reader))))
    timed = speed(reader, labelled("learn"), 3 if given.quick else 50)
    tables.append(Table("CPU", ("texts", "least ms", "middle ms"), [timed]))
    publish("revisions", machine(), tables, quick=given.quick)


if __name__ == "__main__":
    main()
