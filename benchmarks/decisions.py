"""What a decision costs, and finding one: `python -m benchmarks.decisions [--quick]`.

A ledger is filled past the store, by commits to its repository that are not flushed to the disk: one
a decision up to 1,000 decisions, one for a hundred above; every fifth decision is superseded. A new store then takes all of
it in (`from Git`: read, checked act by act, indexed, entered in the trail; without vectors). `start` is
the check at each start when nothing came; `record` and `supersede` are whole acts of the service, with
commit, tables, text index, vector, audit entry and a durable transaction. Vectors are random, made
without a model, so the figures hold search, not embedding; questions are four words of the texts. Times
in milliseconds where nothing else is said; CPU is that of all threads of the process.
"""

import hashlib
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import numpy as np
import pygit2

from benchmarks.measure import DATA, Cell, Table, asked, machine, publish, stopwatch, timed
from minutebook.app import App, open_app
from minutebook.config import settings_with
from minutebook.config.models import Models
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.git import markdown
from minutebook.features.ledger.git.trees import with_files
from minutebook.features.ledger.lineage import superseding
from minutebook.features.ledger.mirror.rebuilding import Rebuilds
from minutebook.features.ledger.repositories import Ledgers
from minutebook.features.ledger.search import DecisionMode, DecisionSearch
from minutebook.model import Embedded, Embedding, Model
from minutebook.record.caller import Caller
from minutebook.record.ids import decision_id
from minutebook.record.records import Authorship, Decision, DecisionStatus, Role
from minutebook.record.writing.decision_drafts import DecisionDraft

CALLER = Caller(name="ann", role=Role.HUMAN)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = (10, 1_000, 100_000)
FEW = 1_000
WHO = pygit2.Signature("robot", "robot@example.org", 1767225600, 0)
DIMENSIONS = 384
VOCABULARY = 5_000

Row = tuple[Cell, ...]


