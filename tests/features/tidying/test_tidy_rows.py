"""Suggestions are kept by both engines, numbered by organization, in the store's transactions."""

from dataclasses import replace
from datetime import timedelta

import pytest

from minutebook.features.tidying.findings import State
from minutebook.features.tidying.rows import TidyRows
from minutebook.store.protocol import Tended
from tests.features.tidying.samples import suggested
from tests.store.samples import START, memory


def test_suggestions_are_numbered_once_and_found_by_state_number_and_day(kept: Tended) -> None:
    rows = TidyRows(kept.database)
    assert list(rows.everything("acme", State.OPEN)) == []
    assert rows.known("acme", ["1"]) == set()
    late = suggested("3", state=State.WAITING, due=START + timedelta(days=1))
    one, two, three = rows.add("acme", [suggested("1"), suggested("2"), late])
    assert [each.number for each in (one, two, three)] == [1, 2, 3]
    assert rows.add("acme", [suggested("2"), suggested("4"), suggested("4")]) == [
        replace(suggested("4"), number=4)
    ]
    assert rows.add("zoo", [suggested("1", "zoo")])[0].number == 1
    assert rows.known("acme", ["1", "5"]) == {"1"}
    four = replace(suggested("4"), number=4)
    assert list(rows.everything("acme", State.OPEN)) == [one, two, four]
    assert rows.numbered("acme", 3) == three
    assert (rows.numbered("acme", 0), rows.numbered("acme", 9)) == (None, None)
    assert rows.due("acme", START, 9) == []
    assert rows.due("acme", START + timedelta(days=1), 9) == [three]
    settled = replace(
        one, state=State.APPLIED, settled_at=START, settled_by="ana", first_entry=2, entry=3
    )
    rows.put(settled)
    assert rows.numbered("acme", 1) == settled
    rows.remove("acme", "2")
    assert [each.number for each in rows.everything("acme")] == [1, 3, 4]


def test_what_is_written_in_a_transaction_is_undone_with_it(kept: Tended) -> None:
    def fail() -> None:
        with kept.transaction("acme"):
            kept.put(memory("a", organization="acme"))
            TidyRows(kept.database).add("acme", [suggested("1")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert TidyRows(kept.database).known("acme", ["1"]) == set()
