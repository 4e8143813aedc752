"""A data directory that is encrypted: nothing in it shows a word, and nothing is lost on the way there and back."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.app import App, now, open_app
from minutebook.config import Settings
from minutebook.config.models import models_of
from minutebook.config.places import data_directory, sync_folder
from minutebook.features.archives.archive_lines import JOURNAL, Mode
from minutebook.features.archives.archives import Archives
from minutebook.features.archives.copies.backups import store_backups
from minutebook.features.archives.copies.restores import Restores, check_restorable
from minutebook.features.archives.copies.scheduled_backups import scheduled_backups
from minutebook.features.archives.settings import ArchiveSettings
from minutebook.features.encryption.encryption import encryption_of
from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice
from minutebook.features.erasure.traces import Finder, pieces_of, search
from minutebook.features.sync.machines import MachineSync
from minutebook.features.sync.remotes import remote_of
from minutebook.memory.maintenance.data_directory import start_anew
from minutebook.record.caller import Caller
from minutebook.record.errors import (
    EncryptionKeyMissing,
    InvalidArchive,
    InvalidInput,
    StoreBusy,
    StoreError,
)
from minutebook.record.records import Kind, Memory, MemoryType, Role
from minutebook.record.writing.drafts import Draft
from minutebook.store.disk.atomic_file import PART
from minutebook.store.disk.encryption import key_id_of
from minutebook.store.disk.keys import FilePlace
from minutebook.store.sqlite import encryption as database
from tests.features.encryption.encrypted import main, settings
from tests.features.erasure.given import text_of, words_of
from tests.store.small_index import small_index
from tests.world import NOON, everything, ready

PERSON = Caller(name="ana", role=Role.HUMAN, writes_system=True)
ADMIN = replace(PERSON, role=Role.ADMIN)
WORDS = (b"canary", b"zanzibar")


@contextmanager
def app_of(chosen: Settings) -> Iterator[App]:
    models = replace(models_of(chosen), embedding=ready())
    with closing(open_app(chosen, models=models)) as app:
        app.embedding.wait(60)
        yield app


def remember(app: App, *texts: str) -> None:
    for text in texts:
        app.memories.store(PERSON, Draft(content=text, type=MemoryType.FACT))


def held(app: App) -> list[str]:
    return sorted(m.content for m in app.infrastructure.store.find(Memory, everything("default")))


def filled(home: Path, keys: Path) -> Settings:
    """Fill a store with what leaves traces: memories, turns, recalls, an archive, a backup, a store put aside."""
    chosen = settings(home, keys)
    with small_index(), app_of(chosen) as app:
        remember(app, *(f"The canary of Zanzibar sings {n}" for n in range(4)))
        app.sessions.add(PERSON, "tea", "who sings in Zanzibar", "", "the canary")
        app.get(Archives).export(PERSON, JOURNAL)
        app.get(scheduled_backups).run(PERSON)
        app.infrastructure.store.upkeep.rebuild()
    aside = home / "replaced-20260101T000000"
    aside.mkdir()
    shutil.copy(chosen.database, aside / "minutebook.db")
    return chosen


def shown_in(home: Path) -> list[str]:
    """Name the files that show a word of what is kept, or the mark of a plain database or index."""
    marks = (*WORDS, b"sqlite format 3", b"minutebook index")
    return [
        str(path.relative_to(home))
        for path in sorted(home.rglob("*"))
        if path.is_file() and any(mark in path.read_bytes().lower() for mark in marks)
    ]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    filled(folder / "home", folder / "keys")
    assert len(shown_in(folder / "home")) >= 5
    return folder / "home"


@pytest.fixture
def chosen(plain: Path, tmp_path: Path) -> Settings:
    """The settings of a plain store, for one test; its key is to be in a file beside it."""
    shutil.copytree(plain, tmp_path / "home")
    return settings(tmp_path / "home", tmp_path / "keys")


def test_nothing_in_an_encrypted_directory_shows_a_word(chosen: Settings) -> None:
    work = encryption_of(chosen)
    done = work.encrypt()
    assert shown_in(chosen.home) == []
    assert (done.files, done.earlier, done.outside) == (3, (), ())
    assert work.state().key == done.key == database.key_id_of(chosen.database)
    # Nor is there once it is written to again, while it is open and its log is long.
    with small_index(), app_of(chosen) as app:
        remember(app, "A second canary of Zanzibar")
        assert len(app.recall.by_meaning(PERSON, "canary Zanzibar", 10)) == 5
        assert len(app.recall.by_words(PERSON, "canary", 10)) == 5
        app.get(Archives).export(PERSON, JOURNAL)
        app.get(scheduled_backups).run(PERSON)
        assert app.doctor.examine() == []
        app.infrastructure.store.upkeep.rebuild()
        assert chosen.database.with_name("minutebook.db-wal").stat().st_size
        assert shown_in(chosen.home) == []
        assert work.state().plain == ()
    # Neither is the key.
    secret = (chosen.home.parent / "keys").read_text().split()[1]
    for path in chosen.home.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()
        assert not path.is_file() or bytes.fromhex(secret) not in path.read_bytes()


def test_what_was_encrypted_comes_back_as_it_was(chosen: Settings, plain: Path) -> None:
    with app_of(chosen) as app:
        before = held(app)
    work = encryption_of(chosen)
    archive = next(chosen.of(ArchiveSettings).backups.glob("*.jsonl"))
    work.encrypt()
    first = work.state().key
    assert key_id_of(archive) == first
    again = work.encrypt()
    assert (again.key, again.files) == (first, 0)
    another = work.encrypt(with_new_key=True)
    assert another.key not in (None, first)
    assert key_id_of(archive) == another.key
    assert [path.suffix for path in another.earlier] == [".tar"]
    off = work.decrypt()
    assert (off.key, work.state().key) == (None, None)
    assert archive.read_bytes() == (plain / archive.relative_to(chosen.home)).read_bytes()
    with app_of(chosen) as app:
        assert held(app) == before
        assert app.doctor.examine() == []


def test_a_backup_is_restored_with_its_key_wherever_it_was_made(
    chosen: Settings, tmp_path: Path
) -> None:
    encryption_of(chosen).encrypt()
    with app_of(chosen) as app:
        before = held(app)
        made = app.get(store_backups).make(PERSON, tmp_path / "kept.tar").path
    assert key_id_of(made) == encryption_of(chosen).state().key
    encryption_of(chosen).encrypt(with_new_key=True)
    key = encryption_of(chosen).state().key
    # Into the store, which has another key by now; then into a directory that is empty.
    Restores(data_directory(chosen)).run(PERSON, made, NOON)
    assert encryption_of(chosen).state().key == key
    other = replace(chosen, home=tmp_path / "other")
    Restores(data_directory(other)).run(PERSON, made, NOON)
    assert encryption_of(other).state().key == key_id_of(made)
    for each in (chosen, other):
        with app_of(each) as app:
            assert held(app) == before
    assert shown_in(other.home) == []
    keyless = replace(chosen, home=tmp_path / "third", key=f"file:{tmp_path / 'none'}")
    with pytest.raises(EncryptionKeyMissing, match=r"kept\.tar is encrypted"):
        Restores(data_directory(keyless)).run(PERSON, made, NOON)


def test_a_plain_backup_comes_into_an_encrypted_store_encrypted(
    chosen: Settings, tmp_path: Path
) -> None:
    with app_of(chosen) as app:
        made = app.get(store_backups).make(PERSON, tmp_path / "kept.tar").path
    done = encryption_of(chosen).encrypt()
    assert made in done.outside
    Restores(data_directory(chosen)).run(PERSON, made, NOON)
    assert encryption_of(chosen).state().key == done.key
    assert shown_in(chosen.home) == []


def test_an_empty_store_that_takes_the_place_of_an_encrypted_one_is_encrypted(
    chosen: Settings,
) -> None:
    key = encryption_of(chosen).encrypt().key
    start_anew(data_directory(chosen), now())
    assert encryption_of(chosen).state().key == key
    with app_of(chosen) as app:
        assert held(app) == []


def test_an_encrypted_archive_is_imported_and_one_elsewhere_is_for_others(
    chosen: Settings, tmp_path: Path
) -> None:
    encryption_of(chosen).encrypt()
    archive = next(chosen.of(ArchiveSettings).backups.glob("*.jsonl"))
    with app_of(chosen) as app:
        app.get(Archives).export_to(PERSON, JOURNAL, tmp_path / "shared.jsonl")
        assert b"canary" in (tmp_path / "shared.jsonl").read_bytes()
    other = replace(chosen, home=tmp_path / "other")
    with app_of(other) as app:
        done = app.get(Archives).import_from(PERSON, archive, Mode.MERGE)
        assert done.imported[Kind.TURN] == 1
    content = bytearray(archive.read_bytes())
    content[-1] ^= 1
    archive.write_bytes(content)
    with app_of(other) as app, pytest.raises(InvalidArchive, match="changed or cut short"):
        app.get(Archives).import_from(PERSON, archive, Mode.MERGE)


def test_what_a_sync_copied_is_removed_beside_an_encrypted_store(
    chosen: Settings, tmp_path: Path
) -> None:
    encryption_of(chosen).encrypt()
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    with app_of(chosen) as app:
        work = sync_folder(chosen)
        done = app.get(MachineSync).run(PERSON, remote_of(str(remote), work, tmp_path))
        assert done.sent
        assert not work.exists()
        assert shown_in(chosen.home) == []


def test_nor_is_it_left_by_a_sync_that_failed(chosen: Settings, tmp_path: Path) -> None:
    encryption_of(chosen).encrypt()
    remote, work = tmp_path / "remote.git", sync_folder(chosen)
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with app_of(chosen) as app:
        with pytest.raises(StoreError):
            app.get(MachineSync).run(PERSON, remote_of(str(remote), work, tmp_path))
        assert not work.exists()
        hook.unlink()
        # What was on its way is sent after all: memories, their versions, a turn.
        done = app.get(MachineSync).run(PERSON, remote_of(str(remote), work, tmp_path))
        assert done.sent == 2 * len(held(app)) + 1
        assert app.get(MachineSync).run(PERSON, remote_of(str(remote), work, tmp_path)).sent == 0


def test_it_needs_a_place_for_the_key_and_the_store_for_itself(
    chosen: Settings, tmp_path: Path
) -> None:
    inside = replace(chosen, key=f"file:{chosen.home / 'keys'}")
    with pytest.raises(InvalidInput, match="outside the data directory"):
        encryption_of(inside).encrypt()
    nowhere = replace(chosen, key=f"file:{tmp_path / 'not' / 'there'}")
    with pytest.raises(EncryptionKeyMissing, match="No such file"):
        encryption_of(nowhere).encrypt()
    with app_of(chosen), pytest.raises(StoreBusy, match="in use"):
        encryption_of(chosen).encrypt()
    on_server = replace(chosen, store="postgresql://nobody@localhost/nothing")
    with pytest.raises(StoreError, match="on a server"):
        encryption_of(on_server).encrypt()
    assert encryption_of(chosen).state().key is None
    assert not list(tmp_path.rglob("*keys*"))


def test_a_memory_is_erased_from_an_encrypted_store_and_its_backups(
    chosen: Settings, tmp_path: Path
) -> None:
    key = encryption_of(chosen).encrypt().key
    keys, backup = data_directory(chosen).keys, tmp_path / "kept.tar"
    finder, stays = Finder(pieces_of(words_of(1))), Finder(pieces_of(words_of(2)))

    def holding(finder: Finder) -> set[str]:
        traces, unread = search(finder, [chosen.home, backup], keys)
        assert unread == []
        return {each.path.name for each in traces}

    with small_index(), app_of(chosen) as app:
        remember(app, text_of(1), text_of(2))
        app.get(store_backups).make(PERSON, backup)
        before = held(app)
        assert holding(finder) >= {"minutebook.db-wal", "kept.tar"}
        records = app.get(Erasing).find(ADMIN, Choice(query=words_of(1)[0]))
        done = app.get(Erasing).erase(ADMIN, records, backups=True, from_ledger=False)
        assert done.checked is not None
        assert (done.checked.traces, done.checked.unread, done.left) == ([], [], [])
        assert backup in done.rewritten
        assert holding(finder) == set()
        assert holding(stays) >= {"minutebook.db", "kept.tar"}
        assert held(app) == [text for text in before if text != text_of(1)]
        assert app.doctor.examine() == []
    assert key_id_of(backup) == key
    check_restorable(backup, keys)
    assert shown_in(tmp_path) == []
    # Whoever lacks the key of a file is told that nobody can say what it holds.
    (tmp_path / "keys").write_text("")
    unread = search(finder, [backup], FilePlace(tmp_path / "keys"))[1]
    assert [each.path for each in unread] == [backup]


def test_doctor_names_what_is_plain_and_a_key_that_others_can_read(chosen: Settings) -> None:
    encryption_of(chosen).encrypt()
    (chosen.of(ArchiveSettings).backups / "late.tar").write_bytes(b"as an earlier version wrote it")
    (chosen.home.parent / "keys").chmod(0o644)
    with app_of(chosen) as app:
        findings = {each.finding: each.remedy for each in app.doctor.examine()}
    assert len(findings) == 2
    plain, open_to_others = findings
    assert "1 files beside it are plain" in plain
    assert "late.tar" in plain
    assert "`minutebook encrypt`" in findings[plain]
    assert "can be read by others" in open_to_others
    assert "chmod 600" in findings[open_to_others]


@pytest.mark.parametrize(
    ("act", "stride"),
    [
        pytest.param("on", 15, marks=pytest.mark.thorough),
        *(pytest.param(act, 1, marks=pytest.mark.slow) for act in ("on", "new-key", "off")),
    ],
)
def test_a_kill_at_any_step_loses_nothing_and_the_next_run_ends_it(
    chosen: Settings, tmp_path: Path, act: str, stride: int
) -> None:
    work, before = encryption_of(chosen), []
    with app_of(chosen) as app:
        before = held(app)
    if act != "on":
        work.encrypt()
    step, was_killed = 1 - stride, True
    while was_killed:
        step += stride
        home = tmp_path / f"home{step}"
        shutil.copytree(chosen.home, home)
        keys = tmp_path / f"keys{step}"
        if act != "on":
            shutil.copy(tmp_path / "keys", keys)
        killed = [sys.executable, "-m", "tests.faults.killed", "files", str(step)]
        program = "tests.features.encryption.encrypted"
        done = subprocess.run([*killed, program, str(home), str(keys), act], stderr=subprocess.PIPE)
        was_killed = done.returncode == -signal.SIGKILL
        assert was_killed or not done.returncode, done.stderr
        other = settings(home, keys)
        with app_of(other) as app:
            assert held(app) == before, step
            assert app.infrastructure.store.upkeep.check() == [], step
        main(str(home), str(keys), "off" if act == "off" else "")
        with app_of(other) as app:
            assert held(app) == before, step
        if act != "off":
            assert shown_in(home) == [], step
            assert encryption_of(other).state().plain == ()
        assert not [path for path in home.iterdir() if PART in path.name], step
        shutil.rmtree(home)
    assert step > 15