class Anyhow:
    """An embedder that gives each text a direction of its own."""

    model = Model("random", "1", DIMENSIONS)

    def embed_query(self, text: str) -> Embedded:
        """Return a unit vector, the same for the same text."""
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        drawn = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
        return Embedded((drawn / np.float32(np.linalg.norm(drawn)))[None])

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Return one row a text."""
        return [self.embed_query(text) for text in texts]


def opened(home: Path) -> App:
    """Open a store whose model is ready."""
    embedder = Anyhow()
    app = open_app(
        settings_with(home=home),
        models=Models(Embedding(lambda: embedder, embedder.model, cache_size=0), None),
    )
    app.embedding.settle()
    return app


def words(chance: random.Random, count: int) -> str:
    """Draw words, the first of them most often."""
    return " ".join(f"w{int(VOCABULARY * chance.random() ** 3)}" for _ in range(count))


def decisions(size: int) -> Iterator[list[Decision]]:
    """Draw decisions, each with the one that it supersedes."""
    chance, made = random.Random(7), 0
    while made < size:
        decision = drawn(chance, made, f"target {made}")
        made += 1
        yield [decision]
        if made % 5 == 4 and made < size:
            later, *replaced = superseding(drawn(chance, made, decision.target), [decision])
            made += 1
            yield [later, *replaced]


def drawn(chance: random.Random, number: int, target: str) -> Decision:
    """Draw a decision of some 50 words."""
    at = BEGIN + timedelta(seconds=number)
    return Decision(
        organization="default",
        id=decision_id(at, chance.getrandbits),
        target=target,
        title=words(chance, 6),
        rationale=words(chance, 30),
        status=DecisionStatus.ACTIVE,
        authorship=Authorship.AGENT,
        author="robot",
        created_at=at,
        consequences=(words(chance, 7), words(chance, 7)),
    )


def fill(app: App, size: int) -> float:
    """Commit so many decisions past the store; give the seconds."""
    ledger = app.get(Ledgers).repository("default")
    repository = ledger.open()
    objects = ledger.objects(repository)
    pygit2.settings.enable_fsync_gitdir(False)
    started = time.perf_counter()
    waiting, at_once = decisions(size), 1 if size <= FEW else 100
    parents: list[pygit2.Oid] = []
    tree: pygit2.Oid | None = None
    while acts := list(islice(waiting, at_once)):
        # The last state of each, should an act of these supersede what another recorded.
        latest = {each.id: each for act in acts for each in act}
        files = {
            ledger.layout.path(each): repository.create_blob(markdown.render(each))
            for each in latest.values()
        }
        tree = with_files(repository, objects, tree, files)
        parents = [repository.create_commit("HEAD", WHO, WHO, "Decide", tree, parents)]
    return time.perf_counter() - started


def acts(app: App, rounds: int) -> list[Row]:
    """Measure recording and superseding."""
    chance = random.Random(8)
    made: list[Decision] = []

    def draft(target: str) -> DecisionDraft:
        return DecisionDraft(words(chance, 6), target, words(chance, 30), (words(chance, 7),))

    def record(number: int) -> None:
        made.append(app.get(DecisionActs).record(CALLER, draft(f"new {number}")))

    def supersede(number: int) -> None:
        app.get(DecisionActs).supersede(CALLER, [made[number].id], draft(made[number].target))

    took = [("record", timed(record, rounds)), ("supersede", timed(supersede, rounds))]
    return [(name, each.p50, each.p99, each.cpu) for name, each in took]


def searches(app: App, rounds: int) -> list[Row]:
    """Measure a search in each mode."""
    rows: list[Row] = []
    for mode in DecisionMode:
        chance = random.Random(9)
        questions = [words(chance, 4) for _ in range(rounds + 10)]

        def search(
            number: int, mode: DecisionMode = mode, questions: list[str] = questions
        ) -> None:
            app.get(DecisionSearch).search(CALLER, questions[number], mode, 5)

        took = timed(search, rounds)
        rows.append((f"search, {mode}", took.p50, took.p99, took.cpu))
    return rows


def once(work: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    with stopwatch() as watch:
        work()
    return watch.wall


def measured(size: int, rounds: int) -> tuple[list[Row], Row]:
    """Measure everything on a ledger of so many decisions."""
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        app = opened(Path(folder))
        filled = fill(app, size)
        from_git = once(app.get(Ledgers).recover)
        vectors = once(lambda: app.embeddings.backfill(threading.Event()))
        app.close()
        app = opened(Path(folder))
        start = timed(lambda _: app.get(Ledgers).recover(), 20)
        rows: list[Row] = [(size, "start", start.p50, start.p99, start.cpu)]
        rows += [(size, *row) for row in [*acts(app, rounds), *searches(app, rounds)]]
        check = once(app.get(Ledgers).check)
        rebuild = once(lambda: app.get(Rebuilds).rebuild(CALLER))
        app.close()
    return rows, (size, filled, from_git, vectors, check, rebuild)


def main() -> None:
    """Measure, print, keep."""
    quick = asked("Measure what decisions cost.").parse_args().quick
    rounds, sizes = (20, (10, 200)) if quick else (200, SIZES)
    DATA.mkdir(parents=True, exist_ok=True)
    acts_and_questions: list[Row] = []
    wholes: list[Row] = []
    for size in sizes:
        rows, whole = measured(size, rounds)
        acts_and_questions += rows
        wholes.append(whole)
    tables = [
        Table(
            "One act or question, ms",
            ("decisions", "what", "p50", "p99", "CPU"),
            acts_and_questions,
        ),
        Table(
            "The whole ledger, seconds",
            ("decisions", "filling Git", "from Git", "vectors", "whole check", "rebuild"),
            wholes,
            "a rebuild that finds nothing to do: it reads, compares and walks the whole history",
        ),
    ]
    publish("decisions", {**machine(), "rounds": rounds}, tables, quick=quick)


if __name__ == "__main__":
    main()
