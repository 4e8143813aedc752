"""What a journal costs: keeping a turn, finding turns, summarising, taking sessions out and in.

`python -m benchmarks.journal [--quick]`. Acts go through the services: turn, text index, audit entry and
head in one transaction, with the model its vector too. A turn has 60 words, as in `benchmarks.store`. The
sets that are searched are made with drawn vectors, and the questions' vectors are known beforehand, so
that the figures hold search and reading, not the 5 ms in which the model embeds a question. An export or
import runs in a process of its own, which tells the most memory it ever held; imports leave vectors to
the background, as always. Wall times beside CPU of all threads of the process.
"""

import shutil
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks import store as data
from benchmarks.governance import Asked
from benchmarks.measure import DATA, FORM, Cell, Table, asked, machine, publish, timed
from minutebook.app import App, open_app
from minutebook.config import settings_with
from minutebook.features.archives.archive_lines import JOURNAL, Mode
from minutebook.features.archives.archives import Archives
from minutebook.memory.access.visibility import Records
from minutebook.memory.embeddings import Embeddings
from minutebook.memory.search.sessions import JournalSearch
from minutebook.model import Embedding
from minutebook.record.caller import Call, Caller
from minutebook.record.records import DEFAULT_ORGANIZATION, Role, Turn
from minutebook.record.writing.turns import turn_id
from minutebook.store.file_locks import FileLocks
from minutebook.store.sqlite import SqliteStore

CALLER = Caller(name="agent", role=Role.AGENT, call=Call(request="r"))
LENGTH = 20
"""Turns of a session."""

SENTENCE = 12
"""Words of a sentence."""


def written(embedder: str, rounds: int) -> tuple[Cell, ...]:
    """Measure keeping a turn."""
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        app = opened(Path(folder), embedder)
        texts = spoken(rounds + 3)

        def add(number: int) -> None:
            app.sessions.add(CALLER, f"s{number // LENGTH}", *texts[number])

        took = timed(add, rounds)
        app.close()
    return embedder, took.p50, took.p99, took.cpu


def found(size: int, rounds: int) -> list[tuple[Cell, ...]]:
    """Measure searches among so many turns, and within one session of them."""
    store, queries = (
        SqliteStore(filled(size), durability="normal"),
        data.text_queries(rounds + 3, 4),
    )
    embedder = Asked(queries)
    embedding = Embedding(lambda: embedder, embedder.model)
    embedding.start()
    embedding.wait(10)
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        search = JournalSearch(
            Records(store), Embeddings(store, embedding, 0.0, FileLocks(Path(folder)))
        )
        figures: list[tuple[Cell, ...]] = []
        for name, session in (("all sessions", None), ("one session", "s7")):
            took = timed(partial(_search, search, queries, session), rounds)
            figures.append((size, name, took.p50, took.p99, took.cpu))
    store.close()
    return figures


def moved(size: int) -> list[tuple[Cell, ...]]:
    """Measure an export of so many turns, an import elsewhere, and a replacement by the same."""
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        home, other, file = Path(folder) / "one", Path(folder) / "two", Path(folder) / "a.jsonl"
        home.mkdir()
        shutil.copy(filled(size), home / "minutebook.db")
        rows: list[tuple[Cell, ...]] = []
        for name, act, place in (
            ("export", "export", home),
            ("import into an empty store", "merge", other),
            ("replacing the same", "replace", other),
        ):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
                wall, cpu, peak = apart.submit(_move, act, place, file).result()
            rows.append((name, size, size / wall, wall, cpu, peak))
    return rows


def summarised(embedder: str, sessions: int) -> tuple[Cell, ...]:
    """Measure summarising so many sessions in one call, by the built-in summarizer."""
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        app = opened(Path(folder), embedder)
        with app.infrastructure.store.transaction(DEFAULT_ORGANIZATION):
            for number, texts in enumerate(spoken(sessions * LENGTH)):
                app.infrastructure.store.put(made(number, texts))
        wall, cpu = time.perf_counter(), time.process_time()
        batch = app.summaries.summarize_all(CALLER)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        assert len(batch.done) == sessions
        app.close()
    return embedder, sessions, wall, cpu


