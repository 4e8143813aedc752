"""Whose words a memory holds on another machine of the same person."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.features.audit_proof.audit_proof import TrailProving
from minutebook.features.ledger.proposals import Proposals
from minutebook.record.caller import Caller
from minutebook.record.records import MemoryType, Role
from minutebook.record.trust.doors import Voice
from minutebook.record.writing.drafts import Draft
from tests.faults.invariants import unproven
from tests.features.ledger.decided import ADMIN, committed, written
from tests.features.sync.joined_machines import Machines, machines


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Machines]:
    with machines(tmp_path) as joined:
        yield joined


def test_what_a_person_wrote_or_confirmed_on_one_machine_is_theirs_on_the_other(
    two: Machines,
) -> None:
    one, other = two.worlds
    agent = replace(two.person, name="robot", role=Role.AGENT)

    def kept(caller: Caller, content: str) -> str:
        one.clock.turn()
        fact = Draft(content=content, type=MemoryType.FACT)
        return one.app.memories.store(caller, fact).id

    own, noted = kept(two.person, "Refunds need two signatures."), kept(agent, "Mail passwords.")
    verified = kept(agent, "Deploys happen on Mondays.")
    one.app.status.verify(two.person, verified)
    two.settle()
    voices = {id: other.app.doors.voice(other.memory(id)) for id in (own, noted, verified)}
    assert voices == {own: Voice.PERSON, noted: Voice.CLAIMED, verified: Voice.PERSON}
    # What an agent there makes another thing of is nobody's here.
    one.clock.turn()
    one.app.memories.update(agent, own, {"type": MemoryType.PREFERENCE})
    assert one.app.doors.voice(one.memory(own)) is Voice.AGENT
    two.settle()
    assert other.app.doors.voice(other.memory(own)) is Voice.CLAIMED
    assert [*unproven(other.app.get(TrailProving).prove(ADMIN))] == []


def test_what_git_brought_and_waits_does_not_travel(two: Machines) -> None:
    one, other = two.worlds
    committed(one.app, written(1))
    assert len(one.app.get(Proposals).pending(ADMIN)) == 1
    two.settle()
    assert other.app.get(Proposals).pending(ADMIN) == []
    assert two.held(0).keys() - two.held(1).keys() != set()
