"""Intake: one rule tells the outcome of a record that comes from elsewhere, whichever door it comes by."""

from dataclasses import replace

import pytest

from minutebook.memory.intake import (
    REMOVED_HERE,
    IntakeReport,
    Outcome,
    Removals,
    Verdict,
    verdict_on,
)
from minutebook.record.records import Kind, Link, Memory, Record, Version
from minutebook.record.writing.source_drafts import SourcePlace
from tests.world import World, everything

SAME, OTHER = "Tea is green", "Tea is red"

VERDICTS = [
    # draft, here, removed, held: outcome
    (SAME, None, False, "", Outcome.NEW),
    (SAME, None, False, "held", Outcome.NEW),
    (SAME, SAME, False, "", Outcome.HERE),
    (SAME, SAME, False, "held", Outcome.HERE),
    (OTHER, SAME, False, "", Outcome.CHANGED),
    (OTHER, SAME, False, "held", Outcome.LEFT_OUT),
    (SAME, None, True, "", Outcome.REMOVED),
    (OTHER, SAME, True, "", Outcome.REMOVED),
    (OTHER, SAME, True, "held", Outcome.REMOVED),
    (None, SAME, False, "", Outcome.CHANGED),
    (None, SAME, False, "held", Outcome.LEFT_OUT),
    (None, None, False, "", Outcome.HERE),
    (None, None, True, "", Outcome.REMOVED),
]
REASONS = {Outcome.REMOVED: REMOVED_HERE, Outcome.LEFT_OUT: "held"}


@pytest.mark.parametrize(("draft", "here", "removed", "held", "outcome"), VERDICTS)
def test_the_outcome_follows_from_what_is_here_and_what_was_removed(
    world: World, draft: str | None, here: str | None, removed: bool, held: str, outcome: Outcome
) -> None:
    memory = world.memory(world.remember(SAME))

    def record(text: str | None) -> Record | None:
        return None if text is None else replace(memory, content=text)

    verdict = verdict_on(record(draft), record(here), was_removed=removed, obstacle=held)
    assert verdict == Verdict(outcome, REASONS.get(outcome, ""))


def test_what_was_removed_by_its_name_is_told_with_its_parts_and_edges(world: World) -> None:
    removals = Removals(world.app.infrastructure)
    wanted = Removals(world.app.infrastructure, again=True)
    forgotten, deleted, kept = (world.remember(text) for text in ("one", "two", "three"))
    link = world.app.links.link(world.caller, deleted, kept)
    parts = world.store.find(Version, everything("default"))
    before: list[Record] = [world.memory(forgotten), world.memory(deleted), world.memory(kept)]
    world.app.memories.remove(world.caller, forgotten)
    world.app.memories.delete(world.caller, deleted)

    def told(record: Record) -> bool:
        here = world.store.get(type(record), "default", record.id)
        assert not wanted.has_removed_with(record, here)
        return removals.has_removed_with(record, here)

    assert [told(each) for each in before] == [True, True, False]
    assert {each.memory: told(each) for each in parts} == {
        forgotten: False,
        deleted: True,
        kept: False,
    }
    assert isinstance(link, Link)
    assert told(link)
    world.app.memories.restore(world.caller, forgotten)
    assert not told(before[0])
    assert not removals.has_removed(Kind.MEMORY, "default", "never heard of", None)


def test_a_report_counts_a_batch_once_it_is_added(world: World) -> None:
    batch, report = IntakeReport(), IntakeReport()
    for verdict in (Verdict(Outcome.NEW), Verdict(Outcome.REMOVED, REMOVED_HERE)):
        batch.note(verdict, Memory.kind, SourcePlace("a.md", 3))
    report.add(batch)
    report.add(batch)
    assert {outcome: counts.total() for outcome, counts in report.counts.items()} == {
        **dict.fromkeys(Outcome, 0),
        Outcome.NEW: 2,
        Outcome.REMOVED: 2,
    }
    assert report.reasons == {REMOVED_HERE: 2}
    assert [str(each.place) for each in report.left_out] == ["a.md:3"] * 2
