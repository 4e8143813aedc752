"""Encrypted files: what was written comes back, and whatever is not that is refused."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from minutebook.record.errors import EncryptionKeyMissing, StoreError
from minutebook.store.disk.encryption import FileDamaged, Key, decrypting, encrypted, encrypting
from tests.examples import parametrize_in_part
from tests.faults.calls import FAULTS, IS_POSSIBLE, Calls

CHUNK = 256 << 10
HEAD, TAG = 40, 16
KEY = Key(bytes(range(32)))


class OneKey:
    def find(self, id: str, for_what: str) -> Key:
        assert id == KEY.id
        return KEY


def decrypted(content: bytes) -> bytes:
    with decrypting(io.BytesIO(content), "some.tar", OneKey()) as file:
        return file.read()


def some(size: int) -> bytes:
    return (b"A minute of the meeting of %d. " % size * (size // 20 + 1))[:size]


@parametrize_in_part("size", [0, 1, 5000, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7])
def test_what_was_written_in_parts_of_any_size_comes_back(size: int) -> None:
    content, file = some(size), io.BytesIO()
    with encrypting(file, KEY) as inside:
        for start in range(0, size, 100_001):
            inside.write(content[start : start + 100_001])
        assert inside.tell() == size
    assert decrypted(file.getvalue()) == content
    assert len(file.getvalue()) == HEAD + size + TAG * max(1, -(-size // CHUNK))
    if size >= 20:  # a byte or two may well stand in what is encrypted, by chance
        assert content[:20] not in file.getvalue()


def test_any_place_can_be_read_as_of_a_plain_file() -> None:
    content = some(3 * CHUNK + 7)
    with decrypting(io.BytesIO(encrypted(content, KEY)), "some.tar", OneKey()) as file:
        for place in (2 * CHUNK - 3, 0, 3 * CHUNK, CHUNK, len(content) - 1):
            file.seek(place)
            assert file.read(10) == content[place : place + 10]
        assert file.seek(0, io.SEEK_END) == len(content)


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "a bit of the salt": lambda a: a[:39] + bytes([a[39] ^ 1]) + a[40:],
    "a bit of the content": lambda a: a[:HEAD] + bytes([a[HEAD] ^ 1]) + a[HEAD + 1 :],
    "a bit of the last tag": lambda a: a[:-1] + bytes([a[-1] ^ 1]),
    "a byte less": lambda a: a[:-1],
    "a byte more": lambda a: a + b"\0",
    "the last chunk missing": lambda a: a[: HEAD + CHUNK + TAG],
    "nothing but the head": lambda a: a[:HEAD],
    "two chunks exchanged": lambda a: (
        a[:HEAD]
        + a[HEAD + CHUNK + TAG : HEAD + 2 * (CHUNK + TAG)]
        + a[HEAD : HEAD + CHUNK + TAG]
        + a[HEAD + 2 * (CHUNK + TAG) :]
    ),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_file_that_was_changed_is_refused(damage: Callable[[bytes], bytes]) -> None:
    whole = encrypted(some(2 * CHUNK + 5), KEY)
    with pytest.raises(FileDamaged, match=r"some\.tar"):
        decrypted(damage(whole))


def test_equal_contents_make_files_that_share_nothing() -> None:
    one, other = encrypted(some(1000), KEY), encrypted(some(1000), KEY)
    assert one[:24] == other[:24]
    assert one[24:40] != other[24:40]
    assert one[40:72] != other[40:72]


def test_without_a_key_a_file_stays_as_it_is_and_is_read_as_it_is() -> None:
    assert encrypted(b"plain", None) == b"plain"
    assert decrypted(b"plain") == b"plain"


def test_who_names_no_place_of_keys_is_told_which_key_is_needed() -> None:
    file = io.BytesIO(encrypted(b"tea", KEY))
    with pytest.raises(EncryptionKeyMissing, match=KEY.id), decrypting(file, "some.tar", None):
        pass


def test_a_key_shows_its_id_alone() -> None:
    assert KEY.secret.hex() not in f"{KEY!r} {KEY} {KEY.id}"
    assert len(KEY.id) == 16


@pytest.mark.skipif(not IS_POSSIBLE, reason="the tables of libraries are Linux's")
def test_a_file_whose_head_cannot_be_read_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "some.tar").write_bytes(encrypted(b"all", KEY))
    (fault,) = (each for each in FAULTS if each.name == "I/O error at reading")
    calls = Calls()
    with (
        (tmp_path / "some.tar").open("rb") as file,
        calls.hooked(),
        calls.failing(tmp_path, fault, 0) as plan,
        pytest.raises(StoreError, match=r"some\.tar: Input/output error"),
        decrypting(file, "some.tar", OneKey()),
    ):
        pass
    assert plan.failed == 1
