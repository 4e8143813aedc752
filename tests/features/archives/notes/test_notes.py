"""A folder of notes in step with the store: edits of either side reach the other, and no text is lost."""

import json
import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minutebook.features.archives.exports.folder_exports import FolderExports
from minutebook.features.archives.notes.note_folder import NoteFolder, digest_at
from minutebook.features.archives.notes.note_sync import Deletion, NotesReport, NoteSync
from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice
from minutebook.memory.intake import REMOVED_HERE, Outcome
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, Refused
from minutebook.record.records import Memory, MemoryType, Role, Version
from tests.examples import examples
from tests.world import Opener, World, everything, ready, wait_until, worlds

PERSON = Caller(name="ana", role=Role.HUMAN, writes_system=True)


def sync(
    world: World, folder: Path, deletion: Deletion = Deletion.ASK, *, again: bool = False
) -> NotesReport:
    world.clock.turn()
    synced = world.app.get(NoteSync)
    return synced.run(PERSON, folder, lambda name, label: deletion, again=again)


def left(report: NotesReport) -> list[tuple[str, str]]:
    return [(each.place.file, each.reason) for each in report.left_out]


def note(folder: Path, start: str = "") -> Path:
    (path,) = (folder / "memories").glob(f"{start}*.md")
    return path


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def change(world: World, id: str, content: str) -> None:
    world.clock.turn()
    world.app.memories.update(PERSON, id, {"content": content})


def nothing_more(world: World, folder: Path) -> None:
    """A further run does nothing: neither side has anything to tell the other."""
    entries = len(world.trail())
    again = sync(world, folder)
    assert (again.written, again.taken, again.added, again.conflicts) == ([], [], [], [])
    assert len(world.trail()) == entries


def test_an_edited_note_changes_its_memory_in_the_persons_name(
    world: World, tmp_path: Path
) -> None:
    id = world.remember("Tea is green", metadata={"tags": ["drinks"], "depth": {"a": 1}})
    sync(world, tmp_path)
    path = note(tmp_path)
    edit(path, "Tea is green", "Tea is red\n\nand hot")
    edit(path, "tags:\n- drinks", "tags: [drinks, hot]\nmood: calm")
    edit(path, "type: semantic", "type: fact\ntitle: On tea")
    name = path.relative_to(tmp_path).as_posix()
    assert sync(world, tmp_path).taken == [name]
    after = world.memory(id)
    assert (after.content, after.type, after.title) == (
        "Tea is red\n\nand hot",
        MemoryType.FACT,
        "On tea",
    )
    assert after.metadata == {"tags": ["drinks", "hot"], "depth": {"a": 1}, "mood": "calm"}
    (entry,) = [each for each in world.entries(id) if each.act == "update"]
    assert (entry.actor, entry.reason) == ("ana", f"edited in {name}")
    assert "version: 2\n" in path.read_text()
    nothing_more(world, tmp_path)


def test_a_changed_memory_changes_its_note_where_it_is(world: World, tmp_path: Path) -> None:
    id = world.remember("Tea is green")
    sync(world, tmp_path)
    (tmp_path / "mine").mkdir()
    path = note(tmp_path).rename(tmp_path / "mine" / "On tea.md")
    change(world, id, "Tea is red")
    assert sync(world, tmp_path).written == ["mine/On tea.md"]
    assert "\n\nTea is red\n" in path.read_text()
    assert not list((tmp_path / "memories").iterdir())
    other = world.remember("Tea is hot")
    world.app.links.link(PERSON, other, id)
    sync(world, tmp_path)
    assert "[[mine/On tea|" in note(tmp_path).read_text()
    world.app.memories.remove(PERSON, id)
    sync(world, tmp_path)
    assert not path.exists()
    nothing_more(world, tmp_path)


def test_a_new_note_becomes_a_memory_and_stays_where_it_is(world: World, tmp_path: Path) -> None:
    sync(world, tmp_path)
    path = tmp_path / "Ideas" / "Green tea.md"
    path.parent.mkdir()
    path.write_text("---\naliases: [sencha]\ntags: tea, drinks\n---\nIt is *green*.\n")
    (tmp_path / "empty.md").touch()
    assert sync(world, tmp_path).added == ["Ideas/Green tea.md"]
    (memory,) = world.store.find(Memory, everything("default"))
    assert (memory.title, memory.content) == ("Green tea", "It is *green*.")
    assert memory.metadata == {"aliases": ["sencha"], "tags": ["tea", "drinks"]}
    assert f"id: {memory.id}\n" in path.read_text()
    assert (tmp_path / "empty.md").read_text() == ""
    nothing_more(world, tmp_path)


