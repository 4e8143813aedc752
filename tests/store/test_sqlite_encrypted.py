"""An encrypted store keeps the same promises, and shows nothing of what it keeps."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import pytest

from minutebook.record.errors import EncryptionKeyMissing, StoreBusy, StoreDamaged, StoreError
from minutebook.record.filters import Filter
from minutebook.record.records import Memory
from minutebook.store.disk.encryption import Key
from minutebook.store.sqlite import SqliteStore
from minutebook.store.sqlite.encryption import copied_with_key, key_id_of
from minutebook.store.values import VectorSpace
from minutebook.text.words import parse_query
from tests.store.conformance import StoreConformance
from tests.store.samples import memory
from tests.store.small_index import small_index
from tests.store.sqlite_engine import DATABASE, SqliteEngine

KEY, OTHER = Key(b"1" * 32), Key(b"2" * 32)
SPACE = VectorSpace("words", "1", 8)
VECTOR = np.ones((1, 8), np.float32) / np.sqrt(np.float32(8))
ACME = Filter(organization="acme")


class TwoKeys:
    def find(self, id: str, for_what: str) -> Key:
        for key in (KEY, OTHER):
            if key.id == id:
                return key
        raise EncryptionKeyMissing(f"{for_what}: there is no key {id}")


class EncryptedEngine(SqliteEngine):
    def make(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)

    def open(self, folder: Path) -> SqliteStore:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / DATABASE
        return SqliteStore(path, durability="normal", keys=TwoKeys(), new_key=KEY)


@pytest.mark.slow
class TestEncrypted(StoreConformance):
    engine = EncryptedEngine("normal")

    @pytest.fixture(scope="class", autouse=True)
    @staticmethod
    def sizes() -> Iterator[None]:
        with small_index():
            yield


def opened(path: Path, key: Key = KEY) -> SqliteStore:
    return SqliteStore(path, durability="normal", keys=TwoKeys(), new_key=key)


def written(store: SqliteStore, *texts: str) -> None:
    for number, text in enumerate(texts):
        with store.transaction("acme"):
            record = memory(id=f"m{number}", content=text)
            store.put(record)
            store.put_vectors(Memory, "acme", record.id, SPACE, VECTOR.astype(np.float16), None)


def found(store: SqliteStore) -> int:
    query = parse_query("canary")
    assert len(store.match(Memory, ACME, query, 10)) == store.count(Memory, ACME)
    return len(store.nearest(Memory, ACME, SPACE, VECTOR[0], 10))


def test_no_file_of_an_encrypted_store_shows_a_word(tmp_path: Path) -> None:
    with small_index(), closing(opened(tmp_path / "store.db")) as store:
        written(store, *(f"the canary of Zanzibar {number}" for number in range(5)))
        assert found(store) == 5
        store.upkeep.rebuild()
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        # The log, and segments of both indices, are among them.
        assert {path.suffix for path in files} >= {".db", ".db-wal", ".segment", ".json"}
        for path in files:
            content = path.read_bytes()
            for word in (b"canary", b"zanzibar", b"sqlite format", b"minutebook index"):
                assert word not in content.lower(), path
            # So short a word stands in noise by chance, the sooner if small letters are looked for in large ones.
            assert b"acme" not in content, path
            vectors = VECTOR.astype(np.float16).tobytes()
            assert vectors not in content, path


def test_its_index_is_read_from_its_files(tmp_path: Path) -> None:
    with small_index():
        with closing(opened(tmp_path / "store.db")) as store:
            written(store, "one canary", "two canary", "three canary")
            store.upkeep.rebuild()
        before = {path: path.read_bytes() for path in tmp_path.rglob("*.segment")}
        assert before
        with closing(opened(tmp_path / "store.db")) as store:
            assert found(store) == 3
            assert store.upkeep.check() == []
        assert {path: path.read_bytes() for path in tmp_path.rglob("*.segment")} == before


def test_an_index_under_another_key_or_plain_is_made_anew(tmp_path: Path) -> None:
    with small_index():
        for name, key in (("one", KEY), ("other", OTHER)):
            with closing(opened(tmp_path / name, key)) as store:
                written(store, "one canary", "two canary")
                store.upkeep.rebuild()
        shutil.rmtree(tmp_path / "one-index")
        shutil.copytree(tmp_path / "other-index", tmp_path / "one-index")
        with closing(opened(tmp_path / "one")) as store:
            assert found(store) == 2
            assert store.upkeep.check() == []


def test_a_key_that_is_missing_is_named_and_nothing_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    third = Key(b"3" * 32)
    opened(path, third).close()
    assert key_id_of(path) == third.id
    before = path.read_bytes()
    for keys in (TwoKeys(), None):
        with pytest.raises(EncryptionKeyMissing, match=third.id):
            SqliteStore(path, keys=keys)
    assert path.read_bytes() == before


def test_a_page_that_was_changed_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    opened(path).close()
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    with closing(opened(path)) as store:
        assert any("damaged" in sentence for sentence in store.upkeep.check())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreDamaged):
        opened(path)


def test_a_build_without_ciphers_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(tmp_path / "store.db").close()
    monkeypatch.delattr(apsw, "mc_version")
    with pytest.raises(StoreError, match="apsw-sqlite3mc"):
        opened(tmp_path / "store.db")


@pytest.mark.parametrize(
    ("now", "then"), [(None, KEY), (KEY, OTHER), (KEY, None)], ids=["on", "rekey", "off"]
)
def test_a_database_is_copied_whole_under_another_key(
    tmp_path: Path, now: Key | None, then: Key | None
) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    with closing(SqliteStore(path, new_key=now, keys=TwoKeys())) as store:
        written(store, "one canary", "two canary")
        with pytest.raises(StoreBusy, match="in use"), copied_with_key(path, now, copy, then):
            pass
    copy.unlink(missing_ok=True)
    with copied_with_key(path, now, copy, then):
        copy.replace(path)
    assert key_id_of(path) == (None if then is None else then.id)
    assert path.stat().st_mode & 0o777 == 0o600
    with closing(SqliteStore(path, keys=TwoKeys())) as store:
        assert found(store) == 2
        assert store.upkeep.check() == []
        assert (tmp_path / "store.db-wal").exists()
