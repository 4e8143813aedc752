"""Judged citations are kept by both engines, and go with their records."""

from datetime import timedelta

from minutebook.features.citations.rows import CitationRows
from minutebook.record.records import Decision, Kind, Memory
from minutebook.store.protocol import Tended
from tests.features.citations.samples import judged_record, write_citations
from tests.store.samples import decision, memory
from tests.world import NOON


def test_rows_are_kept_by_record_and_work_tree(kept: Tended) -> None:
    rows = CitationRows(kept.database)
    assert rows.rows_of("acme", [(Kind.MEMORY, "a")]) == {}
    one, elsewhere, other = judged_record("a"), judged_record("a", "/copy"), judged_record("b")
    rows.put("acme", [one, elsewhere, other])
    rows.put("zoo", [one])
    anew = judged_record("a", said="t")
    rows.put("acme", [anew])
    assert rows.rows_of("acme", [one.name, (Kind.DECISION, "b")]) == {
        one.name: {"/shop": anew, "/copy": elsewhere}
    }
    assert {each.name for each in rows.all("acme", "/shop")} == {one.name, other.name}
    rows.remove("acme", [])
    rows.remove("acme", [one.name])
    assert rows.rows_of("acme", [one.name, other.name]) == {other.name: {"/shop": other}}
    rows.clear("acme")
    assert rows.all("acme", "/shop") == []
    assert rows.all("zoo", "/shop") == [one]


def test_verdicts_of_another_form_are_judged_anew(kept: Tended) -> None:
    rows, one = CitationRows(kept.database), judged_record("a")
    rows.put("acme", [one])
    with kept.database.writing("acme") as (connection, number):
        changed = (
            "UPDATE citations SET judged = replace(judged, 'headless', 'x') WHERE organization = ?",
            (number,),
        )
        connection.run(*changed)
    ((found,),) = [each.values() for each in rows.rows_of("acme", [one.name]).values()]
    assert (found.digest, found.judged) == ("", ())


def test_confirmations_are_kept_and_go_with_their_record(kept: Tended) -> None:
    rows, one = CitationRows(kept.database), decision("d", organization="acme")
    name, other = (Kind.DECISION, "d"), (Kind.SUMMARY, "d")
    assert rows.confirmed("acme", [name]) == {}
    rows.put_confirmed("acme", name, NOON)
    rows.put_confirmed("acme", other, NOON)
    later = NOON + timedelta(microseconds=1)
    rows.put_confirmed("acme", name, later)
    rows.put_confirmed("zoo", name, NOON)
    assert rows.confirmed("acme", [name]) == {name: later}
    rows.put_confirmed("acme", other, None)
    rows.clear("acme")
    assert rows.confirmed("acme", [name, other]) == {name: later}
    kept.put(one)
    kept.delete(Decision, "acme", "d")
    assert rows.confirmed("acme", [name]) == {}
    assert rows.confirmed("zoo", [name]) == {name: NOON}


def test_rows_go_with_their_record(kept: Tended) -> None:
    rows = CitationRows(kept.database)
    kept.put(memory("a", organization="acme"))
    rows.put("acme", [judged_record("a"), judged_record("b")])
    kept.delete(Memory, "acme", "a")
    assert [each.name for each in rows.all("acme", "/shop")] == [(Kind.MEMORY, "b")]


def test_the_samples_of_the_cluster_read_and_write_all(kept: Tended) -> None:
    write_citations(kept)
    assert CitationRows(kept.database).all("acme", "/shop") == []