def test_a_note_is_taken_in_whose_front_matter_cannot_be_read(world: World, tmp_path: Path) -> None:
    (tmp_path / "pier.md").write_text("---\ntitle: Pier: the north\nby: @ana\n---\nIt closes.\n")
    (tmp_path / "list.md").write_text("---\n- one\n---\nIt opens.\n")
    told = sync(world, tmp_path)
    assert sorted(told.added) == ["list.md", "pier.md"]
    assert [name for name, reason in left(told) if "front matter" in reason] == told.added
    kept = {each.title: each for each in world.store.find(Memory, everything("default"))}
    assert (kept["Pier: the north"].content, kept["Pier: the north"].metadata["by"]) == (
        "It closes.",
        "@ana",
    )
    assert kept["list"].content == "---\n- one\n---\nIt opens."
    nothing_more(world, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "title"),
    [
        ("type: semantic", "type: semantic\ntitle: Tea: the first", "Tea: the first"),
        ("type: semantic", "type: semantic\nmine: @me", None),
        ("metadata:\n", "metadata: [\n", None),
    ],
)
def test_an_edit_that_is_not_yaml_changes_what_can_be_read(
    world: World, tmp_path: Path, old: str, new: str, title: str | None
) -> None:
    id = world.remember("Tea is green", metadata={"depth": {"a": 1}})
    sync(world, tmp_path)
    edit(note(tmp_path), old, new)
    edit(note(tmp_path), "Tea is green", "Tea is red")
    told = sync(world, tmp_path)
    assert any("read as text" in reason for _, reason in left(told))
    after = world.memory(id)
    assert (after.content, after.title, after.metadata["depth"]) == (
        "Tea is red",
        title,
        {"a": 1},
    )
    nothing_more(world, tmp_path)


def test_a_note_that_lost_its_fields_is_left_as_it_is(world: World, tmp_path: Path) -> None:
    id = world.remember("Tea is green")
    sync(world, tmp_path)
    path = note(tmp_path)
    path.write_text(path.read_text().replace("---\n", "---\n- x\n", 1))
    before = path.read_text()
    ((name, reason),) = left(sync(world, tmp_path))
    assert (name, "not YAML" in reason) == (path.relative_to(tmp_path).as_posix(), True)
    assert (path.read_text(), world.memory(id).content) == (before, "Tea is green")


def test_what_was_edited_on_both_sides_is_kept_twice(world: World, tmp_path: Path) -> None:
    id = world.remember("Tea is green")
    sync(world, tmp_path)
    path = note(tmp_path)
    edit(path, "Tea is green", "Tea is white")
    change(world, id, "Tea is red")
    ((name, beside),) = sync(world, tmp_path).conflicts
    assert (tmp_path / name, world.memory(id).content) == (path, "Tea is red")
    assert "\n\nTea is red\n" in path.read_text()
    assert f"conflict: {Path(beside).name}" in path.read_text()
    kept = (tmp_path / beside).read_text()
    assert "Tea is white" in kept
    assert f"conflict_of: {id}" in kept
    assert world.store.count(Memory, everything("default")) == 1
    nothing_more(world, tmp_path)
    (tmp_path / beside).unlink()
    sync(world, tmp_path)
    assert "conflict:" not in path.read_text()
    nothing_more(world, tmp_path)


def test_the_same_edit_on_both_sides_is_no_conflict(world: World, tmp_path: Path) -> None:
    id = world.remember("Tea is green")
    sync(world, tmp_path)
    edit(note(tmp_path), "Tea is green", "Tea is red")
    change(world, id, "Tea is red")
    assert sync(world, tmp_path).conflicts == []
    nothing_more(world, tmp_path)


@pytest.mark.parametrize("deletion", Deletion)
def test_a_deleted_note_is_asked_about(world: World, tmp_path: Path, deletion: Deletion) -> None:
    id = world.remember("Tea is green")
    sync(world, tmp_path)
    path = note(tmp_path)
    name = path.relative_to(tmp_path).as_posix()
    path.unlink()
    done = sync(world, tmp_path, deletion)
    is_gone = world.memory(id).deleted_at is not None
    assert is_gone is (deletion is Deletion.FORGET)
    assert path.exists() is (deletion is Deletion.KEEP)
    assert done.open == [name] * (deletion is Deletion.ASK)
    again = sync(world, tmp_path, deletion)
    assert again.open == done.open, "until somebody decides"
    assert again.forgotten == []


