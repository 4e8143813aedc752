from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from minutebook.record.origin import Origin
from minutebook.record.records import Entry, Kind, Role
from minutebook.record.trust.trail import Act, Break, first_break, head_of, sealed, text_digest

START = datetime(2026, 1, 6, 12, tzinfo=UTC)
NAMES = st.sampled_from(["", "ana", "b", "\ud800"])

acts = st.builds(
    Act,
    actor=NAMES,
    role=st.sampled_from(Role),
    act=st.sampled_from(["write", "delete"]),
    subject_kind=st.sampled_from([Kind.MEMORY, Kind.ENTITY]),
    subject=NAMES,
    request=NAMES,
    outcome=st.sampled_from(["done", "Locked"]),
    before=NAMES,
    after=NAMES,
    token=st.sampled_from(["", "t1"]),
    origin=st.none() | st.builds(Origin, client=NAMES, session=st.sampled_from(["", "s"])),
    reason=NAMES,
)
instants = st.integers(0, 2).map(lambda each: START + timedelta(seconds=each))


@st.composite
def trails(draw: st.DrawFn, least: int = 1) -> list[Entry]:
    entries: list[Entry] = []
    for act in draw(st.lists(acts, min_size=least, max_size=6)):
        entries.append(
            sealed("acme", head_of(entries[-1]) if entries else None, act, draw(instants))
        )
    return entries


def other_value(entry: Entry, field: str) -> Any:
    value: Any = getattr(entry, field)
    match value:
        case Role():
            return Role.ADMIN if value is not Role.ADMIN else Role.VIEWER
        case Kind():
            return Kind.LINK
        case datetime():
            return value + timedelta(microseconds=1)
        case int():
            return value + 1
        case None:
            return Origin(client="claude-code")
        case Origin():
            return replace(value, version=f"{value.version}!")
        case _:
            return f"{value}!"


@given(trails(least=0))
def test_a_trail_that_nobody_touched_is_sound(entries: list[Entry]) -> None:
    assert first_break(entries) is None
    assert [entry.number for entry in entries] == [*range(1, len(entries) + 1)]
    assert all(entry.id == str(entry.number) for entry in entries)


@given(trails(), st.data())
def test_any_changed_field_of_any_entry_is_found(entries: list[Entry], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    field = data.draw(st.sampled_from([f.name for f in fields(Entry)]))
    forged = replace(entries[place], **{field: other_value(entries[place], field)})
    found = first_break([*entries[:place], forged, *entries[place + 1 :]])
    assert found is not None
    assert found.number == place + 1


@given(trails(least=2), st.data())
def test_an_entry_forged_with_a_seal_of_its_own_is_found_at_the_next(
    entries: list[Entry], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(entries) - 2))
    told = entries[place]
    said = {f.name: getattr(told, f.name) for f in fields(Act)} | {"actor": f"{told.actor}!"}
    forged = sealed("acme", head_of(entries[place - 1]) if place else None, Act(**said), told.at)
    assert first_break([*entries[:place], forged, *entries[place + 1 :]]) == Break(
        place + 2, "it does not carry the digest of the entry before"
    )


@given(trails(least=2), st.data())
def test_a_removed_entry_is_found(entries: list[Entry], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(entries) - 2))
    found = first_break(entries[:place] + entries[place + 1 :])
    assert found is not None
    assert found.number == place + 1


@given(trails(), st.data())
def test_removed_last_entries_leave_a_shorter_trail_that_is_sound(
    entries: list[Entry], data: st.DataObject
) -> None:
    assert first_break(entries[: data.draw(st.integers(0, len(entries)))]) is None


@given(trails(least=2), st.data())
def test_reordered_entries_are_found(entries: list[Entry], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(entries).filter(lambda each: each != entries))
    assert first_break(shuffled) is not None


@given(trails(), trails(), st.data())
def test_an_inserted_entry_is_found(
    entries: list[Entry], others: list[Entry], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    inserted = data.draw(st.sampled_from([*entries, *others]))
    assert first_break([*entries[:place], inserted, *entries[place:]]) is not None


def test_an_entry_is_sealed_as_it_always_was() -> None:
    act = Act(
        actor="ana",
        role=Role.AGENT,
        act="created",
        subject_kind=Kind.MEMORY,
        subject="a",
        request="r-1",
        after="x",
        token="t1",
    )
    digest = "98d1b22a6600505ea2a9f9916c7a9c89d93af4853d8764fedd73aa7b8cedcec8"
    assert sealed("acme", None, act, START).digest == digest


@given(trails(), st.data())
def test_a_reason_that_was_changed_or_taken_away_is_found(
    entries: list[Entry], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    other = "" if entries[place].reason else "because"
    forged = replace(entries[place], reason=other)
    found = first_break([*entries[:place], forged, *entries[place + 1 :]])
    assert found is not None
    assert found.number == place + 1


@given(trails(), st.data())
def test_an_origin_that_was_taken_away_or_added_is_found(
    entries: list[Entry], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    other = Origin() if entries[place].origin is None else None
    forged = replace(entries[place], origin=other)
    assert first_break([*entries[:place], forged, *entries[place + 1 :]]) is not None


def test_a_digest_stands_for_a_text_and_never_shows_it() -> None:
    assert text_digest("a") != text_digest("b")
    assert text_digest("\ud800") != text_digest("\ufffd")
    assert len(text_digest("secret")) == 64
