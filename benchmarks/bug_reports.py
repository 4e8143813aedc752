"""Ask for the commits behind bug reports: `python -m benchmarks.bug_reports CLONE…`, clones named as their repositories are.

`bug_reports.toml` has the reports, each about an old commit of a public repository. Every repository has a store of its own, with its
history and nothing else. A commit is found if it is among the first three hits of `recall`, of `minutebook why FILE REPORT`, and among
the first three entries of `minutebook why FILE:LINE`, which knows no report. Beside that: how many questions about other things get commits,
what reading a history costs, and what `recall` costs with all histories in a store of notes, in turn with `recall` of all else.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from benchmarks.measure import Cell, Table, asked, machine, publish, timed_in_turn
from minutebook.app import App, open_app
from minutebook.config import settings_with
from minutebook.features.code.projects import Projects
from minutebook.features.why.following import Histories
from minutebook.features.why.search import CommitSearch
from minutebook.memory.search.recall import WEIGHTS
from minutebook.record.records import MemoryType, ProjectCommit
from minutebook.record.sources import TEXTS, Source
from minutebook.record.writing.drafts import Draft

HERE = Path(__file__).parent
WANTED = 3

Report = Mapping[str, str]


def main() -> None:
    """Ask, print, keep."""
    parser = asked("Ask for the commits behind bug reports.")
    parser.add_argument("clones", nargs="+", type=Path, metavar="CLONE")
    given = parser.parse_args()
    reports = tomllib.loads((HERE / "bug_reports.toml").read_text(encoding="utf-8"))["report"]
    rows: list[tuple[Cell, ...]] = []
    total = Counter[str]()
    for clone in given.clones:
        own = [each for each in reports if each["repository"].endswith(f"/{clone.name}")]
        counts, commits, seconds = of_repository(clone.resolve(), own)
        total += counts
        rows.append((clone.name, len(own), *_found(counts), commits, 1e3 * seconds / commits))
    rows.append(("all", len(reports), *_found(total), None, None))
    columns = ("repository", "reports", "recall", "why FILE REPORT", "why FILE:LINE", "strangers", "commits", "ms each")  # fmt: skip
    tables = [Table(f"Commits among the first {WANTED}", columns, rows)]
    if not given.quick:
        tables.append(cost([each.resolve() for each in given.clones], reports))
    publish("bug_reports", machine(), tables, quick=given.quick)


def _found(counts: Counter[str]) -> tuple[int, ...]:
    return tuple(counts[name] for name in ("recall", "report", "line", "strangers"))


def of_repository(clone: Path, reports: Sequence[Report]) -> tuple[Counter[str], int, float]:
    """Return how many commits were found in which way, of how many, and the seconds that reading all took."""
    counts = Counter[str]()
    with TemporaryDirectory() as folder:
        app = opened_with(Path(folder))
        commits, seconds = read(app, clone)
        caller, search = app.settings.caller(), app.get(CommitSearch)
        for report in reports:
            hits = [getattr(each, "sha", "") for each in recalled(app, report["question"])]
            touched = search.about_file(caller, report["question"], str(clone), report["file"])
            told = told_of_line(clone, report)
            places = [_place(each, report["sha"]) for each in (hits, touched, told)]
            for name, place in zip(("recall", "report", "line"), places, strict=True):
                counts[name] += 0 < place <= WANTED
            print(f"    {clone.name}@{report['sha']}: {places}")
        counts["strangers"] = sum(bool(recalled(app, each)) for each in strangers())
        app.close()
    return counts, commits, seconds


def opened_with(home: Path) -> App:
    """Open a store with its model."""
    app = open_app(settings_with(home=home))
    app.embedding.start()
    app.embedding.wait(timeout=None)
    return app


def read(app: App, clone: Path) -> tuple[int, float]:
    """Read a history, with vectors; return its length and the seconds of processor time."""
    project = app.get(Projects).register(app.settings.caller(), str(clone))
    before = process_time()
    app.get(Histories).read(project)
    while app.embeddings.backfill_batch():
        pass
    seconds = process_time() - before
    views = app.infrastructure.records.seen_by(app.settings.caller())
    return sum(view.narrowed(project=project.id).count(ProjectCommit) for view in views), seconds


def recalled(app: App, question: str, sources: Sequence[Source] = TEXTS) -> list[object]:
    """Return the records that `recall` answers with."""
    caller = app.settings.caller()
    found = app.combined.recall(caller, question, 10, WEIGHTS, sources, tokens=1500)
    return [each.record for each in found.results]


def told_of_line(clone: Path, report: Report) -> list[str]:
    """Return the commits that `minutebook why FILE:LINE` tells, in order."""
    shown = subprocess.run(["git", "show", f"HEAD:{report['file']}"], cwd=clone, check=True, stdout=subprocess.PIPE, text=True)  # fmt: skip
    lines = enumerate(shown.stdout.splitlines(), 1)
    number = next(number for number, line in lines if report["line"] in line)
    with TemporaryDirectory() as home:
        open_app(settings_with(home=Path(home), embedder="none")).close()
        settings = {"MINUTEBOOK_HOME": home, "MINUTEBOOK_EMBEDDER": "none", "MINUTEBOOK_DAEMON": "off"}  # fmt: skip
        command = [sys.executable, "-m", "minutebook", "why", f"{report['file']}:{number}", "--json"]  # fmt: skip
        done = subprocess.run(command, cwd=clone, env=os.environ | settings, stdout=subprocess.PIPE, check=True)  # fmt: skip
    return [each["id"] for each in json.loads(done.stdout)]


def _place(shas: Sequence[str], wanted: str) -> int:
    return next((place for place, sha in enumerate(shas, 1) if sha.startswith(wanted)), 0)


def strangers() -> list[str]:
    """Return questions about other things than code."""
    lines = (HERE / "far_questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(each)["text"] for each in lines]


def cost(clones: Sequence[Path], reports: Sequence[Report]) -> Table:
    """Measure `recall` in a store of notes, without commits and with those of all clones."""
    with TemporaryDirectory() as folder:
        app = opened_with(Path(folder))
        for line in (HERE / "notes.jsonl").read_text(encoding="utf-8").splitlines():
            note = Draft(content=json.loads(line)["text"], type=MemoryType.FACT)
            app.memories.store(app.settings.caller(), note)
        commits = sum(read(app, each)[0] for each in clones)
        questions = [*strangers(), *(each["question"] for each in reports)]
        without = [each for each in TEXTS if each is not Source.COMMIT]

        def ask(sources: Sequence[Source], number: int) -> None:
            recalled(app, questions[number % len(questions)], sources)

        works = {
            "without": (lambda number: ask(without, number), process_time),
            f"with {commits:,}": (lambda number: ask(TEXTS, number), process_time),
        }
        took = timed_in_turn(works, 2 * len(questions), warm=len(questions))
        app.close()
    rows = [(name, each.p50, each.cpu) for name, each in took.items()]
    return Table("Recall in a store of 404 notes", ("commits", "median ms", "CPU ms"), rows)


if __name__ == "__main__":
    main()
