from pathlib import Path

import pytest

from minutebook.memory.maintenance.doctor import Check, Doctor, Finding
from minutebook.record.records import Entry
from minutebook.store.disk import network_files
from tests.world import Opener, World, failed


def findings(world: World) -> list[str]:
    app = world.app
    return [each.finding for each in app.doctor.examine()]


def test_a_sound_store_has_no_findings(world: World) -> None:
    world.remember("Ana likes tea")
    world.entity("Ana")
    assert findings(world) == []


@pytest.mark.needs("audit_proof")
def test_a_broken_trail_and_a_model_that_failed_are_findings_with_a_remedy(
    opener: Opener,
) -> None:
    world = opener(failed("model.onnx is damaged"), wait=10)
    for text in ("a", "b", "c"):
        world.remember(text)
    world.store.delete(Entry, "default", "2")
    found = world.app.doctor.examine()
    assert len(found) == 2
    assert "default breaks at entry 2" in found[0].finding
    assert "model.onnx is damaged" in found[1].finding
    assert all(each.remedy for each in found)


def test_a_part_that_the_user_may_not_read_is_a_finding_and_the_rest_is_examined(
    world: World, tmp_path: Path
) -> None:
    app, fault = world.app, Finding("This was examined.", "")
    checks = [Check("The ledger", lambda: [Finding(tmp_path.read_text(), "")])]
    checks.append(Check("The rest", lambda: [fault]))
    doctor = Doctor(
        world.store, app.trail, app.embedding, app.mentions, checks, home=app.settings.home
    )
    unread, examined = doctor.examine()
    assert unread.finding == f"The ledger cannot be read: {tmp_path}: Is a directory"
    assert unread.remedy
    assert examined == fault


def test_what_is_derived_is_made_again_and_finds_as_before(world: World) -> None:
    for text in ("Ana likes tea", "the boiler hums", "Ana sleeps"):
        world.remember(text)
    world.entity("Ana")
    before = [world.call(tool, query="Ana boiler") for tool in ("search", "search_text", "recall")]
    world.app.doctor.repair(world.caller)
    again = [world.call(tool, query="Ana boiler") for tool in ("search", "search_text", "recall")]
    assert again == before
    assert findings(world) == []
    last = world.app.trail.entries(world.caller, limit=1)
    assert [(each.act, each.actor) for each in last] == [("rebuild", world.caller.name)]


def test_a_data_directory_on_a_network_file_system_is_a_finding(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = world.file_store.database.place
    assert findings(world) == []
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"31 27 0:40 / {tmp_path.resolve()} rw - nfs4 server:/home rw\n")
    monkeypatch.setattr(network_files, "_MOUNTS", mounts)
    (found,) = world.app.doctor.examine()
    assert f"{path} is on a network file system (nfs4)" in found.finding
    assert "--home" in found.remedy
