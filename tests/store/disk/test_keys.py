"""Where keys are kept: found by their ids, never shown."""

from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.errors
import pytest

from minutebook.record.errors import EncryptionKeyMissing, InvalidInput
from minutebook.store.disk.encryption import Key
from minutebook.store.disk.keys import FilePlace, KeyringPlace, check_outside

ONE, OTHER = Key(b"1" * 32), Key(b"2" * 32)


class Memory(keyring.backend.KeyringBackend):
    """A keyring that lives as long as the test."""

    priority = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise keyring.errors.KeyringLocked("locked")
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.is_locked:
            raise keyring.errors.KeyringLocked("locked")
        self.held[service, username] = password


@pytest.fixture
def memory() -> Iterator[Memory]:
    usual = keyring.get_keyring()
    mine = Memory()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(usual)


def test_a_file_keeps_every_key_that_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    place = FilePlace(path)
    place.add(ONE)
    place.add(OTHER)
    assert path.stat().st_mode & 0o777 == 0o600
    assert FilePlace(path).find(ONE.id, "it") == ONE
    assert FilePlace(path).find(OTHER.id, "it") == OTHER
    # Once found it is known, as long as the process lives.
    path.unlink()
    assert place.find(ONE.id, "it") == ONE


def test_a_line_that_was_cut_short_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# keys of minutebook\n{ONE.id} {ONE.secret.hex()[:40]}")
    FilePlace(path).add(OTHER)
    assert FilePlace(path).find(OTHER.id, "it") == OTHER
    with pytest.raises(EncryptionKeyMissing):
        FilePlace(path).find(ONE.id, "it")


def test_a_key_with_the_id_of_another_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"{ONE.id} {OTHER.secret.hex()}\n")
    with pytest.raises(EncryptionKeyMissing) as error:
        FilePlace(path).find(ONE.id, "/home/minutebook.db")
    for part in ("/home/minutebook.db", ONE.id, str(path), "has no such key"):
        assert part in str(error.value)
    assert OTHER.secret.hex() not in str(error.value)


def test_a_file_that_is_missing_or_cannot_be_written_is_named(tmp_path: Path) -> None:
    missing = FilePlace(tmp_path / "not" / "there")
    with pytest.raises(EncryptionKeyMissing, match=r"there is no .*/not/there"):
        missing.find(ONE.id, "it")
    with pytest.raises(EncryptionKeyMissing, match="/not/there: No such file"):
        missing.add(ONE)


def test_a_file_that_others_can_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    FilePlace(path).add(ONE)
    assert FilePlace(path).check_private() is None
    path.chmod(0o644)
    assert str(path) in (FilePlace(path).check_private() or "")


def test_a_file_in_the_data_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "home")
    for path in (tmp_path / "home" / "keys", tmp_path / "link" / "below" / "keys"):
        with pytest.raises(InvalidInput, match="outside the data directory"):
            check_outside(FilePlace(path), tmp_path / "home")
    check_outside(FilePlace(tmp_path / "keys"), tmp_path / "home")
    check_outside(KeyringPlace(), tmp_path / "home")


def test_a_keyring_keeps_every_key_under_its_id(memory: Memory) -> None:
    KeyringPlace().add(ONE)
    KeyringPlace().add(OTHER)
    assert KeyringPlace().find(ONE.id, "it") == ONE
    assert set(memory.held) == {("minutebook", ONE.id), ("minutebook", OTHER.id)}


def test_a_keyring_that_is_locked_or_lacks_the_key_says_so(memory: Memory) -> None:
    with pytest.raises(EncryptionKeyMissing, match="keyring has no such key"):
        KeyringPlace().find(ONE.id, "it")
    memory.is_locked = True
    with pytest.raises(EncryptionKeyMissing, match=r"KeyringLocked.*unlock it"):
        KeyringPlace().find(ONE.id, "it")
    with pytest.raises(EncryptionKeyMissing, match="unlock it"):
        KeyringPlace().add(ONE)


def test_without_its_library_a_keyring_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)
    for act in (lambda: KeyringPlace().find(ONE.id, "it"), lambda: KeyringPlace().add(ONE)):
        with pytest.raises(EncryptionKeyMissing, match=r"minutebook\[keyring\]"):
            act()
