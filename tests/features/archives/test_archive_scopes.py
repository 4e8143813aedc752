"""Archives and scopes: ids out of sight, and folders of an organization."""

from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.features.archives.archive_lines import Mode
from minutebook.record.errors import InvalidInput, ScopeViolation
from minutebook.record.records import Kind
from tests.features.archives.test_archives import (
    AGENT,
    exported,
    imported,
    journal,
    put,
    responses,
    turn,
)
from tests.world import Opener


@pytest.mark.parametrize("mode", Mode)
def test_a_turn_whose_id_is_taken_out_of_sight_is_taken_in_all_the_same(
    opener: Opener, mode: Mode
) -> None:
    elsewhere, world = opener(name="elsewhere"), opener(name="here")
    held = replace(AGENT, repositories=frozenset({"one"}))
    theirs = [turn(n, repository="two") for n in range(2)]
    put(world, *theirs)
    put(elsewhere, *(turn(n, repository="one", response="mine") for n in range(2)))
    path = exported(elsewhere)
    for again in (False, True):
        done = imported(world, path, mode, held)
        assert done.imported[Kind.TURN] == (0 if again else 2)
        assert sorted(responses(world)) == ["done", "done", "mine", "mine"]
        assert set(theirs) <= set(journal(world))
    for number in (1, 9):
        other = opener(name=f"crafted {number}")
        put(other, turn(number, repository="two"))
        with pytest.raises(ScopeViolation):
            imported(world, exported(other), mode, held)


def test_folders_can_be_allowed_to_an_organization(opener: Opener, tmp_path: Path) -> None:
    acme, zoo = tmp_path / "acme", tmp_path / "zoo"
    acme.mkdir()
    world = opener(archive_roots={"acme": (acme,), "zoo": {"api": (zoo,)}})
    ours = replace(AGENT, organization="acme")
    assert exported(world, ours).parent == acme
    assert exported(world, AGENT).parent == tmp_path / "one" / "backups"
    with pytest.raises(InvalidInput, match="archive_roots"):
        exported(world, ours, str(zoo / "a.jsonl"))
    bearer = replace(ours, token="t")
    assert exported(world, bearer).parent.parent == tmp_path / "one" / "backups"
    assert exported(world, bearer, str(acme / "a.jsonl")) == acme / "a.jsonl"
    for other in (bearer, replace(bearer, organization="zoo", repositories=frozenset({"web"}))):
        with pytest.raises(InvalidInput, match="your own folder"):
            exported(world, other, str(zoo / "a.jsonl"))
