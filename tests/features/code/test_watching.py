import threading
from pathlib import Path

import pytest

from minutebook.features.code import watching
from minutebook.features.code.projects import Projects
from minutebook.features.code.watching import Watching
from minutebook.record.records import Project
from tests.world import Opener, World, failed, wait_until


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LOOK_EVERY", 0.1)


def modelless(opener: Opener) -> World:
    world = opener(failed(), name="same")
    world.app.embedding.settle()
    return world


def indexed(world: World, root: Path) -> Project:
    root.mkdir(exist_ok=True)
    (root / "a.py").write_text("tea = 1\n")
    return world.app.get(Projects).index(world.caller, str(root)).progress.project


def watchers() -> list[str]:
    """Return the threads that watch `p`; those of the tests before may end a little later than these."""
    return [each.name for each in threading.enumerate() if each.name == "watch p"]


@pytest.mark.thorough
def test_one_watches_and_another_stands_by_for_it(opener: Opener, tmp_path: Path) -> None:
    one, two = modelless(opener), modelless(opener)
    project = indexed(one, tmp_path / "p")
    by_one: list[Project] = []
    by_two: list[Project] = []
    one.app.get(Watching).watch(project, by_one.append)
    wait_until(lambda: one.app.get(Projects)._locks.is_held("watch\0default\0p"))
    two.app.get(Watching).watch(project, by_two.append)
    (tmp_path / "p" / "b.py").write_text("tea = 2\n")
    wait_until(lambda: by_one != [])
    assert by_two == []
    one.app.close()
    one.app.get(Watching).join(project)
    (tmp_path / "p" / "c.py").write_text("tea = 3\n")
    wait_until(lambda: by_two != [])
    two.app.close()
    two.app.get(Watching).join(project)


def test_watching_twice_is_watching_once(opener: Opener, tmp_path: Path) -> None:
    world = modelless(opener)
    project = indexed(world, tmp_path / "p")
    world.app.get(Watching).watch(project)
    world.app.get(Watching).watch(project)
    assert watchers() == ["watch p"]
    world.app.close()
    world.app.get(Watching).join(project)
    assert watchers() == []


def test_a_watcher_ends_with_its_project(opener: Opener, tmp_path: Path) -> None:
    world = modelless(opener)
    project = indexed(world, tmp_path / "p")
    seen: list[Project] = []
    world.app.get(Watching).watch(project, seen.append)
    (tmp_path / "p" / "b.py").write_text("tea = 2\n")
    wait_until(lambda: seen != [])
    world.call("delete_project", project_id="p")
    (tmp_path / "p" / "c.py").write_text("tea = 3\n")
    world.app.get(Watching).join(project)
    assert world.call("list_projects")["count"] == 0


def test_what_git_and_editors_do_out_of_sight_wakes_nobody() -> None:
    seen = {
        path: watching._may_matter(Path(path))
        for path in (
            "a.py",
            "deep/b.py",
            ".gitignore",
            "deep/.memoryignore",
            ".git/index",
            ".a.swp",
        )
    }
    assert [path for path, matters in seen.items() if not matters] == [".git/index", ".a.swp"]
