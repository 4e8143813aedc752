"""Records as lines of JSON."""

import json
from typing import Any

import pytest
from hypothesis import given

from minutebook.record.errors import InvalidInput
from minutebook.record.json_lines import line_of, object_of, record_of
from minutebook.record.records import CLASSES, Kind, Record
from tests.store.given import records
from tests.store.samples import entity, memory, project


@given(records)
def test_a_record_comes_back_from_its_line_as_it_was(record: Record) -> None:
    line = line_of(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert record_of(object_of(line)) == record


def test_every_kind_has_a_line() -> None:
    assert set(CLASSES) == set(Kind)


def test_text_is_written_as_people_read_it() -> None:
    assert "東京 ligt ver".encode() in line_of(memory("m1", "東京 ligt ver"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": 5}, "content"),
        ({"content": None}, "content"),
        ({"importance": "high"}, "importance"),
        ({"importance": True}, "importance"),
        ({"version": 1.5}, "version"),
        ({"version": 2**63}, "version"),
        ({"type": "rumour"}, "type"),
        ({"event_time": "yesterday"}, "event_time"),
        ({"event_time": "2026-01-06T12:00:00"}, "event_time"),
        ({"metadata": []}, "metadata"),
        ({"colour": "red"}, "colour"),
        ({"kind": "rumour"}, "kind"),
        ({"kind": None}, "kind"),
    ],
)
def test_a_field_that_does_not_fit_is_named(change: dict[str, Any], field: str) -> None:
    said = json.loads(line_of(memory("m1", "tea"))) | change
    with pytest.raises(InvalidInput) as raised:
        record_of(said)
    assert raised.value.argument == field


def test_a_list_and_a_mapping_hold_what_their_field_says() -> None:
    for record, change in (
        (entity("e1", "Ana"), {"aliases": ["Ann", 5]}),
        (project("p1"), {"skipped": {"hidden": "many"}}),
    ):
        said = json.loads(line_of(record)) | change
        with pytest.raises(InvalidInput, match=next(iter(change))):
            record_of(said)


def test_a_field_without_which_a_record_is_none_must_be_given() -> None:
    said = json.loads(line_of(memory("m1", "tea")))
    del said["author"]
    with pytest.raises(InvalidInput, match="author"):
        record_of(said)


@pytest.mark.parametrize("line", [b"", b"\n", b"{", b"[]", b'{"a": NaN}', b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidInput, match="JSON object"):
        object_of(line)
