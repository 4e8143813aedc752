"""The recall log is kept by both engines."""

from dataclasses import replace
from datetime import timedelta

from minutebook.features.recall_log.rows import RecallQuery, RecallRows
from minutebook.record.records import Kind, Memory
from minutebook.store.protocol import Tended
from tests.features.recall_log.samples import logged
from tests.store.samples import START, memory

_ALL_RECALLS = RecallQuery(organization="acme")


def test_recalls_are_kept_beside_the_records_and_found_by_what_they_are(kept: Tended) -> None:
    rows = RecallRows(kept.database)
    assert rows.find(_ALL_RECALLS, 9) == []
    assert rows.first(_ALL_RECALLS) is None
    one, two = logged("1", "a", "b"), logged("2", "b", hours=1, session="t", client="Cursor")
    three = logged("3", hours=1, asker="other", question=None)
    rows.write("acme", [two, one])
    rows.write("acme", [three, replace(one, act="another")])
    rows.write("zoo", [logged("4", "a", organization="zoo")])
    assert rows.find(_ALL_RECALLS, 9) == [three, two, one]
    assert rows.find(_ALL_RECALLS, 1, 1) == [two]
    for conditions, expected in (
        ({"asker": "other"}, [three]),
        ({"sessions": {"t", "u"}}, [two]),
        ({"sessions": set()}, []),
        ({"client": "cURSOR"}, [two]),
        ({"record": (Kind.MEMORY, "b")}, [two, one]),
        ({"record": (Kind.DECISION, "b")}, []),
        ({"record": (Kind.MEMORY, "a"), "asker": "other"}, []),
    ):
        assert rows.find(replace(_ALL_RECALLS, **conditions), 9) == expected
    assert rows.first(_ALL_RECALLS) == START
    assert rows.first(replace(_ALL_RECALLS, asker="other")) == three.at
    assert [each.id for each in rows.everything("acme")] == ["1", "2", "3"]
    assert kept.organizations() == []
    assert kept.sequence("acme") == 0


def test_recalls_are_counted_by_who_got_a_record(kept: Tended) -> None:
    later = START + timedelta(hours=2)
    RecallRows(kept.database).write(
        "acme",
        [
            logged("1", "a"),
            logged("2", "a", hours=2),
            logged("3", "b", hours=1, session="t", actor="grace"),
            logged("4", "a", hours=1, actor="grace", client="cursor"),
        ],
    )
    of_a = replace(_ALL_RECALLS, record=(Kind.MEMORY, "a"))
    assert [(c.actor, c.count, c.last) for c in RecallRows(kept.database).counts(of_a)] == [
        ("ana", 2, later),
        ("grace", 1, later - timedelta(hours=1)),
    ]


def test_recalls_are_counted_record_by_record(kept: Tended) -> None:
    RecallRows(kept.database).write(
        "acme",
        [logged("1", "a", "b"), logged("2", "a", hours=1), logged("3", "a", asker="other")],
    )
    RecallRows(kept.database).write("zoo", [logged("4", "a", organization="zoo")])
    times = RecallRows(kept.database).times
    assert times(_ALL_RECALLS, Kind.MEMORY, ["a", "b", "c"]) == {"a": 3, "b": 1}
    assert times(replace(_ALL_RECALLS, asker="other"), Kind.MEMORY, ["a", "b"]) == {"a": 1}
    assert times(_ALL_RECALLS, Kind.DECISION, ["a"]) == {}
    assert times(_ALL_RECALLS, Kind.MEMORY, []) == {}


def test_the_oldest_recalls_leave_and_an_organizations_are_cleared_alone(kept: Tended) -> None:
    rows = RecallRows(kept.database)
    rows.write("acme", [logged(str(n), "a", hours=n) for n in range(5)])
    rows.write("zoo", [logged("zoo", "a", organization="zoo")])
    rows.prune("acme", START + timedelta(hours=1), 9)
    assert [each.id for each in rows.find(_ALL_RECALLS, 9)] == ["4", "3", "2", "1"]
    rows.prune("acme", START, 2)
    assert [each.id for each in rows.find(_ALL_RECALLS, 9)] == ["4", "3"]
    rows.write("acme", [logged("5", "a", hours=5, asker="other")])
    rows.clear("acme", "other")
    assert [each.id for each in rows.find(_ALL_RECALLS, 9)] == ["4", "3"]
    rows.clear("acme")
    assert rows.find(_ALL_RECALLS, 9) == []
    assert [each.id for each in rows.everything("zoo")] == ["zoo"]


def test_questions_that_got_a_record_are_erased_with_it(kept: Tended) -> None:
    rows = RecallRows(kept.database)
    rows.write("acme", [logged("1", "a", "b"), logged("2", "b"), logged("3", "b", "a")])
    rows.write("zoo", [logged("zoo", "a", organization="zoo")])
    rows.erase("acme", Kind.DECISION, "a")
    assert len(rows.find(_ALL_RECALLS, 9)) == 3
    rows.erase("acme", Kind.MEMORY, "a")
    assert [each.id for each in rows.find(_ALL_RECALLS, 9)] == ["2"]
    assert [each.id for each in rows.everything("zoo")] == ["zoo"]


def test_a_memory_that_is_removed_leaves_the_recall_log(kept: Tended) -> None:
    for organization in ("acme", "zoo"):
        kept.put(memory("a", organization=organization))
        RecallRows(kept.database).write(
            organization, [logged(organization, "a", "b", organization=organization)]
        )
    kept.delete(Memory, "acme", "a")
    (entry,) = RecallRows(kept.database).find(_ALL_RECALLS, 9)
    assert [got.id for got in entry.got] == ["b"]
    (other,) = RecallRows(kept.database).find(RecallQuery(organization="zoo"), 9)
    assert [got.id for got in other.got] == ["a", "b"]
