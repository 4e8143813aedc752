from datetime import UTC, datetime, timedelta, timezone
from uuid import NAMESPACE_URL, UUID, uuid5

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minutebook.record.ids import (
    decision_id,
    id_of,
    is_id,
    ledger_id_of,
    new_id,
    proposal_id,
    start_of_ids,
    uuid_in,
    uuid_named,
    uuid_of,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"

ids = st.text(ALPHABET, min_size=20, max_size=20)
births = st.integers(0, 2**48 - 1).map(lambda each: EPOCH + timedelta(milliseconds=each % 10**14))
chances = st.integers(0, 2**55 - 1)
uuids = st.uuids() | st.integers(0, 2**128 - 1).map(lambda each: UUID(int=each))


def born(at: datetime, chance: int) -> str:
    return new_id(at, lambda bits: chance & ((1 << bits) - 1))


@given(births, chances)
def test_an_id_is_twenty_lower_case_alphanumerics(at: datetime, chance: int) -> None:
    made = born(at, chance)
    assert is_id(made)
    assert len(made) == 20
    assert set(made) <= set(ALPHABET)


@given(births, st.integers(1, 10**6), chances, chances)
def test_ids_sort_by_the_millisecond_of_their_birth(
    at: datetime, later: int, one: int, other: int
) -> None:
    assert born(at, one) < born(at + timedelta(milliseconds=later), other)


@given(births, chances, chances)
def test_ids_of_one_millisecond_differ_as_their_chance_does(
    at: datetime, one: int, other: int
) -> None:
    assert (born(at, one) == born(at, other)) == (one == other)


def test_an_id_holds_fifty_five_bits_of_chance() -> None:
    asked = []

    def chance(bits: int) -> int:
        asked.append(bits)
        return 0

    new_id(EPOCH, chance)
    assert asked == [55]


@given(ids)
def test_an_id_and_its_uuid_are_one_another(id: str) -> None:
    same = uuid_of(id)
    assert (same.version, same.variant) == (8, "specified in RFC 4122")
    assert id_of(str(same)) == id
    assert id_of(id) == id


@given(ids, ids)
def test_different_ids_have_different_uuids_in_the_same_order(one: str, other: str) -> None:
    assert (one < other) == (uuid_of(one) < uuid_of(other))


@given(uuids)
def test_any_uuid_has_one_id_however_it_is_written(foreign: UUID) -> None:
    found = id_of(str(foreign))
    assert found is not None
    assert is_id(found)
    assert found == id_of(str(foreign).upper()) == id_of(foreign.hex) == id_of(foreign.urn)


@given(uuids, uuids)
def test_different_uuids_have_different_ids(one: UUID, other: UUID) -> None:
    assert (one == other) == (id_of(str(one)) == id_of(str(other)))


@given(ids, st.sampled_from(range(128)))
def test_a_uuid_one_bit_away_from_ours_is_another_id(id: str, bit: int) -> None:
    assert id_of(str(UUID(int=uuid_of(id).int ^ (1 << bit)))) != id


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "0" * 19,
        "0" * 21,
        "A" * 20,
        "0123456789abcdefghi\n",
        "٠" * 20,
        "0123456789abcdefghi-",
        "00000000-0000-0000-0000-00000000000",
        "g0000000-0000-0000-0000-000000000000",
    ],
)
def test_other_text_is_no_id(text: str) -> None:
    assert not is_id(text)
    assert id_of(text) is None


@given(ids, st.integers(0, 36))
def test_the_start_of_a_uuid_narrows_the_ids_down_to_some_that_hold_its_own(
    id: str, length: int
) -> None:
    assert id.startswith(start_of_ids(str(uuid_of(id))[:length]))


def test_a_whole_uuid_leaves_one_id() -> None:
    assert start_of_ids(str(uuid_of("0mb".ljust(20, "0")))) == "0mb".ljust(20, "0")


def test_a_name_that_is_a_uuid_is_its_own_whatever_its_case() -> None:
    text = "550e8400-e29b-41d4-a716-446655440000"
    assert str(uuid_named(text)) == str(uuid_named(text.upper())) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_other_name_has_the_uuid_that_the_standard_gives_its_url(name: str) -> None:
    assume(uuid_in(name) is None)
    assert uuid_named(name) == uuid5(NAMESPACE_URL, f"minutebook:{name}")


@given(st.text(), st.text())
def test_names_that_differ_in_more_than_the_case_of_a_uuid_have_different_uuids(
    one: str, other: str
) -> None:
    assert (uuid_named(one) == uuid_named(other)) is (one == other)


@pytest.mark.parametrize(
    "text",
    [
        "550e8400e29b41d4a716446655440000",
        "{550e8400-e29b-41d4-a716-446655440000}",
        "urn:uuid:550e8400-e29b-41d4-a716-446655440000",
        "550e8400-e29b-41d4-a716-44665544000",
        "550e8400-e29b-41d4-a716-446655440000\n",
        "",
        "acme",
    ],
)
def test_only_the_usual_form_of_a_uuid_is_one(text: str) -> None:
    assert uuid_in(text) is None


def test_the_id_of_a_decision_says_when_it_was_made() -> None:
    at = datetime(2026, 11, 21, 16, 0, 5, 42, tzinfo=timezone(timedelta(hours=1)))
    assert decision_id(at, lambda _: 0x1A2B) == "decision_20261121T150005000042Z_00001a2b"
    assert proposal_id(at, lambda _: 2**32 - 1) == "proposal_20261121T150005000042Z_ffffffff"


@given(births, chances)
def test_the_id_of_a_decision_is_read_with_and_without_the_name_of_its_file(
    at: datetime, chance: int
) -> None:
    for make in (decision_id, proposal_id):
        id = make(at, lambda bits: chance & ((1 << bits) - 1))
        assert ledger_id_of(id) == ledger_id_of(f"{id}.md") == id
        assert is_id(id) is False


@pytest.mark.parametrize(
    "text",
    [
        "",
        "decision",
        "decision_20261121T150005000042Z_00001a2b.md.md",
        "decision_20261121T150005000042Z_00001A2B",
        "memory_20261121T150005000042Z_00001a2b",
        "decision_20261121T150005000042Z_00001a2b\n",
        "x/decision_20261121T150005000042Z_00001a2b",
    ],
)
def test_nothing_else_is_the_id_of_a_decision(text: str) -> None:
    assert ledger_id_of(text) is None
