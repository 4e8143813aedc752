"""What was removed here does not come back from a machine that has not heard of it, unless it is wanted again."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice
from minutebook.features.importers.source_imports import SourceImports
from minutebook.memory.intake import REMOVED_HERE, Outcome
from minutebook.record.records import Kind, MemoryType
from minutebook.record.writing.source_drafts import MemoryDraft, SourcePlace
from tests.features.sync.joined_machines import PERSON, Machines, machines
from tests.world import World


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Machines]:
    with machines(tmp_path) as joined:
        yield joined


REMOVALS: dict[str, Callable[[World, str], object]] = {
    "forgotten": lambda world, each: world.app.memories.remove(PERSON, each),
    "deleted": lambda world, each: world.app.memories.delete(PERSON, each),
    "erased": lambda world, each: erase(world, each),
}


def erase(world: World, id: str) -> None:
    erasing = world.app.get(Erasing)
    erasing.erase(PERSON, erasing.find(PERSON, Choice((id,))), backups=False, from_ledger=False)


def brought_in(world: World, text: str) -> str:
    """Import a memory: every machine that reads the same source gives it the same id."""
    note = MemoryDraft(
        key="k", place=SourcePlace("n"), program="p", content=text, type=MemoryType.FACT
    )
    imports = world.app.get(SourceImports)
    imports.run(PERSON, "notes", [note], lambda: 1.0, dry_run=False)
    return note.id_in(None, None)


@pytest.mark.needs("erasure")
@pytest.mark.parametrize("removal", REMOVALS)
def test_what_was_removed_here_does_not_come_from_a_machine_that_has_not_heard_of_it(
    two: Machines, removal: str
) -> None:
    one, other = two.worlds
    id = brought_in(one, "Tea is green")
    assert brought_in(other, "Tea is green") == id
    REMOVALS[removal](one, id)
    two.sync(1)
    report = two.sync(0)
    assert report.counts[Outcome.REMOVED][Kind.MEMORY] == 1
    assert report.reasons[REMOVED_HERE] >= 1
    two.settle()
    assert (two.shown(0), two.shown(1)) == (set(), set())
    assert two.held(0) == two.held(1)
    assert not two.compare(0).differences
    # The machine that heard of the removal does not bring it in again either.
    brought_in(other, "Tea is green")
    assert two.shown(1) == set()


@pytest.mark.needs("erasure")
@pytest.mark.parametrize("removal", REMOVALS)
def test_what_was_removed_here_is_taken_from_another_machine_where_it_is_wanted_again(
    two: Machines, removal: str
) -> None:
    one, other = two.worlds
    id = brought_in(one, "Tea is green")
    brought_in(other, "Tea is green")
    REMOVALS[removal](one, id)
    two.sync(1)
    report = two.sync(0, again=True)
    assert not report.counts[Outcome.REMOVED]
    two.settle()
    assert (two.shown(0), two.shown(1)) == ({"Tea is green"},) * 2
    assert two.held(0) == two.held(1)


def test_a_removal_that_was_taken_back_elsewhere_is_heard_of(two: Machines) -> None:
    one, other = two.worlds
    id = one.remember("Tea is green")
    two.settle()
    one.app.memories.remove(two.person, id)
    two.settle()
    other.clock.turn()
    other.app.memories.restore(two.person, id)
    two.settle()
    assert (two.shown(0), two.shown(1)) == ({"Tea is green"},) * 2
