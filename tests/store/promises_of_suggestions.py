"""What the protocol promises of suggestions."""

from dataclasses import replace
from datetime import timedelta

import pytest

from minutebook.domain.records import Kind
from minutebook.features.tidying.findings import Finding, State, Suggestion
from minutebook.store.protocol import Tended
from tests.store.samples import START, memory


def suggested(id: str, organization: str = "acme", **said: object) -> Suggestion:
    facts = {"finding": Finding.DUPLICATE, "certainty": 0.75, "subjects": ((Kind.MEMORY, "a\ud800"),)}  # fmt: skip
    return Suggestion(organization=organization, id=id, found_at=START, **{**facts, **said})  # type: ignore[arg-type]


class SuggestionPromises:
    """Suggestions are kept beside the records, numbered by organization, in the store's transactions."""

    def test_suggestions_are_numbered_once_and_found_by_state_number_and_day(
        self, store: Tended
    ) -> None:
        rows = store.tidy_rows
        assert rows.find("acme", State.OPEN, 9) == []
        assert (rows.marks("acme"), rows.known("acme", ["1"])) == ({}, set())
        late = suggested("3", state=State.WAITING, due=START + timedelta(days=1))
        one, two, three = rows.add("acme", [suggested("1"), suggested("2"), late])
        assert [each.number for each in (one, two, three)] == [1, 2, 3]
        assert rows.add("acme", [suggested("2"), suggested("4"), suggested("4")]) == [
            replace(suggested("4"), number=4)
        ]
        assert rows.add("zoo", [suggested("1", "zoo")])[0].number == 1
        assert rows.known("acme", ["1", "5"]) == {"1"}
        assert rows.find("acme", State.OPEN, 2, 1) == [two, replace(suggested("4"), number=4)]
        assert rows.find("acme", State.OPEN, 1) == [one]
        assert rows.numbered("acme", 3) == three
        assert (rows.numbered("acme", 0), rows.numbered("acme", 9)) == (None, None)
        assert rows.due("acme", START, 9) == []
        assert rows.due("acme", START + timedelta(days=1), 9) == [three]
        rows.put_marks("acme", {"sequence": 7})
        rows.put_marks("acme", {"sequence": 8})
        settled = replace(one, state=State.APPLIED, settled_at=START, settled_by="ana", undo="{}")
        rows.put(settled)
        assert rows.numbered("acme", 1) == settled
        rows.remove("acme", "2")
        assert [each.number for each in rows.everything("acme")] == [1, 3, 4]
        assert rows.marks("acme") == {"sequence": 8}
        assert rows.marks("zoo") == {}

    def test_what_is_written_in_a_transaction_is_undone_with_it(self, store: Tended) -> None:
        def fail() -> None:
            with store.transaction("acme"):
                store.put(memory("a", organization="acme"))
                store.tidy_rows.add("acme", [suggested("1")])
                store.tidy_rows.put_marks("acme", {"sequence": 1})
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert store.tidy_rows.known("acme", ["1"]) == set()
        assert store.tidy_rows.marks("acme") == {}