def test_a_note_that_was_deleted_while_its_memory_changed_comes_back(
    world: World, tmp_path: Path
) -> None:
    id = world.remember("Tea is green")
    sync(world, tmp_path)
    path = note(tmp_path)
    path.unlink()
    change(world, id, "Tea is red")
    sync(world, tmp_path, Deletion.FORGET)
    assert "Tea is red" in path.read_text()
    assert world.memory(id).deleted_at is None


def test_an_edit_of_a_note_whose_memory_is_gone_is_kept(world: World, tmp_path: Path) -> None:
    id = world.remember("Tea is green")
    sync(world, tmp_path)
    edit(note(tmp_path), "Tea is green", "Tea is white")
    world.app.memories.remove(PERSON, id)
    ((_, beside),) = sync(world, tmp_path).conflicts
    assert "Tea is white" in (tmp_path / beside).read_text()
    nothing_more(world, tmp_path)


REMOVALS: dict[str, Callable[[World, str], object]] = {
    "forgotten": lambda world, each: world.app.memories.remove(PERSON, each),
    "deleted": lambda world, each: world.app.memories.delete(PERSON, each),
    "erased": lambda world, each: erase(world, each),
}


def erase(world: World, id: str) -> None:
    erasing = world.app.get(Erasing)
    erasing.erase(PERSON, erasing.find(PERSON, Choice((id,))), backups=False, from_ledger=False)


@pytest.mark.needs("erasure")
@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("is_new", [True, False])
def test_a_note_of_what_was_removed_here_does_not_bring_it_back_unless_it_is_wanted(
    opener: Opener, tmp_path: Path, removal: str, is_new: bool
) -> None:
    world = opener()
    sync(world, tmp_path)
    path = tmp_path / "tea.md"
    path.write_text("Tea is green")
    before = path.read_text()
    sync(world, tmp_path)
    (memory,) = world.store.find(Memory, everything("default"))
    copied = before if is_new else path.read_text()
    REMOVALS[removal](world, memory.id)
    sync(world, tmp_path)
    assert not path.exists()
    # A program that copies folders brings the file back from a machine that has not heard of it.
    path.write_text(copied)
    for _ in range(2):
        report = sync(world, tmp_path)
        assert left(report) == [("tea.md", REMOVED_HERE)]
        assert report.counts[Outcome.REMOVED].total() == 1
        assert path.read_text() == copied
        assert not [m for m in shown(world) if "green" in m.content]
    assert sync(world, tmp_path, again=True).added == ["tea.md"]
    (back,) = shown(world)
    assert (back.id, back.content) == (memory.id, "Tea is green")
    nothing_more(world, tmp_path)


def shown(world: World) -> list[Memory]:
    found = world.store.find(Memory, everything("default"))
    return [each for each in found if each.deleted_at is None]


def test_what_stands_after_the_links_is_text(world: World, tmp_path: Path) -> None:
    one, other = world.remember("Tea is green"), world.remember("Tea is hot")
    world.app.links.link(PERSON, one, other)
    sync(world, tmp_path)
    path = note(tmp_path, "tea-is-green")
    with path.open("a") as file:
        file.write("\nWritten below\n")
    sync(world, tmp_path)
    assert world.memory(one).content == "Tea is green\n\nWritten below"
    nothing_more(world, tmp_path)


