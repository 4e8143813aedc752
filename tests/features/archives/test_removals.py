"""What was removed here does not come back with an archive, unless it is wanted again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from minutebook.features.archives.archive_lines import OWN, Mode
from minutebook.features.archives.archives import Archives
from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice
from minutebook.memory.intake import REMOVED_HERE, Outcome
from minutebook.record.caller import Caller
from minutebook.record.records import Kind, Memory, Role
from tests.world import Opener, World, everything

PERSON = Caller(name="ana", role=Role.ADMIN, writes_system=True)

REMOVALS: dict[str, Callable[[World, str], object]] = {
    "forgotten": lambda world, each: world.app.memories.remove(PERSON, each),
    "deleted": lambda world, each: world.app.memories.delete(PERSON, each),
    "erased": lambda world, each: erase(world, each),
}


def erase(world: World, id: str) -> None:
    erasing = world.app.get(Erasing)
    erasing.erase(PERSON, erasing.find(PERSON, Choice((id,))), backups=False, from_ledger=False)


def shown(world: World) -> set[str]:
    found = world.store.find(Memory, everything("default"))
    return {each.content for each in found if each.deleted_at is None}


@pytest.mark.needs("erasure")
@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("is_own", [True, False])
def test_an_archive_brings_back_what_was_removed_only_where_it_is_wanted(
    opener: Opener, tmp_path: Path, removal: str, is_own: bool
) -> None:
    world, path = opener(), tmp_path / "archive.jsonl"
    id = world.remember("Tea is green")
    world.remember("Milk is white")
    archives = world.app.get(Archives)
    archives.export_to(PERSON, OWN, path)
    REMOVALS[removal](world, id)
    report = archives.import_from(PERSON, path, Mode.MERGE, is_own=is_own)
    assert report.counts[Outcome.REMOVED][Kind.MEMORY] == 1
    assert REMOVED_HERE in report.reasons
    assert shown(world) == {"Milk is white"}
    report = archives.import_from(PERSON, path, Mode.MERGE, is_own=is_own, again=True)
    assert not report.counts[Outcome.REMOVED]
    assert shown(world) == {"Milk is white", "Tea is green"}
