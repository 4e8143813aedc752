"""Runs that end in the middle, runs that meet, and what both leave."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minutebook.features.code import projects
from minutebook.features.code.projects import Projects
from minutebook.memory.jobs import stopping
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, NotFound
from minutebook.record.filters import Filter
from minutebook.record.records import CodeChunk, File, IndexState, Project, Record
from minutebook.store.protocol import Store
from tests.examples import examples
from tests.serve.contracts.requirements import requirement
from tests.store.samples import START, head, project
from tests.world import Opener, World, failed, wait_until

HERE = Filter(organization="default")

INDEX = """
import json, sys
from pathlib import Path
from minutebook.app import open_app
from minutebook.features.code.projects import Projects
from tests.homes import settings_at
settings = settings_at(sys.argv[1], embedder="none", durability="normal")
app = open_app(settings)
def progress(part, what):
    print(json.dumps([part, what]), flush=True)
from minutebook.record.caller import with_call
caller = with_call(settings.caller(), progress=progress)
indexed = app.get(Projects).index(caller, sys.argv[2])
print(json.dumps(["created", indexed.created]), flush=True)
app.close()
"""


def modelless(opener: Opener, name: str = "one") -> World:
    """A world that goes by words: indexing ends with the reading."""
    world = opener(failed(), name=name)
    world.app.embedding.settle()
    return world


def tree(root: Path, count: int) -> Path:
    root.mkdir(parents=True)
    for number in range(count):
        text = "\n\n".join(f"def f{number}_{each}():\n    return {each}" for each in range(6))
        (root / f"{number:03}.py").write_text(text)
    return root


def spawned(home: Path, root: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", INDEX, str(home), str(root)], stdout=subprocess.PIPE, text=True
    )


def check_in_step(world: World, root: Path) -> None:
    """Hold what is kept to what is on the disk: each line of each file in one chunk."""
    chunks = [c for c in world.store.find(CodeChunk, HERE) if isinstance(c, CodeChunk)]
    files = [f for f in world.store.find(File, HERE) if isinstance(f, File)]
    assert sorted(file.path for file in files) == sorted(path.name for path in root.glob("*.py"))
    by_path: dict[str, list[CodeChunk]] = {}
    for chunk in sorted(chunks, key=lambda c: c.start_line):
        by_path.setdefault(chunk.path, []).append(chunk)
    for path in root.glob("*.py"):
        assert "".join(c.content for c in by_path.pop(path.name, [])) == path.read_text()
    assert by_path == {}


def only_project(world: World) -> Project:
    (project,) = world.app.get(Projects).indexed(world.caller)
    return project


class Enough(Exception):
    """Ends a run from outside, as a cancelled call does."""


def ending_after(count: int) -> Any:
    heard = Counter[str]()

    def progress(part: float, what: str) -> None:
        heard["files"] += 1
        if heard["files"] > count:
            raise Enough

    return progress


def heard_by(world: World, progress: Any) -> Caller:
    return world.by(progress=progress).caller


def test_a_run_that_is_cancelled_leaves_what_it_did_and_the_next_goes_on(
    opener: Opener, tmp_path: Path
) -> None:
    world = modelless(opener)
    root = tree(tmp_path / "p", 60)
    with pytest.raises(Enough):
        world.app.get(Projects).index(heard_by(world, ending_after(40)), str(root))
    progress = world.app.get(Projects).progress(world.caller, "p")
    assert progress.project.state is IndexState.FAILED
    assert "interrupted" in (progress.project.reason or "")
    assert 0 < progress.chunks < 60 * 6
    before = {c.id for c in world.store.find(CodeChunk, HERE)}
    world.app.get(Projects).index(world.caller, str(root))
    assert before < {c.id for c in world.store.find(CodeChunk, HERE)}
    check_in_step(world, root)


def test_a_run_that_was_interrupted_is_resumed_by_the_next_server(
    opener: Opener, tmp_path: Path
) -> None:
    first = modelless(opener, "same")
    root = tree(tmp_path / "p", 60)
    with pytest.raises(Enough):
        first.app.get(Projects).index(heard_by(first, ending_after(40)), str(root))
    world = modelless(opener, "same")
    world.app.get(Projects).resume(stopping(threading.Event()))
    world.app.get(Projects).complete_embedded()
    assert only_project(world).state is IndexState.COMPLETED
    check_in_step(world, root)


def test_only_organizations_with_an_index_under_way_are_asked_again(
    opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = modelless(opener)
    world.app.get(Projects).complete_embedded()
    for name in ("acme", "zoo"):
        world.store.put(head(organization=name))
    asked: list[str] = []
    find = type(world.store).find

    def watched(store: Store, of: type[Record], where: Filter, **more: Any) -> list[Record]:
        asked.append(where.organization)
        return find(store, of, where, **more)

    monkeypatch.setattr(type(world.store), "find", watched)
    world.app.get(Projects).complete_embedded()
    assert asked == []
    world.store.put(project(organization="zoo", state=IndexState.INDEXING, read_at=START))
    monkeypatch.setattr(projects, "_LOOK_AT_ALL_EVERY", 0.0)
    world.app.get(Projects).complete_embedded()
    assert {"acme", "zoo"} <= set(asked)
    assert world.store.find(Project, Filter(organization="zoo"))[0].state is IndexState.COMPLETED


def test_what_another_run_reads_to_its_end_meanwhile_is_not_read_again(
    opener: Opener, tmp_path: Path
) -> None:
    one, other = modelless(opener, "same"), modelless(opener, "same")
    root = tree(tmp_path / "p", 5)
    heard: list[float] = []
    resuming = threading.Thread(
        target=other.app.get(Projects).resume,
        args=(lambda part, what: heard.append(part),),
    )

    def progress(part: float, what: str) -> None:
        if what == "004.py":
            resuming.start()
            # Meanwhile it finds the project unfinished, and its claim taken.
            time.sleep(0.05)

    state = one.app.get(Projects).index(heard_by(one, progress), str(root)).progress
    resuming.join()
    assert heard == []
    assert (state.project.indexed_files, state.project.total_files) == (5, 5)


def test_resuming_ends_when_the_server_stops(opener: Opener, tmp_path: Path) -> None:
    world = modelless(opener)
    root = tree(tmp_path / "p", 30)
    with pytest.raises(Enough):
        world.app.get(Projects).index(heard_by(world, ending_after(20)), str(root))
    stop = threading.Event()
    stop.set()
    world.app.get(Projects).resume(stopping(stop))
    assert only_project(world).state is IndexState.INDEXING


def test_a_run_that_is_killed_leaves_what_it_did_and_the_next_goes_on(
    opener: Opener, tmp_path: Path
) -> None:
    root = tree(tmp_path / "p", 80)
    world = modelless(opener, "same")
    for seen in (25, 50, 70):
        process = spawned(tmp_path / "same", root)
        assert process.stdout is not None
        for _ in range(seen):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert world.store.upkeep.check() == []

    def is_read() -> bool:
        return world.app.get(Projects).index(world.caller, str(root)).created is not None

    # On a server the lock of a process that was killed lasts for half a minute.
    wait_until(is_read)
    check_in_step(world, root)
    assert len(world.store.find(CodeChunk, HERE)) == 80 * 6


@pytest.mark.thorough
def test_two_processes_that_index_one_folder_double_nothing(opener: Opener, tmp_path: Path) -> None:
    root = tree(tmp_path / "p", 60)
    world = modelless(opener, "same")
    processes = [spawned(tmp_path / "same", root) for _ in range(3)]
    created = []
    for process in processes:
        out, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        created.append(json.loads(out.splitlines()[-1])[1])
    # Whoever came while another was at it was told so; whoever came later found nothing to do.
    assert sum(each or 0 for each in created) == 60 * 6
    check_in_step(world, root)
    assert only_project(world).state is IndexState.COMPLETED


@requirement("knowledge/code/progress")
def test_a_second_call_is_told_how_far_the_first_is(opener: Opener, tmp_path: Path) -> None:
    world = modelless(opener)
    root = tree(tmp_path / "p", 40)
    told: list[dict[str, Any]] = []

    def progress(part: float, what: str) -> None:
        if what == "035.py":
            told.append(world.call("index_project", path=str(root)))

    world.app.get(Projects).index(heard_by(world, progress), str(root))
    (second,) = told
    assert (second["project_id"], second["status"]) == ("p", "indexing")
    assert second["chunks_created"] == 0
    assert 0 < second["progress_percent"] < 100
    check_in_step(world, root)


def test_a_project_can_be_deleted_while_it_is_indexed(opener: Opener, tmp_path: Path) -> None:
    world = modelless(opener)
    root = tree(tmp_path / "p", 60)
    deleting: list[threading.Thread] = []

    def progress(part: float, what: str) -> None:
        if what == "035.py":
            deleting.append(
                threading.Thread(target=world.app.get(Projects).delete, args=(world.caller, "p"))
            )
            deleting[0].start()
            while only_project(world).state is IndexState.INDEXING:
                deleting[0].join(0.01)

    with pytest.raises(Conflict, match="deleted"):
        world.app.get(Projects).index(heard_by(world, progress), str(root))
    deleting[0].join()
    assert world.app.get(Projects).indexed(world.caller) == []
    assert world.store.count(CodeChunk, HERE) == 0
    assert world.store.count(File, HERE) == 0


def test_a_folder_that_vanished_keeps_its_index_and_says_why(
    opener: Opener, tmp_path: Path
) -> None:
    world = modelless(opener)
    root = tree(tmp_path / "p", 3)
    world.call("index_project", path=str(root))
    root.rename(tmp_path / "q")
    assert "does not exist" in world.refused("index_project", path=str(root))
    assert world.store.count(CodeChunk, HERE) == 18


def test_what_is_no_longer_there_is_not_read_again(world: World) -> None:
    with pytest.raises(NotFound):
        world.app.get(Projects).refresh("default", "p", stopping(threading.Event()))


changes = st.lists(
    st.tuples(st.sampled_from("abc"), st.none() | st.sampled_from(["", "x = 1\n", "def f(): 0\n"])),
    max_size=4,
)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(changes, st.integers(0, 4)), max_size=4))
def test_whatever_changes_and_wherever_a_run_ends_the_next_is_in_step(
    tmp_path_factory: pytest.TempPathFactory,
    opener: Opener,
    rounds: list[tuple[list[tuple[str, str | None]], int]],
) -> None:
    root = tmp_path_factory.mktemp("p")
    world = modelless(opener, root.name)
    for changed, ends in rounds:
        for name, text in changed:
            path = root / f"{name}.py"
            path.unlink(missing_ok=True) if text is None else path.write_text(text)
        try:
            world.app.get(Projects).index(heard_by(world, ending_after(ends)), str(root))
        except Enough:
            assert world.store.upkeep.check() == []
    world.app.get(Projects).index(world.caller, str(root))
    check_in_step(world, root)