def opened(home: Path, embedder: str) -> App:
    """Open a new store whose model, if it has one, is ready."""
    settings = settings_with(home=home, embedder=embedder)
    app = open_app(settings)
    app.embedding.start()
    app.embedding.settle()
    return app


def spoken(count: int) -> list[tuple[str, str, str]]:
    """Draw prompts, thoughts and responses: one sentence, one and three."""
    drawn = data.Records(5)

    def said(sentences: int) -> str:
        return " ".join(
            f"{' '.join(drawn.words(SENTENCE)).capitalize()}." for _ in range(sentences)
        )

    return [(said(1), said(1), said(3)) for _ in range(count)]


def filled(size: int) -> Path:
    """Make a store with so many turns and their vectors, if it is not there yet."""
    folder = DATA / f"journal-{size}-{FORM}"
    path = folder / "minutebook.db"
    if (folder / "whole").exists():
        return path
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    store, drawn = SqliteStore(path, durability="normal"), data.Records(1)
    texts = spoken(size)
    for start in range(0, size, 1000):
        with store.transaction(DEFAULT_ORGANIZATION):
            for number in range(start, min(size, start + 1000)):
                turn = made(number, texts[number])
                store.put(turn)
                store.put_vectors(Turn, turn.organization, turn.id, data.SPACE, drawn.vectors(1))
    store.close()
    (folder / "whole").touch()
    return path


def made(number: int, texts: Sequence[str]) -> Turn:
    """Make a turn, a second after the one before."""
    at = data.NOW + timedelta(seconds=number)
    prompt, thought, response = texts
    return Turn(
        organization=DEFAULT_ORGANIZATION,
        id=turn_id(at),
        session=f"s{number // LENGTH}",
        at=at,
        prompt=prompt,
        thought=thought,
        response=response,
        author=CALLER.name,
    )


def _search(
    search: JournalSearch, queries: Sequence[str], session: str | None, number: int
) -> None:
    search.turns(CALLER, queries[number], 10, session)


def _move(act: str, home: Path, file: Path) -> tuple[float, float, float]:
    """Export or import; wall and CPU seconds, and the most megabytes held."""
    app = opened(home, "none")
    wall, cpu = time.perf_counter(), time.process_time()
    if act == "export":
        app.get(Archives).export_to(CALLER, JOURNAL, file)
    else:
        app.get(Archives).import_from(CALLER, file, Mode(act))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    app.close()
    return wall, cpu, peak_mb()


def peak_mb() -> float:
    """Return the most memory that this process held, NaN where the system does not tell.

    `ru_maxrss` will not do: on Linux it begins with what the parent held.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    lines = status.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Measure, print, keep."""
    quick = asked("Measure what a journal costs.").parse_args().quick
    rounds, sizes, sessions = (20, [200], 2) if quick else (500, [10_000, 100_000], 100)
    DATA.mkdir(parents=True, exist_ok=True)
    method = {
        **machine(),
        "fsync alone": f"{data.fsync_alone():.2f} ms (the median, 48 KiB appended)",
        "turns kept": rounds,
        "turns of a session": LENGTH,
    }
    tables = [
        Table(
            "Keeping a turn, ms",
            ("embedder", "p50", "p99", "CPU"),
            [written(embedder, rounds) for embedder in ("none", "built-in")],
        ),
        Table(
            "Finding ten turns, ms, without embedding the question",
            ("turns", "among", "p50", "p99", "CPU"),
            [row for size in sizes for row in found(size, 20 if quick else 200)],
        ),
        Table(
            "Taking out and bringing in",
            ("act", "turns", "turns/s", "seconds", "CPU seconds", "MB at the peak"),
            [row for size in sizes for row in moved(size)],
        ),
        Table(
            "Summarising",
            ("embedder", "sessions", "seconds", "CPU seconds"),
            [summarised(embedder, sessions) for embedder in ("none", "built-in")],
        ),
    ]
    publish("journal", method, tables, quick=quick)


if __name__ == "__main__":
    main()
