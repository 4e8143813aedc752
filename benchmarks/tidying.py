"""Judge what `minutebook tidy` would suggest, by cases labelled by hand in four languages.

`python -m benchmarks.tidying [--quick] [--show]`. `tidy.jsonl` holds one case a line: pairs of an older and a newer note
(`same`, `otherwise`, `apart`), texts with the day on which they were written and the first day on which they are past
(or none). They were written before the rules; the rules were made by the part `learn`. `unseen` was
judged once they were made; what it showed did not change them.

`tidy_patterns.jsonl` holds patterns, with what four notes each put into them: all of these stay. Beside them are pairs
of the same patterns in which a value differs.

All stand in one store a part, each case in a repository of its own, since cases share sentences, and the 210 unrelated notes of
`notes.jsonl` in another. A whole round is run: so a pair must be found before it is compared, and every suggestion that no
label names is wrong, those among the notes too.
Precision is the share of suggestions that a label names, recall the share of labels that were suggested.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import Cell, Table, asked, machine, publish
from benchmarks.reading import memory
from minutebook.app import App, open_app
from minutebook.config import load
from minutebook.features.tidying.findings import Topic
from minutebook.features.tidying.looking.rounds import Rounds
from minutebook.features.tidying.rows import TidyRows
from minutebook.record.caller import Caller
from minutebook.record.filters import Filter
from minutebook.record.records import Memory, MemoryType, Role
from minutebook.record.writing.drafts import Draft

HERE = Path(__file__).parent
LABELLED, NOTES = HERE / "tidy.jsonl", HERE / "notes.jsonl"
PATTERNS = HERE / "tidy_patterns.jsonl"
PARTS = ("learn", "unseen", "fresh")
PERSON = Caller(name="ada", role=Role.HUMAN)
FAR = datetime(2030, 1, 1, tzinfo=UTC)
"""After every day that a case names."""

PAIRS = {"same": Topic.DUPLICATE, "otherwise": Topic.CONTRADICTION}


@dataclass
class Judged:
    """What came of one kind in one part; `wrong` and `missed` are shown by `--show`."""

    part: str
    finding: Topic
    right: int
    wrong: list[str]
    missed: list[str]

    @property
    def row(self) -> tuple[Cell, ...]:
        """The part, the kind, its counts and its shares."""
        suggested, labelled = self.right + len(self.wrong), self.right + len(self.missed)
        shares = (self.right / max(1, suggested), self.right / max(1, labelled))
        return (self.part, str(self.finding), labelled, suggested, *(f"{each:.2f}" for each in shares))  # fmt: skip


class _Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 4, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


def cases(part: str) -> list[dict[str, Any]]:
    """Read the cases of a part."""
    read = map(json.loads, LABELLED.read_text(encoding="utf-8").splitlines())
    return [each for each in read if each["part"] == part]


def patterns(part: str) -> list[dict[str, Any]]:
    """Read the patterns of a part, and the pairs of notes of such a pattern in which a value differs."""
    read = map(json.loads, PATTERNS.read_text(encoding="utf-8").splitlines())
    return [each for each in read if each["part"] == part]


def judged_patterns(part: str, home: Path) -> Judged:
    """Tidy the notes of each pattern, and each pair in a repository of its own, and compare with the labels."""
    with closing(open_app(load({"home": str(home)}), clock=_Clock())) as app:
        app.embedding.start()
        app.embedding.wait(timeout=600.0)
        labels = []
        for each in patterns(part):
            if "older" in each:
                labels.append(tuple(_keep(app, each[k], each["id"]) for k in ("older", "newer")))
                continue
            for fill in each["fills"]:
                _keep(app, each["pattern"].format(*fill), each["id"])
        app.get(Rounds).run(PERSON)
        found: dict[Topic, list[tuple[str, ...]]] = {}
        for row in TidyRows(app.infrastructure.store.database).everything("default"):
            found.setdefault(row.finding, []).append(tuple(id for _, id in row.subjects))
        return _compared(f"patterns, {part}", Topic.CONTRADICTION, labels, found, _texts(app))


def judged(part: str, home: Path, notes: int, every: int) -> list[Judged]:
    """Put the cases of a part, and notes beside them, into a store, tidy it, and compare with the labels."""
    clock = _Clock()
    with closing(open_app(load({"home": str(home)}), clock=clock)) as app:
        app.embedding.start()
        app.embedding.wait(timeout=600.0)
        for text in _notes(notes):
            _keep(app, text)
        labelled = cases(part)[::every]
        ids = {each["id"]: _stored(app, clock, each) for each in labelled}
        clock.now = FAR
        app.get(Rounds).run(PERSON)
        found: dict[Topic, list[tuple[str, ...]]] = {}
        rows = TidyRows(app.infrastructure.store.database).everything("default")
        texts = _texts(app)
        for row in rows:
            found.setdefault(row.finding, []).append(tuple(id for _, id in row.subjects))
        due = dict(_ends(app))
    return [
        *(_of_pairs(part, label, labelled, ids, found, texts) for label in PAIRS),
        _of_times(part, labelled, ids, due, texts),
    ]


def _notes(count: int) -> list[str]:
    read = map(json.loads, NOTES.read_text(encoding="utf-8").splitlines())
    return [each["text"] for each in read if "document" in each][:count]


def _keep(app: App, text: str, case: str = "notes") -> str:
    caller = replace(PERSON, repositories=frozenset({case}))
    return app.memories.store(caller, Draft(content=text, type=MemoryType.FACT)).id


def _stored(app: App, clock: _Clock, case: dict[str, Any]) -> tuple[str, ...]:
    if case["kind"] == "pair":
        return tuple(_keep(app, case[name], case["id"]) for name in ("older", "newer"))
    then, clock.now = clock.now, datetime.fromisoformat(f"{case['written']}T12:00:00+00:00")
    kept = (_keep(app, case["text"], case["id"]),)
    clock.now = max(then, clock.now)
    return kept


def _texts(app: App) -> dict[str, str]:
    here, store = Filter(organization="default"), app.infrastructure.store
    return {each.id: each.text for each in store.find(Memory, here)}


def _ends(app: App) -> Iterator[tuple[str, str]]:
    for row in TidyRows(app.infrastructure.store.database).everything("default"):
        if row.finding is Topic.EXPIRED and row.due is not None:
            yield row.subjects[0][1], row.due.date().isoformat()


def _of_pairs(
    part: str,
    label: str,
    labelled: Sequence[dict[str, Any]],
    ids: dict[str, tuple[str, ...]],
    found: dict[Topic, list[tuple[str, ...]]],
    texts: dict[str, str],
) -> Judged:
    of_pairs = [each for each in labelled if each["kind"] == "pair" and each["label"] == label]
    return _compared(part, PAIRS[label], [ids[each["id"]] for each in of_pairs], found, texts)


def _compared(
    part: str,
    finding: Topic,
    labels: Sequence[tuple[str, ...]],
    found: dict[Topic, list[tuple[str, ...]]],
    texts: dict[str, str],
) -> Judged:
    wanted = {frozenset(each) for each in labels}
    got = {frozenset(each) for each in found.get(finding, [])}
    shown = [" | ".join(texts[id] for id in each) for each in got - wanted]
    missed = [" | ".join(texts[id] for id in each) for each in wanted - got]
    return Judged(part, finding, len(got & wanted), shown, missed)


def _of_times(
    part: str,
    labelled: Sequence[dict[str, Any]],
    ids: dict[str, tuple[str, ...]],
    due: dict[str, str],
    texts: dict[str, str],
) -> Judged:
    wanted = {
        ids[each["id"]][0]: each["label"]
        for each in labelled
        if each["kind"] == "time" and each["label"]
    }
    # The notes name days too, rightly: only what has a label is judged.
    own = {ids[each["id"]][0] for each in labelled if each["kind"] == "time"}
    got = {id: end for id, end in due.items() if id in own}
    right = {id for id, end in got.items() if wanted.get(id) == end}
    wrong = [f"{texts[id]} ({got[id]})" for id in got.keys() - right]
    missed = [f"{texts[id]} ({wanted[id]})" for id in wanted.keys() - right]
    return Judged(part, Topic.EXPIRED, len(right), wrong, missed)


def speed(home: Path, count: int) -> list[tuple[Cell, ...]]:
    """Tidy a store of many memories, without a model; return a row for each of two rounds.

    The rounds run in a process of their own, so that its memory is theirs.
    """
    with closing(_opened(home, None)) as app:
        drafts = [(PERSON, Draft(content=_note(n), type=MemoryType.FACT)) for n in range(count)]
        for at in range(0, count, 500):
            app.memories.write_all(drafts[at : at + 500])
    with get_context("spawn").Pool(1) as pool:
        return [(count, name, *row) for name, row in zip(("first", "second"), pool.apply(_rounds, (home,)), strict=True)]  # fmt: skip


def _opened(home: Path, at: datetime | None) -> App:
    clock = _Clock()
    clock.now = at or clock.now
    return open_app(load({"home": str(home), "embedder": "none"}), clock=clock)


def _rounds(home: Path) -> list[tuple[Cell, ...]]:
    """Run two rounds; return of each what it found, took of the processor, and added to the memory in MB.

    Memory of its own is what the process allocated; mapped is what it read of files, which the system takes back.
    """
    rows: list[tuple[Cell, ...]] = []
    with closing(_opened(home, FAR)) as app:
        own, mapped = memory("RssAnon"), memory("RssFile")
        for _ in range(2):
            began = time.process_time()
            done = app.get(Rounds).run(PERSON)
            spent = time.process_time() - began
            added = (memory("RssAnon") - own, memory("RssFile") - mapped)
            each = f"{1000 * spent / max(1, done.looked_at):.2f}" if done.looked_at else "–"
            rows.append((sum(done.found.values()), f"{spent:.1f}", each, *(f"{mb:.0f}" for mb in added)))  # fmt: skip
    return rows


def _note(n: int) -> str:
    """Return a note; one in twenty says another value of what the note before it is about."""
    subject = n - 1 if n % 20 == 1 else n
    words = ("gateway", "ledger", "printer", "harbour", "invoice", "scanner", "archive", "turbine")
    named = f"{words[subject % 8]} {words[subject // 8 % 8]} k{subject:06d}"
    return f"The {named} accepts batches of {10 + n % 89} MB."


def main() -> None:
    """Judge, print, keep."""
    parser = asked("Judge what `minutebook tidy` would suggest.")
    parser.add_argument("--show", action="store_true", help="print what is wrong or missed")
    parser.add_argument(
        "--count", type=int, default=20_000, help="memories of the store that is timed"
    )
    given = parser.parse_args()
    found: list[Judged] = []
    with TemporaryDirectory() as folder:
        for part in PARTS:
            found += judged(part, Path(folder) / part, *((5, 5) if given.quick else (210, 1)))
            if not given.quick:
                found.append(judged_patterns(part, Path(folder) / f"patterns-{part}"))
        timed = speed(Path(folder) / "many", 100 if given.quick else given.count)
    if given.show:
        for each in found:
            for name, texts in (("wrong", each.wrong), ("missed", each.missed)):
                for text in texts:
                    print(f"{each.part} {each.finding} {name}: {text}")
    columns = ("part", "kind", "labelled", "suggested", "precision", "recall")
    size = ("memories", "round", "new suggestions", "CPU s", "ms a change", "own memory, + MB", "mapped, + MB")  # fmt: skip
    tables = [
        Table("Suggestions", columns, [each.row for each in found]),
        Table("A round", size, timed),
    ]
    counts = Counter(each["kind"] for part in PARTS for each in cases(part))
    method = {**machine(), "cases": ", ".join(f"{kind} {n}" for kind, n in counts.items())}
    publish("tidying", method, tables, quick=given.quick)


if __name__ == "__main__":
    main()
