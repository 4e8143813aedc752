"""Notes and tables: the same records make the same files, and nobody else's file is touched."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.features.archives.exports.folder_exports import FolderExported, FolderExports
from minutebook.features.archives.notes.note_sync import Deletion, NoteSync
from minutebook.record.errors import InvalidInput, Refused
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft
from tests.world import World


@pytest.fixture
def filled(world: World) -> World:
    ana, acme = world.entity("Ana"), world.entity("Acme", entity_type="company")
    world.relate(ana, acme, "works at")
    world.remember("Ana drinks tea")
    world.app.sessions.add(world.caller, "s: one/two", "Why?", "Hm", "So.")
    return world


def notes(world: World, folder: Path) -> FolderExported:
    return world.app.get(FolderExports).notes(world.caller, folder)


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.md"))
    }


def note(folder: Path, start: str) -> Path:
    (path,) = folder.glob(f"{start}*.md")
    return path


def test_a_note_a_record_with_links_that_lead_somewhere(filled: World, tmp_path: Path) -> None:
    done = notes(filled, tmp_path / "out")
    assert (done.changed, done.removed, done.kept) == (4, 0, ())
    told = files(tmp_path / "out")
    (memory,) = (text for name, text in told.items() if name.startswith("memories/"))
    assert memory.startswith("---\nminutebook: memory\n")
    assert "\n\nAna drinks tea\n" in memory
    (ana,) = (text for name, text in told.items() if name.startswith("entities/ana-"))
    assert '- "works at" [[entities/acme-' in ana
    (session,) = (text for name, text in told.items() if name.startswith("sessions/s-one-two-"))
    assert "### Prompt\n\nWhy?\n" in session
    for text in told.values():
        for link in text.split("[[")[1:]:
            assert f"{link.partition('|')[0]}.md" in told


def test_again_only_what_changed_is_written(filled: World, tmp_path: Path) -> None:
    notes(filled, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")}
    assert notes(filled, tmp_path).changed == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")} == before
    id = filled.remember("Tea is green")
    assert notes(filled, tmp_path).changed == 1
    filled.app.memories.remove(filled.caller, id)
    done = notes(filled, tmp_path)
    assert (done.changed, done.removed) == (0, 1)


def test_what_a_person_wrote_or_edited_stays(filled: World, tmp_path: Path) -> None:
    notes(filled, tmp_path)
    ana, tea = note(tmp_path, "entities/ana-"), note(tmp_path, "memories/ana-")
    ana.write_text("Mine now")
    (tmp_path / "entities" / "own.md").write_text("Mine")
    tea.unlink()
    done = notes(filled, tmp_path)
    assert done.changed == 1
    assert done.kept == (ana.relative_to(tmp_path).as_posix(),)
    assert ana.read_text() == "Mine now"
    assert (tmp_path / "entities" / "own.md").exists()
    assert notes(filled, tmp_path).kept == done.kept
    ana.unlink()
    ana.mkdir()
    assert notes(filled, tmp_path).kept == done.kept


def test_a_run_that_was_cut_short_is_gone_on_with(filled: World, tmp_path: Path) -> None:
    notes(filled, tmp_path)
    whole = files(tmp_path)
    state = tmp_path / ".minutebook" / "sync.json"
    # Killed while it noted its third file, after it had written two.
    noted = state.read_bytes().split(b"\n")[1:-1]
    first = {json.loads(line)["path"] for line in noted[:2]}
    (state.parent / "pending.jsonl").write_bytes(b"\n".join([*noted[:2], noted[2][:20]]))
    state.unlink()
    for name in whole.keys() - first:
        (tmp_path / name).unlink()
    (state.parent / "part").write_text("half")
    assert notes(filled, tmp_path).kept == ()
    assert files(tmp_path) == whole


def test_nothing_is_written_through_a_link(filled: World, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "memories").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="link"):
        notes(filled, tmp_path / "out")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_names_are_safe_whatever_the_title(world: World, tmp_path: Path) -> None:
    titles = [
        "../../etc/passwd",
        "CON",
        "a" * 300,
        "\x1b[1m\n",
        "東京/大阪",
        "",
        "---\n# x",
        "ä\ud800",
    ]
    for title in titles:
        draft = Draft(content=f"x {title}", title=title, type=MemoryType.FACT)
        world.app.memories.store(world.caller, draft)
    assert notes(world, tmp_path / "out").changed == len(titles)
    assert len(files(tmp_path / "out")) == len(titles)
    for name in files(tmp_path / "out"):
        assert len(name.encode()) < 200
        assert not set(name) & set('\\:*?"<>|\n\x1b')
        assert ".." not in name


def test_tables_hold_no_formula(filled: World, tmp_path: Path) -> None:
    filled.remember("=HYPERLINK(1)")
    filled.remember("\uff1d1+1")
    filled.app.get(FolderExports).tables(filled.caller, tmp_path)
    with (tmp_path / "memory.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["content"] for row in rows) == [
        "'=HYPERLINK(1)",
        "'\uff1d1+1",
        "Ana drinks tea",
    ]
    with (tmp_path / "relation.csv").open(newline="", encoding="utf-8") as file:
        assert [row["type"] for row in csv.DictReader(file)] == ["works at"]
    assert filled.app.get(FolderExports).tables(filled.caller, tmp_path).changed == 0


def test_tables_and_notes_lie_in_one_folder(filled: World, tmp_path: Path) -> None:
    exports = filled.app.get(FolderExports)
    notes(filled, tmp_path)
    before = files(tmp_path)
    assert exports.tables(filled.caller, tmp_path).removed == 0
    tables = {path.name: path.read_bytes() for path in tmp_path.glob("*.csv")}
    assert notes(filled, tmp_path).removed == 0
    person = replace(filled.caller, role=Role.HUMAN, writes_system=True)
    kept_in_step = filled.app.get(NoteSync)
    report = kept_in_step.run(person, tmp_path, lambda *_: Deletion.FORGET)
    assert (report.written, report.forgotten) == ([], [])
    assert exports.tables(filled.caller, tmp_path).changed == 0
    assert files(tmp_path) == before
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.csv")} == tables


def test_each_exports_what_they_may_see(filled: World, tmp_path: Path) -> None:
    mine = filled.by(user="ben")
    mine.remember("Ben's alone")
    notes(filled.by(user="carl"), tmp_path / "carl")
    assert "Ben's alone" not in "".join(files(tmp_path / "carl").values())
    with pytest.raises(Refused):
        notes(filled.by(role=Role.VIEWER), tmp_path / "viewer")
    assert not (tmp_path / "viewer").exists()
    assert filled.trail()[-1].outcome == "Forbidden"
