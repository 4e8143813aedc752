"""Judge which secrets are found in labelled texts, and measure what looking for them costs.

`python -m benchmarks.screening [--quick] [--show]`. `secrets.jsonl` holds one text a line, with slots for made-up
secrets (`benchmarks.secret_samples`), which are filled when they are read. `part`: `format` has one text for
each format, `context` secrets that only what stands around them gives away, `clean` what only
resembles a secret. `fresh context` and `fresh clean` were written after all tuning and judged once.
A secret is found if all of it lies in what is found, or all but the last of its characters; whatever else
is found is a false alarm. `instructions.jsonl` holds texts that read as instructions to the reader, and others
that are about such things; of it too, *fresh* ones were judged once. The real texts are the sources and documentation of the Python packages that are installed.
"""

import json
import statistics
import sysconfig
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from time import process_time

from benchmarks.measure import Cell, Table, asked, machine, publish, timed_in_turn
from benchmarks.secret_samples import filled
from minutebook.app import App, open_app
from minutebook.config import settings_with
from minutebook.memory.screening.instructions import marks_of
from minutebook.memory.screening.secrets import find
from minutebook.record.caller import Caller
from minutebook.record.policy import Redact
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft

LABELLED = Path(__file__).with_name("secrets.jsonl")
ORDERS = Path(__file__).with_name("instructions.jsonl")
NOTES = Path(__file__).with_name("notes.jsonl")
REAL_BYTES = 20_000_000
CALLER = Caller(name="bench", role=Role.HUMAN)


@dataclass(frozen=True, slots=True)
class Judged:
    """A text, the secrets in it, and what was found: how many of them, and what else."""

    part: str
    text: str
    secrets: list[str]
    missed: list[str]
    alarms: list[str]


def judged(line: str) -> Judged:
    """Fill a labelled text and look for its secrets."""
    labelled = json.loads(line)
    text, secrets = filled(labelled["text"], Random(labelled["id"]))
    found = [text[each.start : each.end] for each in find(text)]
    missed = [each for each in secrets if not any(each.rstrip("=.+/") in one for one in found)]
    alarms = [each for each in found if not any(one in each or each in one for one in secrets)]
    return Judged(labelled["part"], text, secrets, missed, alarms)


def quality(found: Sequence[Judged]) -> Table:
    """Sum up, by part."""
    parts = defaultdict[str, list[Judged]](list)
    for each in found:
        parts[each.part].append(each)
    rows: list[tuple[Cell, ...]] = []
    for part, group in [*parts.items(), ("all", list(found))]:
        secrets, missed = sum(len(e.secrets) for e in group), sum(len(e.missed) for e in group)
        alarms, hits = sum(len(e.alarms) for e in group), secrets - missed
        recall = f"{hits}/{secrets}" if secrets else None
        precision = f"{hits}/{hits + alarms}" if hits + alarms else None
        rows.append((part, len(group), recall, precision, alarms))
    return Table("Labelled texts", ("part", "texts", "recall", "precision", "false alarms"), rows)


def real_texts(limit: int) -> Iterator[str]:
    """Yield sources and documentation of installed packages, some bytes of them."""
    for path in sorted(Path(sysconfig.get_paths()["purelib"]).rglob("*")):
        if path.suffix in {".py", ".md", ".txt", ".rst", ".json", ".toml"} and limit > 0:
            text = path.read_text(encoding="utf-8", errors="replace")
            limit -= len(text)
            yield text


def speed(quick: bool) -> Table:
    """Time the search in notes and in real texts, and count what is found there."""
    notes = [json.loads(line)["text"] for line in NOTES.read_text(encoding="utf-8").splitlines()]
    texts = {
        "notes": notes * 20,
        "real texts": list(real_texts(REAL_BYTES // (20 if quick else 1))),
    }
    rows: list[tuple[Cell, ...]] = []
    for name, group in texts.items():
        began, kinds = process_time(), Counter[str]()
        for text in group:
            kinds.update(each.kind for each in find(text))
        kilobytes = sum(len(text) for text in group) / 1024
        took = (process_time() - began) / kilobytes * 1e6
        rows.append((name, f"{kilobytes:,.0f}", round(took, 1), sum(kinds.values())))
    columns = ("texts", "KB", "µs of CPU a KB", "found")
    return Table("Speed, and what is found in texts of others", columns, rows)


def orders() -> Table:
    """Judge which labelled texts are marked as instructions to the reader."""
    texts = [json.loads(line) for line in ORDERS.read_text(encoding="utf-8").splitlines()]
    rows: list[tuple[Cell, ...]] = []
    for part in ("seen", "fresh"):
        of_part = [each for each in texts if each["part"] == part]
        orders = [marks_of(each["text"]) for each in of_part if each["reads_as_instructions"]]
        others = [marks_of(each["text"]) for each in of_part if not each["reads_as_instructions"]]
        marked, alarms = sum(map(bool, orders)), sum(map(bool, others))
        rows.append((part, f"{marked}/{len(orders)}", f"{alarms}/{len(others)}"))
    return Table("Text that reads as instructions", ("part", "marked", "false alarms"), rows)


def writes(rounds: int) -> Table:
    """Time what a write costs with and without looking, in turn, without a model."""
    notes = [json.loads(line)["text"] for line in NOTES.read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        plain = settings_with(embedder="none", durability="normal")
        on = replace(plain, home=Path(folder, "on"), redact=Redact.MASK)
        off = replace(plain, home=Path(folder, "off"), redact=Redact.OFF)
        with closing(open_app(on)) as looking, closing(open_app(off)) as blind:

            def write(app: App) -> Callable[[int], None]:
                def one(number: int) -> None:
                    text = f"{number}: {notes[number % len(notes)]}"
                    draft = Draft(content=text, type=MemoryType.FACT)
                    app.memories.store(CALLER, draft)

                return one

            # The first of a round finds colder caches and is not counted.
            apps = {"first": blind, "looking": looking, "off": blind}
            works = {name: (write(app), process_time) for name, app in apps.items()}
            took = timed_in_turn(works, rounds)
    del took["first"]
    rows: list[tuple[Cell, ...]] = [
        (name, round(each.cpu, 3), round(statistics.median(each.wall), 3)) for name, each in took.items()
    ]  # fmt: skip
    rows.append(("ratio", round(took["looking"].cpu / took["off"].cpu, 3), None))
    return Table("One memory of some 90 characters, no model", ("redact", "CPU, ms", "wall, ms"), rows)  # fmt: skip


def main() -> None:
    """Judge, measure, print, keep."""
    parser = asked("Judge which secrets are found, and what looking for them costs.")
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    given = parser.parse_args()
    found = [judged(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    if given.show:
        for each in found:
            if each.missed or each.alarms:
                print(
                    f"{each.part}: missed {each.missed}, false {each.alarms}: {each.text[:160]!r}"
                )
    method = {**machine(), "texts": len(found), "written": "by the author of the formats"}
    tables = [quality(found), orders(), speed(given.quick), writes(50 if given.quick else 1000)]
    publish("screening", method, tables, quick=given.quick)


if __name__ == "__main__":
    main()
