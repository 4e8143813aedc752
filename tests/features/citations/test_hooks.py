"""Hooks say before a prompt, in two words, what became of the code."""

from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.record.caller import WorkTree, with_call
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft
from tests.features.citations.repositories import committed
from tests.world import NOON, World

BEFORE, AFTER = int(NOON.timestamp()) - 60, int(NOON.timestamp()) + 600


@pytest.mark.needs("hooks")
def test_what_is_gone_stands_below_what_holds(world: World, tmp_path: Path) -> None:
    from minutebook.features.hooks.contexts import HEAD, HookContexts

    code = "def total(lines):\n    return sum(lines)\n\n\ndef refund(order):\n    return -order\n"
    committed(tmp_path / "shop", {"pay.py": code}, BEFORE)
    caller = with_call(world.caller, work_tree=WorkTree(str(tmp_path / "shop")))
    person = replace(caller, name="ada", role=Role.HUMAN)

    def keep(text: str) -> None:
        world.clock.turn()
        draft = Draft(content=text, type=MemoryType.BUSINESS_RULE)
        world.app.memories.store(person, draft)

    keep("Our kettle orders are summed by total()")
    keep("Our kettle orders are paid back by refund()")
    committed(tmp_path / "shop", {"pay.py": code[: code.index("def refund")]}, AFTER)
    told = world.app.get(HookContexts).before_prompt(
        caller, "how are our kettle orders summed and paid back", 0.0, ()
    )
    assert told is not None
    lines = told.text.removeprefix(f"{HEAD}\n").splitlines()
    assert [lines[0][:41], lines[1], lines[2][:45]] == [
        "- Our kettle orders are summed by total()",
        "Perhaps outdated:",
        "- Our kettle orders are paid back by refund()",
    ]
    assert lines[0].endswith("; code holds)")
    assert lines[2].endswith("; code gone)")


@pytest.mark.needs("hooks")
def test_a_session_starts_with_what_holds(world: World, tmp_path: Path) -> None:
    from minutebook.features.hooks.contexts import HEAD, HookContexts

    committed(tmp_path / "shop", {"pay.py": "def total(lines):\n    return sum(lines)\n"}, BEFORE)
    caller = with_call(world.caller, work_tree=WorkTree(str(tmp_path / "shop")))
    person = replace(caller, name="ada", role=Role.HUMAN)
    for text in ("Orders are short", "Orders are summed by total()"):
        world.clock.turn()
        world.app.memories.store(person, Draft(content=text, type=MemoryType.BUSINESS_RULE))
    committed(tmp_path / "shop", {"pay.py": "def paid():\n    return 1\n"}, AFTER)
    told = world.app.get(HookContexts).at_start(caller, (), 600)
    assert told is not None
    lines = told.text.removeprefix(f"{HEAD}\n").splitlines()
    assert [lines[0], lines[1][:18], lines[2]] == [
        "Rules:",
        "- Orders are short",
        "Perhaps outdated, rules:",
    ]
    assert lines[3].endswith("; code gone)")
