"""The state of syncs is kept by both engines, though a server's store is not kept in step."""

import pytest

from minutebook.features.sync.rows import SENT, UNSENT, SyncRow, SyncRows
from minutebook.record.records import Kind
from minutebook.store.protocol import Tended


def row(id: str, file: int = UNSENT, digest: str = "d") -> SyncRow:
    return SyncRow(("acme", Kind.MEMORY, id), digest, "{}", file)


def test_marks_are_kept_by_remote(kept: Tended) -> None:
    rows = SyncRows(kept.database)
    assert (rows.remotes(), rows.marks("one")) == ([], {})
    rows.put_marks("two", {"number": 1})
    rows.put_marks("one", {"number": 1})
    rows.put_marks("one", {"number": 2})
    assert rows.remotes() == ["one", "two"]
    assert (rows.marks("one"), rows.marks("two")) == ({"number": 2}, {"number": 1})


def test_rows_with_news_are_in_no_file_then_in_one_then_sent(kept: Tended) -> None:
    rows = SyncRows(kept.database)
    for id in ("b", "a", "c"):
        rows.put("one", row(id))
    rows.put("one", row("c", file=7, digest="e"))
    rows.put("two", row("a"))
    assert rows.get("one", row("c").key) == row("c", file=7, digest="e")
    assert rows.get("one", row("nowhere").key) is None
    assert rows.unsent("one", 9) == [row("a"), row("b")]
    assert rows.unsent("one", 1) == [row("a")]
    assert rows.sending("one", 7) == [row("c", file=7, digest="e")]
    rows.sent("one", 7)
    assert rows.sending("one", 7) == []
    assert list(rows.each("one")) == [row("a"), row("b"), row("c", SENT, "e")]
    assert list(rows.each("two")) == [row("a")]
    rows.put("three", row("\ud800"))
    assert rows.get("three", row("\ud800").key) == row("\ud800")


def test_what_is_written_in_a_transaction_is_undone_with_it(kept: Tended) -> None:
    rows = SyncRows(kept.database)

    def fail() -> None:
        with kept.transaction("acme"):
            rows.put("one", row("a"))
            rows.put_marks("one", {"number": 1})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (rows.remotes(), list(rows.each("one"))) == ([], [])
