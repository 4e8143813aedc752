"""A question as another caller would get it, and what was left out."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from minutebook.domain.caller import Caller
from minutebook.domain.errors import Forbidden, ScopeViolation
from minutebook.domain.records import Memory, MemoryType, Role
from minutebook.domain.writing.drafts import Draft
from minutebook.features.explain import viewpoints as module
from minutebook.features.explain.services import ExplainServices
from minutebook.features.explain.viewpoints import Absence
from minutebook.features.ledger.services import LedgerServices
from tests.features.ledger.decided import draft
from tests.world import World

ADMIN = Caller(name="ada", role=Role.ADMIN, organization="default", token="t")


def keep(world: World, text: str, **said: Any) -> Memory:
    world.clock.turn()
    who = replace(world.caller, organization="default")
    return world.app.memories.store(who, Draft(content=text, type=MemoryType.FACT, **said))


def left_out(world: World, other: Caller, query: str, limit: int = 10) -> dict[str, Absence]:
    seen = world.app.get(ExplainServices).viewpoints.ask(ADMIN, other, query, limit)
    assert not {each.record.id for each in seen.hits} & {each.record.id for each in seen.left_out}
    return {each.record.id: each.why for each in seen.left_out}


def test_each_record_that_was_left_out_has_its_reason(world: World) -> None:
    app = world.app
    held, mine, theirs = (keep(world, f"kettle {each}") for each in ("one", "two", "three"))
    hidden = keep(world, "kettle of the billing", repository="billing")
    old, stale, over = (keep(world, f"kettle {each}") for each in ("four", "five", "six"))
    later = keep(world, "kettle later", valid_from=world.clock.now + timedelta(days=9))
    app.memories.invalidate(ADMIN, old.id, None, held.id)
    app.status.deprecate(ADMIN, stale.id, "out of date")
    app.memories.invalidate(ADMIN, over.id, "over", None)
    decided = app.get(LedgerServices).decisions.record(ADMIN, draft("kettle", "kettle first"))
    proposal = app.get(LedgerServices).proposals.propose(ADMIN, draft("kettle", "kettle second"))
    app.get(LedgerServices).decisions.supersede(
        ADMIN, [decided.id], draft("kettle", "kettle third")
    )
    agent = app.get(ExplainServices).viewpoints.other(ADMIN, Role.AGENT, repository="garden")
    assert agent.role is Role.AGENT
    assert left_out(world, agent, "kettle") == {
        hidden.id: Absence.OUT_OF_SCOPE,
        old.id: Absence.SUPERSEDED,
        stale.id: Absence.DEPRECATED,
        over.id: Absence.ENDED,
        later.id: Absence.NOT_YET,
        decided.id: Absence.SUPERSEDED,
        proposal.id: Absence.PROPOSED,
    }
    below = left_out(world, agent, "kettle", limit=1)
    assert list(below.values()).count(Absence.BELOW_THE_CUT) == 3
    assert {held.id, mine.id, theirs.id} & below.keys()
    seen = app.get(ExplainServices).viewpoints.ask(ADMIN, agent, "kettle", 10)
    (superseded,) = (each for each in seen.left_out if each.record.id == old.id)
    assert superseded.successor == app.memories.read(ADMIN, held.id)
    assert sum(share.share for share in superseded.hit.shares) == pytest.approx(1.0)
    (place,) = {
        each.place
        for each in app.get(ExplainServices).viewpoints.ask(ADMIN, agent, "kettle", 3).left_out
        if each.why is Absence.BELOW_THE_CUT
    }
    assert place == 4


def test_who_asks_hears_only_of_what_they_may_see(world: World) -> None:
    keep(world, "kettle of the billing", repository="billing")
    keep(world, "kettle of ana", user="ana")
    gardener = replace(ADMIN, role=Role.HUMAN, repositories=frozenset({"garden"}), user="ben")
    seen = world.app.get(ExplainServices).viewpoints.ask(gardener, gardener, "kettle", 10)
    assert (seen.hits, seen.left_out) == ([], [])


@pytest.mark.parametrize(
    "who",
    [
        replace(ADMIN, role=Role.MANAGER),
        replace(ADMIN, repositories=frozenset({"garden"})),
        replace(ADMIN, user="ana"),
    ],
)
def test_nobody_but_an_admin_of_all_of_it_looks_with_anothers_eyes(
    world: World, who: Caller
) -> None:
    with pytest.raises(Forbidden):
        world.app.get(ExplainServices).viewpoints.other(who, Role.AGENT)
    (entry,) = world.trail()
    assert (entry.act, entry.outcome) == ("look as", "Forbidden")


def test_nobody_sees_more_by_anothers_eyes(world: World) -> None:
    with pytest.raises(ScopeViolation):
        world.app.get(ExplainServices).viewpoints.other(ADMIN, Role.ADMIN, organization="zoo")
    owner = replace(ADMIN, token="", role=Role.HUMAN, user="ana", organization=None)
    assert world.app.get(ExplainServices).viewpoints.other(owner, Role.ADMIN).user == "ana"
    with pytest.raises(ScopeViolation):
        world.app.get(ExplainServices).viewpoints.other(owner, Role.ADMIN, user="ben")


def test_more_than_is_named_is_not_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEFT_OUT", 2)
    for number in range(6):
        keep(world, f"kettle {number}")
    assert len(left_out(world, ADMIN, "kettle", limit=1)) == 2