def test_a_note_that_cannot_be_taken_is_named_and_left_as_it_is(
    world: World, tmp_path: Path
) -> None:
    id, locked = world.remember("Tea is green"), world.remember("Milk is white")
    world.lock(locked)
    world.entity("Tea")
    sync(world, tmp_path)
    edit(note(tmp_path, "milk"), "Milk is white", "Milk is blue")
    (entity,) = (tmp_path / "entities").iterdir()
    entity.write_text("Mine")
    bad = {
        "latin.md": "Käse".encode("latin-1"),
        "stranger.md": b"---\nminutebook: memory\nid: 00000000000000000000\n---\nText",
        "twice.md": note(tmp_path, "tea").read_bytes().replace(b"green", b"blue"),
        "large.md": b"x" * (2 << 20),
        note(tmp_path, "milk").relative_to(tmp_path).as_posix(): note(
            tmp_path, "milk"
        ).read_bytes(),
        entity.relative_to(tmp_path).as_posix(): b"Mine",
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    done = sync(world, tmp_path)
    assert sorted(name for name, _ in left(done)) == sorted(bad)
    assert {name: (tmp_path / name).read_bytes() for name in bad} == bad
    assert (world.memory(id).content, world.memory(locked).content) == (
        "Tea is green",
        "Milk is white",
    )
    assert world.store.count(Memory, everything("default")) == 2


def test_a_note_without_its_id_is_a_new_memory_and_the_old_one_stays(
    world: World, tmp_path: Path
) -> None:
    id = world.remember("Tea is green")
    sync(world, tmp_path)
    path = note(tmp_path)
    path.write_text("Something else")
    assert sync(world, tmp_path).added == [path.relative_to(tmp_path).as_posix()]
    texts = {each.content for each in world.store.find(Memory, everything("default"))}
    assert texts == {"Tea is green", "Something else"}
    shown = [each.read_text() for each in (tmp_path / "memories").iterdir()]
    assert len(shown) == 2
    assert any(f"id: {id}\n" in text and "Tea is green" in text for text in shown)
    nothing_more(world, tmp_path)


def test_links_and_hidden_folders_are_not_read(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("Not yours")
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    (folder / ".obsidian" / "note.md").write_text("Settings")
    (folder / "linked").symlink_to(outside)
    (folder / "secret.md").symlink_to(outside / "secret.md")
    os.mkfifo(folder / "pipe.md")
    sync(world, folder)
    assert world.store.count(Memory, everything("default")) == 0
    world.remember("Tea is green")
    (folder / "memories").symlink_to(outside)
    with pytest.raises(InvalidInput, match="is a link"):
        sync(world, folder)
    assert [path.name for path in outside.iterdir()] == ["secret.md"]


def test_a_folder_that_a_later_version_began_is_refused_with_what_to_do(
    world: World, tmp_path: Path
) -> None:
    world.remember("Tea is green")
    folder = tmp_path / "vault"
    sync(world, folder)
    state = folder / ".minutebook" / "sync.json"
    state.write_text(state.read_text().replace('"version": 1', '"version": 2', 1))
    with pytest.raises(InvalidInput, match=r"begun by a later version .*; upgrade Minutebook"):
        sync(world, folder)


def test_a_state_that_names_places_outside_is_not_believed(world: World, tmp_path: Path) -> None:
    id = world.remember("Tea is green")
    folder = tmp_path / "vault"
    sync(world, folder)
    victim = tmp_path / "victim.md"
    victim.write_text("Mine")
    state = folder / ".minutebook" / "sync.json"
    lines = [json.loads(line) for line in state.read_text().splitlines()]
    for line in lines[1:]:
        line["path"] = "../victim.md"
        line["file"] = digest_at(victim)
    state.write_text("\n".join(map(json.dumps, lines)))
    world.app.memories.remove(PERSON, id)
    sync(world, folder)
    assert victim.read_text() == "Mine"


def test_secrets_are_screened_on_the_way_in(world: World, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (tmp_path / "keys.md").write_text(f"The token is {token}")
    caller = replace(PERSON)
    world.app.get(NoteSync).run(caller, tmp_path, lambda name, label: Deletion.ASK)
    assert "secrets" in caller.call.notes


def test_a_viewer_keeps_no_folder_in_step(world: World, tmp_path: Path) -> None:
    viewer = Caller(name="eve", role=Role.VIEWER)
    with pytest.raises(Refused):
        world.app.get(NoteSync).run(viewer, tmp_path / "vault", lambda name, label: Deletion.ASK)
    assert not (tmp_path / "vault").exists()


def test_a_folder_that_an_export_wrote_is_taken_over(world: World, tmp_path: Path) -> None:
    id = world.remember("Tea is green")
    world.app.get(FolderExports).notes(PERSON, tmp_path)
    edit(note(tmp_path), "Tea is green", "Tea is red")
    assert len(sync(world, tmp_path).taken) == 1
    assert world.memory(id).content == "Tea is red"
    nothing_more(world, tmp_path)


@pytest.mark.thorough
def test_a_watched_folder_follows_both_sides_and_comes_to_rest(
    world: World, tmp_path: Path
) -> None:
    id = world.remember("Tea is green")
    stop, told = threading.Event(), list[NotesReport]()
    watcher = threading.Thread(
        target=world.app.get(NoteSync).watch,
        args=(PERSON, tmp_path, lambda name, label: Deletion.ASK, told.append, stop),
    )
    watcher.start()
    try:
        wait_until(lambda: len(told) >= 2)
        edit(note(tmp_path), "Tea is green", "Tea is red")
        wait_until(lambda: world.memory(id).content == "Tea is red")
        change(world, id, "Tea is white")
        wait_until(lambda: "Tea is white" in note(tmp_path).read_text())
        # Its own writes wake it, and then it finds nothing to do.
        wait_until(lambda: told[-1].is_empty)
    finally:
        stop.set()
        watcher.join()
    nothing_more(world, tmp_path)


class Cut(BaseException):
    """What a kill leaves: nothing is done any more."""


def test_a_run_that_was_cut_short_is_ended_by_the_next(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, gone = world.remember("Tea is green"), world.remember("Bread is brown")
    sync(world, tmp_path)
    (tmp_path / "new.md").write_text("Milk is white")
    edit(note(tmp_path, "tea"), "green", "red")
    world.app.memories.remove(PERSON, gone)
    left = 0

    def stepping(function: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise Cut
            return function(*arguments, **named)

        return stepped

    steps = ((Path, "replace"), (Path, "unlink"), (Path, "write_bytes"), (NoteFolder, "_note"))
    for owner, name in steps:
        monkeypatch.setattr(owner, name, stepping(getattr(owner, name)))
    cuts = 0
    while left <= 0:
        left = cuts + 1
        try:
            sync(world, tmp_path)
        except Cut:
            cuts += 1
    assert cuts >= 4
    kept = world.store.find(Memory, everything("default"))
    assert {m.content for m in kept if m.deleted_at is None} == {"Tea is red", "Milk is white"}
    assert world.memory(id).version == 2
    assert not list(tmp_path.rglob("*.conflict-*"))
    nothing_more(world, tmp_path)


_TEXTS = st.text("ab \n#-[]é", min_size=1, max_size=12).map(lambda text: f"x{text}y")
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["remember", "change", "remove", "edit", "new", "delete", "move", "sync"]),
        st.integers(0, 2),
        _TEXTS,
    ),
    max_size=16,
)


@given(_STEPS)
@example([(act, 0, "x[y") for act in ("remember", "sync", "change", "edit")])
@example([(act, 0, "x[y") for act in ("new", "edit", "sync", "change")])
@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
def test_both_sides_end_equal_and_no_text_is_lost(steps: list[tuple[str, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as home, worlds(Path(home)) as open_one:
        world = open_one(ready())
        folder = Path(home) / "vault"
        sync(world, folder)
        written: list[str] = []
        for number, (act, which, text) in enumerate(steps):
            try_step(world, folder, act, which, f"{number}{text}", written)
        sync(world, folder)
        nothing_more(world, folder)
        # A text may be a part of a version: of a note that was edited before it was taken in.
        kept = [each.content for each in world.store.find(Version, everything("default"))]
        kept += [path.read_text() for path in folder.rglob("*.md")]
        lost = [text for text in written if not any(text in each for each in kept)]
        assert not lost
        for memory in world.store.find(Memory, everything("default")):
            shown = [path for path in folder.rglob("*.md") if shows(path, memory)]
            assert len(shown) <= (memory.deleted_at is None)
            assert all(memory.content in path.read_text() for path in shown)


def shows(path: Path, memory: Memory) -> bool:
    """Tell whether a note stands for a memory; what a conflict's note quotes does not."""
    front = path.read_text().removeprefix("---\n").partition("\n---\n")[0]
    return f"id: {memory.id}" in front.splitlines()


def try_step(
    world: World, folder: Path, act: str, which: int, text: str, written: list[str]
) -> None:
    """Do something on one of the sides, if it can be done."""
    memories = [m for m in world.store.find(Memory, everything("default")) if m.deleted_at is None]
    files = sorted(path for path in folder.rglob("*.md") if ".conflict-" not in path.name)
    memory = memories[which % len(memories)] if memories else None
    path = files[which % len(files)] if files else None
    world.clock.turn()
    match act:
        case "sync":
            sync(world, folder)
        case "remember":
            world.remember(text)
            written.append(text)
        case "new":
            (folder / f"new {world.clock.turn():%H%M%S}.md").write_text(text)
            written.append(text)
        case "change" if memory is not None:
            change(world, memory.id, text)
            written.append(text)
        case "remove" if memory is not None:
            world.app.memories.remove(PERSON, memory.id)
        case "edit" if path is not None:
            with path.open("a") as file:
                file.write(f"\n{text}\n")
            written.append(text)
        case "delete" if path is not None and path.read_text().startswith("---\nminutebook"):
            saved = path.read_text()
            path.unlink()
            # A person who deletes a text that nobody has taken in yet means to.
            written[:] = [each for each in written if each not in saved]
        case "move" if path is not None:
            # To a name that no file has: what a person overwrites is lost by their own hand.
            path.rename(folder / f"moved {world.clock.turn():%H%M%S}.md")
