"""What an archive claims of persons: kept as a claim, unless the person says that it is their own."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.archives.archive_lines import OWN, Mode
from minutebook.features.archives.archives import Archives
from minutebook.features.audit_proof.audit_proof import TrailProving
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.record.caller import Caller
from minutebook.record.errors import Forbidden
from minutebook.record.origin import byline
from minutebook.record.records import (
    Decision,
    Kind,
    Memory,
    MemoryType,
    ProposalStatus,
    Role,
    Status,
    Version,
)
from minutebook.record.writing.drafts import Draft
from tests.features.ledger.decided import draft
from tests.world import Opener, World, everything

OWNER = Caller(name="ana", role=Role.ADMIN, writes_system=True)


def told(world: World) -> dict[str, Memory]:
    found = world.store.find(Memory, everything("default"))
    return {each.content: each for each in found if isinstance(each, Memory)}


def decided(world: World) -> list[Any]:
    return world.app.get(DecisionActs).active_by_target(OWNER)


@pytest.fixture
def archive(opener: Opener, tmp_path: Path) -> Path:
    """An archive of a store in which a person verified, locked and decided."""
    app = opener(name="elsewhere").app
    ids = [
        app.memories.store(OWNER, Draft(content=text, type=MemoryType.FACT)).id
        for text in ("plain", "verified", "locked")
    ]
    app.status.verify(OWNER, ids[1])
    app.status.lock(OWNER, ids[2])
    old = app.get(DecisionActs).record(OWNER, draft())
    app.get(DecisionActs).supersede(OWNER, [old.id], draft(title="Use files"))
    path = tmp_path / "archive.jsonl"
    app.get(Archives).export_to(OWNER, OWN, path)
    return path


def test_what_an_archive_says_of_persons_is_a_claim(opener: Opener, archive: Path) -> None:
    here = opener()
    importer = replace(OWNER, name="ben")
    report = here.app.get(Archives).import_from(importer, archive, Mode.MERGE)
    found = told(here)
    assert found["verified"].status is Status.UNVERIFIED
    assert found["locked"].status not in (Status.LOCKED, Status.VERIFIED)
    assert found["locked"].locked_by is None
    assert {byline(each.author, each.origin) for each in found.values()} == {
        "ben, in the name of ana"
    }
    versions = here.store.find(Version, everything("default"))
    assert {each.origin.brought for each in versions if each.origin} == {"ben"}
    assert decided(here) == []
    [proposal] = here.app.get(Proposals).pending(OWNER)
    assert (proposal.title, proposal.status) == ("Use files", ProposalStatus.PENDING)
    assert report.claimed[Kind.MEMORY] == 2
    assert report.claimed[Kind.DECISION] == 2
    # The trail names who brought it, and nobody else.
    assert {each.actor for each in here.trail()} == {"ben"}
    assert here.app.get(TrailProving).prove(OWNER)[0].differences == ()


def test_a_claim_in_the_importers_own_name_is_shown_as_one(opener: Opener, archive: Path) -> None:
    here = opener()
    here.app.get(Archives).import_from(OWNER, archive, Mode.MERGE)
    assert {byline(each.author, each.origin) for each in told(here).values()} == {"ana (claimed)"}


def test_ones_own_archive_comes_whole_at_once_or_after_all(opener: Opener, archive: Path) -> None:
    one, two = opener(), opener(name="two")
    one.app.get(Archives).import_from(OWNER, archive, Mode.MERGE, is_own=True)
    two.app.get(Archives).import_from(OWNER, archive, Mode.MERGE)
    two.app.get(Archives).import_from(OWNER, archive, Mode.MERGE, is_own=True)
    for world in (one, two):
        found = told(world)
        assert found["verified"].status is Status.VERIFIED
        assert found["locked"].locked_by is Role.ADMIN
        assert {each.origin for each in found.values()} == {None}
        assert [each.title for each in decided(world)] == ["Use files"]
        assert world.app.get(Proposals).pending(OWNER) == []
        assert world.app.get(TrailProving).prove(OWNER)[0].differences == ()
    assert told(one) == told(two)


def test_what_this_stores_trail_knows_comes_back_as_it_was(world: World, tmp_path: Path) -> None:
    app = world.app
    id = app.memories.store(OWNER, Draft(content="tea", type=MemoryType.FACT)).id
    app.status.verify(OWNER, id)
    path = tmp_path / "own.jsonl"
    app.get(Archives).export_to(OWNER, [Kind.MEMORY], path)
    kept = told(world)
    app.memories.delete(OWNER, id)
    assert told(world) == {}
    app.get(Archives).import_from(OWNER, path, Mode.MERGE, again=True)
    assert told(world) == kept


def test_an_agent_does_not_say_whose_a_file_is(opener: Opener, archive: Path) -> None:
    here = opener()
    agent = replace(OWNER, name="robot", role=Role.AGENT)
    with pytest.raises(Forbidden):
        here.app.get(Archives).import_from(agent, archive, Mode.MERGE, is_own=True)
    assert told(here) == {}
    assert here.store.find(Decision, everything("default")) == []


def test_a_date_to_come_is_believed_of_no_archive_but_ones_own(
    opener: Opener, archive: Path
) -> None:
    here = opener()
    here.clock.now -= timedelta(days=400)
    now = here.clock.now
    here.app.get(Archives).import_from(replace(OWNER, name="ben"), archive, Mode.MERGE)
    for each in told(here).values():
        assert {each.event_time, each.ingestion_time, each.updated_at} == {now}
    assert [each.created_at for each in here.app.get(Proposals).pending(OWNER)] == [now]
    versions = here.store.find(Version, everything("default"))
    assert {each.changed_at for each in versions} == {now}
    # Said after all that it is one's own, it is taken as it is.
    here.app.get(Archives).import_from(OWNER, archive, Mode.MERGE, is_own=True)
    assert min(each.event_time for each in told(here).values()) > now


def test_whom_a_file_names_may_not_remove_what_another_brought(
    opener: Opener, archive: Path
) -> None:
    here = opener()
    here.app.get(Archives).import_from(replace(OWNER, name="ben"), archive, Mode.MERGE)
    id = told(here)["plain"].id
    with pytest.raises(Forbidden, match="written by 'ben'"):
        here.app.memories.delete(Caller(name="ana", role=Role.AGENT), id)
    here.app.memories.delete(Caller(name="ben", role=Role.AGENT), id)
