"""Archives over a token: a folder for each set of scopes, of which no path is told."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minutebook.record.caller import Caller, with_call
from minutebook.record.records import Role
from minutebook.record.rights.grants import Grant
from tests.features.journal.contract.journaled import Client
from tests.world import World

OWNER = Caller(name="root", role=Role.HUMAN, writes_system=True)
GRANT = Grant(name="ana", role=Role.HUMAN, organization="acme")
OTHERS = (
    {"organization": "zoo"},
    {"organization": None},
    {"organization": "acme", "repositories": ("api",)},
    {"organization": "acme", "repositories": ("api", "web")},
    {"organization": "acme", "user": "ana"},
)


def bearer(world: World, **changes: Any) -> Client:
    """A client of the journal that came with a token."""
    issued = world.app.tokens.create(OWNER, replace(GRANT, **changes))
    caller = with_call(world.app.tokens.caller_of(issued.secret), session="session_1")
    return Client(replace(world, caller=caller))


@pytest.fixture
def backups(world: World, tmp_path: Path) -> Path:
    """Where the world keeps archives."""
    return tmp_path / "one" / "backups"


def exported(client: Client) -> str:
    (file,) = client.call("export_database")["files"]
    return str(file)


def foreign_line(prompt: str) -> str:
    metadata = {
        "sessionId": "s1",
        "timestamp": "2025-10-08T12:00:00.000Z",
        "prompt": prompt,
        "thought": "",
        "response": "",
    }
    return json.dumps({"id": "mem_1", "metadata": metadata, "document": prompt}) + "\n"


def place(backups: Path, client: Client) -> Path:
    """The folder into which a client's archives go."""
    name = exported(client)
    (found,) = backups.glob(f"*/{name}")
    assert found.stat().st_mode & 0o777 == 0o600
    for folder in (found.parent, backups):
        assert folder.stat().st_mode & 0o777 == 0o700
    found.unlink()
    return found.parent


def test_what_a_bearer_exports_they_bring_back_by_the_name_they_were_told(world: World) -> None:
    client = bearer(world)
    client.add("hello", "s1")
    name = exported(client)
    assert "/" not in name
    assert client.call("import_database", file=name)["skipped"] == 1


def test_whoever_has_the_same_scopes_has_the_same_folder(world: World, backups: Path) -> None:
    one, other = bearer(world), bearer(world, name="bob")
    one.add("hello", "s1")
    assert other.call("import_database", file=exported(one))["skipped"] == 1
    assert place(backups, one) == place(backups, other)


@pytest.mark.parametrize("held", OTHERS, ids=str)
def test_a_file_of_one_tenant_is_not_imported_by_another(
    world: World, backups: Path, held: Any
) -> None:
    one, other = bearer(world), bearer(world, **held)
    theirs, mine = place(backups, one), place(backups, other)
    assert theirs != mine
    (theirs / "core.jsonl").write_text(foreign_line("secret of acme"), encoding="utf-8")
    for path in (
        "core.jsonl",
        str(theirs / "core.jsonl"),
        f"../{theirs.name}/core.jsonl",
        f"{theirs.name}/core.jsonl",
    ):
        # Who has several repositories cannot say whose a foreign line is.
        assert other.refused("import_database", file=path)[0] in {
            "Invalid arguments",
            "Not allowed",
        }
    assert other.prompts("s1") == []
    assert one.call("import_database", file="core.jsonl")["imported"] == 1


def test_a_link_leads_nobody_out_of_their_folder(world: World, backups: Path) -> None:
    one, other = bearer(world), bearer(world, organization="zoo")
    theirs, mine = place(backups, one), place(backups, other)
    (theirs / "core.jsonl").write_text(foreign_line("secret of acme"), encoding="utf-8")
    (mine / "core.jsonl").symlink_to(theirs / "core.jsonl")
    (mine / "folder").symlink_to(theirs)
    for path in ("core.jsonl", "folder/core.jsonl"):
        assert other.refused("import_database", file=path)[0] == "Invalid arguments"


def test_what_is_outside_a_bearers_folder_is_refused_in_the_same_words_whatever_it_is(
    world: World, backups: Path, tmp_path: Path
) -> None:
    client = bearer(world)
    place(backups, client)
    (tmp_path / "there").write_text("", encoding="utf-8")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "folder").mkdir()
    said = {
        client.refused("import_database", file=str(tmp_path / name))
        for name in ("there", "missing", "loop", "loop/x", "folder", "there/x", "x" * 300)
    }
    assert len(said) == 1


def test_who_came_without_a_token_reaches_every_folder_as_before(
    world: World, backups: Path
) -> None:
    folder = place(backups, bearer(world))
    (folder / "core.jsonl").write_text(foreign_line("hello"), encoding="utf-8")
    owner = Client(world).by(role=Role.HUMAN)
    assert owner.call("import_database", file=f"{folder.name}/core.jsonl")["imported"] == 1
    assert Path(exported(owner)).parent == backups


def test_a_bearer_is_told_no_path_of_the_servers(
    world: World, backups: Path, tmp_path: Path
) -> None:
    client = bearer(world)
    folder = place(backups, client)
    (folder / "sub").mkdir()
    (folder / "bad.jsonl").write_text("no archive\n", encoding="utf-8")
    (folder / "empty.jsonl").touch()
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "out").symlink_to(tmp_path)
    paths = ("bad.jsonl", "empty.jsonl", "nosuch.jsonl", "sub", "loop", "out", "sub/../x")
    said = [
        client.refused("import_database", file=path)[1]
        for path in (*paths, "../bad.jsonl", "../../minutebook.db", "", "a\0b", "x" * 300)
    ]
    assert any("bad.jsonl, line 1" in each for each in said)
    assert not [each for each in said if str(tmp_path) in each or folder.name in each]


def test_a_bearer_is_not_told_where_an_export_could_not_be_written(
    world: World, backups: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = bearer(world)
    backups.write_text("no folder", encoding="utf-8")
    name, message = client.refused("export_database")
    assert name == "Database connection failed"
    assert "the log of the server tells why" in message
    assert str(backups.parent) not in message
    assert f"{backups}: " in caplog.text
    assert "archive_roots names others" in caplog.text
