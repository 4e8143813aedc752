"""The two threads of an app: vectors that are missing, and what was left half done."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain
from pathlib import Path

import pytest

from minutebook.ask.day import report
from minutebook.feature import entries_of
from minutebook.features.tidying.findings import State
from minutebook.features.tidying.rows import TidyRows
from minutebook.memory.access.visibility import everything_in
from minutebook.memory.background import BackgroundWork
from minutebook.memory.embeddings import Embeddings
from minutebook.memory.jobs import Job, JobRuns
from minutebook.model import Embedder, Embedding
from minutebook.record.caller import Caller
from minutebook.record.day import DaySpan, DayTopic
from minutebook.record.errors import ModelUnavailable, StoreError
from minutebook.record.filters import default_organization
from minutebook.record.records import Memory
from minutebook.store.file_locks import FileLocks
from minutebook.store.sql.change_feed import ProgramMarks
from tests.world import Opener, WordEmbedder, World, failed, ready, wait_until


@contextmanager
def at_work(world: World, embedding: Embedding, locks: Path) -> Iterator[Embeddings]:
    """Run the background work of a world's store with a model of its own, at short intervals."""
    app = world.app
    embeddings = Embeddings(app.infrastructure.store, embedding, 0.0, FileLocks(locks))
    stop = threading.Event()
    jobs = chain(*(jobs_of(app) for jobs_of in entries_of("jobs")))
    work = BackgroundWork(
        embedding, embeddings, world.caller, stop, jobs, app.job_runs, interval=0.01
    )
    work.start()
    try:
        yield embeddings
    finally:
        stop.set()
        embeddings.notify()
        wait_until(
            lambda: (
                not {"vectors", "resume", "backups", "tidy", "signatures"}
                & {each.name for each in threading.enumerate()}
            )
        )


def vectors(world: World, embeddings: Embeddings) -> int:
    everything = everything_in(world.store, default_organization(world.caller))
    return everything.count(Memory) - embeddings.pending(Memory, everything)


def test_a_model_that_fails_is_tried_again_and_warned_of_once(
    opener: Opener, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = opener(failed())
    world.remember("tea at five")
    failures = iter(["no file", "no file", "no file"])

    def open_model() -> Embedder:
        if reason := next(failures, None):
            raise ModelUnavailable(reason, "wait")
        return WordEmbedder()

    with at_work(
        world, Embedding(open_model, WordEmbedder.model), tmp_path / "locks"
    ) as embeddings:
        wait_until(lambda: vectors(world, embeddings) == 1)
    warned = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warned) == 1
    assert "no file" in warned[0]


def test_a_stopped_store_is_asked_again_until_it_is_started(opener: Opener, tmp_path: Path) -> None:
    world = opener(failed())
    world.remember("tea at five")
    world.store.close()
    with at_work(world, ready(), tmp_path / "locks") as embeddings:
        wait_until(lambda: embeddings.state == "ready")
        world.store.upkeep.open()
        wait_until(lambda: vectors(world, embeddings) == 1)


def test_what_is_to_be_tidied_is_looked_for_by_schedule(opener: Opener, tmp_path: Path) -> None:
    world = opener(tidy_every=24.0)
    for text in ("The retry limit is 3.", "The retry limit is 5."):
        world.remember(text)
    with at_work(world, ready(), tmp_path / "locks"):
        rows = TidyRows(world.app.infrastructure.store.database)
        wait_until(lambda: len(list(rows.everything("default", State.OPEN))) == 1)


def test_a_failure_that_comes_again_after_a_success_is_told_again(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes = iter([False, False, True, False])
    stop = threading.Event()

    def run(caller: Caller) -> None:
        succeeds = next(outcomes, None)
        if succeeds is None:
            stop.set()
        elif not succeeds:
            raise StoreError("the disk is full")

    app = world.app
    job = Job("copies", run, "the copy failed", retry=0.01)
    work = BackgroundWork(
        app.embedding, app.embeddings, world.caller, stop, [job], app.job_runs, interval=0.01
    )
    with caplog.at_level(logging.WARNING, "minutebook.memory.background"):
        work.start()
        wait_until(stop.is_set)
    assert [each.getMessage() for each in caplog.records].count(
        "the copy failed: the disk is full"
    ) == 2
    app.embeddings.notify()


@pytest.mark.parametrize("every", [None, 0.01])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StoreError("the disk is full"), "the disk is full"),
        (PermissionError(13, "Permission denied", "/t"), "/t: Permission denied"),
        (ValueError("words of a record"), "a fault of the program, ValueError at test_background"),
    ],
)
def test_a_job_ends_by_success_or_stop_only_and_its_failure_is_told(
    world: World, error: Exception, said: str, every: float | None
) -> None:
    """By `doctor` and `today`, as long as it did not succeed since; what failed unforeseen is told without its words."""
    stop, may_succeed, runs = threading.Event(), threading.Event(), list[bool]()

    def run(caller: Caller) -> None:
        runs.append(may_succeed.is_set())
        if not may_succeed.is_set():
            raise error

    app = world.app
    job = Job("copies", run, "the copy failed", every=every, retry=0.01)
    work = BackgroundWork(
        app.embedding, app.embeddings, world.caller, stop, [job], app.job_runs, interval=0.01
    )
    work.start()
    wait_until(lambda: len(runs) > 3)
    (finding,) = [each for each in app.doctor.examine() if "the copy failed" in each.finding]
    assert said in finding.finding
    assert "words of a record" not in finding.finding
    span = DaySpan(app.clock() - timedelta(days=1), app.clock())
    waits = next(each for each in report(app, world.caller, span) if each.topic is DayTopic.WAITS)
    assert "The job “copies” fails" in [each.text for each in waits.lines]
    may_succeed.set()
    wait_until(lambda: True in runs and not app.job_runs.failing())
    if every is None:
        assert runs.count(True) == 1
    stop.set()
    app.embeddings.notify()


def test_how_a_job_went_outlives_the_process_until_the_job_is_no_more(world: World) -> None:
    marks = ProgramMarks(world.store.database)
    JobRuns(marks, "here", world.clock).note("copies", "the copy failed: no room")
    for machine, failing in (("here", ["copies"]), ("there", [])):
        later = JobRuns(marks, machine, world.clock)
        assert [each.job for each in later.failing()] == failing
        later.forget_others({"copies"})
    later = JobRuns(marks, "here", world.clock)
    later.forget_others({"rounds"})
    assert later.failing() == []


def test_a_job_that_goes_on_as_it_did_is_written_once_an_hour(world: World) -> None:
    runs = JobRuns(ProgramMarks(world.store.database), "here", world.clock)
    before = world.store.database.writes.count
    for _ in range(5):
        runs.note("copies")
    assert world.store.database.writes.count == before + 1
    world.clock.turn(3600)
    runs.note("copies")
    assert world.store.database.writes.count == before + 2
