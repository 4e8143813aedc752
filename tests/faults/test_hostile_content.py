"""Hostile content through every door, and out by every exit: masked, marked, inert or kept as it is labelled."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from minutebook.record.policy import Redact
from tests.faults.campaign import LONG, chance, report, rounds
from tests.faults.hostile.doors import DOORS, Door
from tests.faults.hostile.exits import Exits, Wrong, log_lines
from tests.faults.hostile.house import Answer, House, house, logged
from tests.faults.hostile.items import Item, texts


def put(at: House, pairs: Sequence[tuple[Door, Item]]) -> tuple[Exits, list[Answer]]:
    """Put each item through its door, and look at all that is answered."""
    exits, answers = Exits(at, pairs), list[Answer]()
    for door in {id(door): door for door, _ in pairs}.values():
        own = [item for by, item in pairs if by is door]
        if door.all is not None:
            told = door.all(at, own)
            exits.answered(door, None, told)
            answers += told
        for item in own if door.each is not None else ():
            assert door.each is not None
            told = door.each(at, item)
            exits.answered(door, item, told)
            answers += told[:1]
    exits.look()
    return exits, answers


def judged(
    folder: Path, pairs: Sequence[tuple[Door, Item]], redact: Redact | None
) -> tuple[Exits, list[Answer]]:
    """Put items through their doors and look at every exit. Raises AssertionError if anything is wrong."""
    with logged() as lines, house(folder, redact) as one:
        exits, answers = put(one, pairs)
    text = lines.getvalue()
    exits.wrong += [Wrong("log", "", each) for each in log_lines(text)]
    exits.wrong += [
        Wrong("log", item.id, "a secret is there")
        for _, item in pairs
        for secret in item.secrets
        if secret in text
    ]
    return exits, answers


@pytest.mark.parametrize("redact", [None, Redact.MASK], ids=["by default", "mask"])
def test_each_text_through_some_door_and_out_by_every_exit(
    redact: Redact | None, tmp_path: Path
) -> None:
    doors = list(DOORS.values())
    # A short run takes each sixth text, and in each mode others.
    part = texts()[redact is None :: rounds(6, 2)]
    pairs = [(doors[number % len(doors)], each) for number, each in enumerate(part)]
    exits, _ = judged(tmp_path, pairs, redact)
    assert not exits.wrong, "\n".join(str(each) for each in exits.wrong[:40])


@pytest.mark.skipif(not LONG, reason="make faults runs it")
@pytest.mark.parametrize("name", DOORS)
def test_every_text_through_every_door(name: str, tmp_path: Path) -> None:
    door, wrong, counts = DOORS[name], list[Wrong](), Counter[str]()
    draw = chance(name)
    for redact in (None, Redact.MASK):
        folder = tmp_path / str(redact)
        folder.mkdir()
        # Masking is one function for all doors, so that a tenth of the texts tries it at each.
        items = texts() if redact is None else draw.sample(texts(), len(texts()) // 10)
        exits, answers = judged(folder, [(door, each) for each in items], redact)
        wrong += exits.wrong
        counts["items"] += len(items)
        counts["secrets"] += sum(bool(each.secrets) for each in items)
        counts["marked"] += exits.marked
        counts["kept"] += exits.kept
        counts["refused"] += sum(each.refused for each in answers)
    report("hostile content", name, **counts, wrong=len(wrong))
    assert not wrong, "\n".join(str(each) for each in wrong[:40])
