"""An archive that was brought in and taken out again says the same, byte for byte.

Compared are the lines of records: the header has the instant, and an import is an act of its own on the
trail, with the end that follows from it. Decisions are brought to another Git, whose commits they name.
"""

import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.features.archives.archive_lines import Mode
from minutebook.features.archives.archives import Archives
from minutebook.record.errors import InvalidInput
from minutebook.record.json_lines import check_sound
from minutebook.record.records import Kind, Record
from tests.examples import examples
from tests.features.archives.test_archives import ADMIN
from tests.store import given as drawn
from tests.world import World, failed, worlds

COMPARED = (Kind.VERSION, Kind.ENTITY, Kind.RELATION, Kind.TURN, Kind.SUMMARY, Kind.MEMORY)


@st.composite
def stores(draw: st.DrawFn) -> list[Record]:
    """Records of a store, each sound and with an id of its own."""
    record = drawn.memories | drawn.versions | drawn.entities | drawn.turns | drawn.summaries
    found = draw(st.lists(record, max_size=12, unique_by=_key))
    return [each for each in found if is_sound(each)]


def _key(record: Record) -> tuple[Kind, str, str]:
    return record.kind, record.organization, record.id


def is_sound(record: Record) -> bool:
    """Tell whether an archive takes the record."""
    try:
        check_sound(record)
    except InvalidInput:
        return False
    return True


def lines_of(path: Path) -> list[bytes]:
    lines = path.read_bytes().splitlines(keepends=True)[1:-1]
    return [each for each in lines if json.loads(each)["kind"] in COMPARED]


def exported(world: World, to: Path) -> list[bytes]:
    world.app.get(Archives).export_to(ADMIN, COMPARED, to)
    return lines_of(to)


@settings(max_examples=examples(40))
@given(stores())
def test_what_was_brought_in_is_taken_out_again_byte_for_byte(records: list[Record]) -> None:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        home = Path(folder)
        opener = stack.enter_context(worlds(home))
        one, two = opener(failed(), name="one"), opener(failed(), name="two")
        with one.store.transaction(*{each.organization for each in records}):
            for record in records:
                one.store.put(record)
        first = exported(one, home / "first.jsonl")
        assert len(first) == len(records)
        two.app.get(Archives).import_from(ADMIN, home / "first.jsonl", Mode.MERGE, is_own=True)
        assert exported(two, home / "second.jsonl") == first
        assert exported(one, home / "again.jsonl") == first
