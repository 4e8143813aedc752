"""A store whose texts another version of the text analysis has analysed."""

from pathlib import Path

import apsw
import pytest

from minutebook.record.filters import Filter
from minutebook.record.records import Entity, Memory, Turn
from minutebook.store.sqlite import SqliteStore, text_analysis, texts
from minutebook.text.words import ANALYSIS, analysis_by, parse_query
from tests.store.samples import entity, memory, turn
from tests.world import wait_until

ACME, BETA = Filter(organization="acme"), Filter(organization="beta")
HOUSES = "Wir haben zwei Häuser in Köln gekauft."
MANY = 2 * text_analysis.BATCH + 50


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def written_by_the_first_version(path: Path, memories: int = 3) -> None:
    """Make a store, and put in place of its terms what the first version made of the texts."""
    store = SqliteStore(path)
    for organization in ("acme", "beta"):
        with store.transaction(organization):
            for number in range(memories):
                store.put(memory(f"m{number}", organization=organization, content=HOUSES))
            store.put(turn("t", organization=organization, prompt=HOUSES))
            store.put(entity("e", organization=organization, name="ไทย"))
    store.close()
    terms = "wir haben zwei hauser in koln gekauft"
    with apsw.Connection(str(path)) as connection:
        for number, kind in list(connection.execute("SELECT organization, kind FROM text_indices")):
            name = f"text_{kind}_{number}"
            rows = [row for (row,) in connection.execute(f"SELECT id FROM {name}_docsize")]
            for row in rows:
                connection.execute(f"DELETE FROM {name} WHERE rowid = ?", (row,))
                connection.execute(f"INSERT INTO {name}(rowid, terms) VALUES (?, ?)", (row, terms))
        connection.execute('UPDATE names SET first = \'ไ\', words = \'["ไ", "ท", "ย"]\'')
        connection.execute("UPDATE text_analysis SET version = 1")


def found(store: SqliteStore, where: Filter, query: str) -> list[str]:
    return [each.id for each in store.match(Memory, where, parse_query(query), 1000)]


def test_the_present_version_is_kept_in_a_new_store(path: Path) -> None:
    store = SqliteStore(path)
    assert store.upkeep.to_analyse() == 0
    store.close()
    with apsw.Connection(str(path)) as connection:
        assert connection.execute("SELECT version FROM text_analysis").get == text_analysis.stamp()


def test_texts_of_another_version_are_analysed_anew_when_the_store_is_opened(path: Path) -> None:
    written_by_the_first_version(path)
    store = SqliteStore(path)
    wait_until(lambda: store.upkeep.to_analyse() == 0)
    for where in (ACME, BETA):
        assert found(store, where, "das Haus") == ["m0", "m1", "m2"]
        assert [c.id for c in store.match(Turn, where, parse_query("Haus"), 9)] == ["t"]
    assert store.upkeep.check() == []
    store.close()


def test_names_of_entities_are_listed_anew_at_once(path: Path) -> None:
    written_by_the_first_version(path)
    store = SqliteStore(path)
    assert store.get(Entity, "acme", "e") is not None
    assert store.entities_named(ACME, ["ไท", "ย"]) == ["e"]
    store.close()


@pytest.mark.thorough
def test_what_is_written_and_removed_meanwhile_is_right_afterwards(path: Path) -> None:
    written_by_the_first_version(path, MANY)
    store = SqliteStore(path)
    store.put(memory("m7", content="Alle Rechnungen wurden bezahlt."))
    store.put(memory("new", content="Die Rechnung ist offen."))
    store.delete(Memory, "acme", "m8")
    wait_until(lambda: store.upkeep.to_analyse() == 0)
    others = {f"m{number}" for number in range(MANY)} - {"m7", "m8"}
    assert {*found(store, ACME, "das Haus")} == others
    assert {*found(store, ACME, "die Rechnung")} == {"m7", "new"}
    assert store.upkeep.check() == []
    store.close()


@pytest.mark.thorough
def test_an_interrupted_rebuild_goes_on_where_it_was(path: Path) -> None:
    written_by_the_first_version(path, MANY)
    left = []
    for _ in range(20):
        store = SqliteStore(path)
        left.append(store.upkeep.to_analyse())
        store.close()
    store = SqliteStore(path)
    wait_until(lambda: store.upkeep.to_analyse() == 0)
    assert left == sorted(left, reverse=True)
    assert len(found(store, BETA, "das Haus")) == MANY
    assert store.upkeep.check() == []
    store.close()


@pytest.mark.thorough
def test_a_rebuild_by_hand_ends_it(path: Path) -> None:
    written_by_the_first_version(path, MANY)
    store = SqliteStore(path)
    store.upkeep.rebuild()
    assert store.upkeep.to_analyse() == 0
    assert len(found(store, ACME, "das Haus")) == MANY
    store.close()


def test_a_rebuild_reads_texts_page_by_page_and_leaves_none_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "PAGE", 2)
    store = SqliteStore(path)
    for number in range(5):
        store.put(memory(f"{number}", "das Haus"))
    store.upkeep.rebuild()
    assert sorted(found(store, ACME, "das Haus")) == ["0", "1", "2", "3", "4"]
    assert store.upkeep.check() == []
    store.close()


@pytest.mark.thorough
def test_two_that_open_the_store_share_the_work(path: Path) -> None:
    written_by_the_first_version(path, MANY)
    stores = [SqliteStore(path), SqliteStore(path)]
    wait_until(lambda: all(store.upkeep.to_analyse() == 0 for store in stores))
    assert [len(found(store, ACME, "das Haus")) for store in stores] == [MANY, MANY]
    assert stores[0].upkeep.check() == []
    for store in stores:
        store.close()


def test_an_index_that_another_tokenizer_reads_is_made_anew(path: Path) -> None:
    store = SqliteStore(path)
    store.put(memory("m", "das C++ Haus"))
    store.close()
    with apsw.Connection(str(path)) as connection:
        connection.execute("DROP TABLE text_memory_1")
        connection.execute("CREATE VIRTUAL TABLE text_memory_1 USING fts5(terms, content='')")
        connection.execute("UPDATE text_analysis SET version = 1")
    store = SqliteStore(path)
    wait_until(lambda: store.upkeep.to_analyse() == 0)
    assert found(store, ACME, "C++") == ["m"]
    assert store.upkeep.check() == []
    store.close()


def test_what_is_still_to_be_analysed_is_told_while_that_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_by_the_first_version(path)
    monkeypatch.setattr(text_analysis, "advance", lambda connection: None)
    store = SqliteStore(path)
    assert store.upkeep.to_analyse() == 8
    store.close()


def test_stemmers_or_rules_of_another_version_are_another_analysis() -> None:
    versions = {analysis_by(rules, stemmers) for rules in (1, 2) for stemmers in ("3.0", "3.1")}
    assert len(versions) == 4
    assert all(0 < each < 2**31 for each in (ANALYSIS, *versions))
