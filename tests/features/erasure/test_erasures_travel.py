"""An erasure reaches the other machines, and nothing brings back what was erased."""

from pathlib import Path

from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice
from tests.features.erasure.given import text_of, words_of
from tests.features.erasure.leftovers import leftovers
from tests.features.sync.joined_machines import PERSON, Machines, machines


def erase(joined: Machines, number: int, id: str) -> list[str]:
    joined.worlds[number].clock.turn()
    erasing = joined.worlds[number].app.get(Erasing)
    records = erasing.find(PERSON, Choice((id,)))
    return erasing.erase(PERSON, records, backups=False, from_ledger=False).left


def test_what_was_erased_leaves_every_machine_and_the_remote(tmp_path: Path) -> None:
    with machines(tmp_path) as joined:
        id = joined.worlds[0].remember(text_of(1))
        stays = joined.worlds[0].remember(text_of(2))
        joined.settle()
        (remark,) = erase(joined, 0, id)
        assert "minutebook sync" in remark
        # What was edited there meanwhile does not bring it back.
        joined.edit(1, id, text_of(3))
        for _ in range(3):
            for number in range(len(joined.worlds)):
                joined.sync(number)
        words = words_of(1) + words_of(3)
        assert leftovers(tmp_path, words) == set()
        assert joined.held(0) == joined.held(1)
        for world in joined.worlds:
            assert world.app.memories.read(PERSON, stays).content == text_of(2)
            assert {each.subject for each in world.app.trail.entries(PERSON, act="erase")} == {id}
            assert world.app.trail.verify("default") is None
