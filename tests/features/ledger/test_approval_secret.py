import hashlib
import hmac
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from minutebook.features.ledger.keys import approval_secret
from minutebook.features.ledger.keys.approval_secret import LONGEST_WAIT, ApprovalSecret
from minutebook.record.caller import Caller
from minutebook.record.errors import (
    Forbidden,
    GuessedTooOften,
    InvalidInput,
    StoreError,
    WrongSecret,
)
from minutebook.record.records import Role
from tests import cheap_secret
from tests.features.ledger.decided import ADMIN, PERSON, SECRET
from tests.serve.contracts.requirements import requirement
from tests.world import NOON, Opener, World

OTHER = "close sesame"


def check(world: World, guess: str | None) -> None:
    world.app.get(ApprovalSecret).check(ADMIN, "accept", "proposal", guess)


def file_of(tmp_path: Path) -> Path:
    return tmp_path / "one" / "secret"


@requirement("ledger/accept_proposal/secret")
def test_the_secret_is_kept_as_a_hash_that_only_its_owner_reads(
    world: World, tmp_path: Path
) -> None:
    world.app.get(ApprovalSecret).set(ADMIN, SECRET)
    assert world.app.get(ApprovalSecret).is_set
    kept = file_of(tmp_path)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert SECRET not in kept.read_text(encoding="utf-8")
    check(world, SECRET)
    assert all(SECRET not in repr(each) for each in world.trail())


@requirement("ledger/accept_proposal/secret")
def test_the_hash_is_as_costly_as_is_said(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cost,) = cheap_secret.COSTS
    assert cost == 2**15
    monkeypatch.setattr(approval_secret, "_N", cost)
    world.app.get(ApprovalSecret).set(ADMIN, SECRET)
    kept = json.loads(file_of(tmp_path).read_text(encoding="utf-8"))
    salt = bytes.fromhex(kept["salt"])
    made = hashlib.scrypt(SECRET.encode(), salt=salt, n=2**15, r=8, p=1, maxmem=1 << 26, dklen=32)
    assert kept["digest"] == made.hex()


@requirement("ledger/accept_proposal/secret")
def test_a_guess_is_compared_in_constant_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.app.get(ApprovalSecret).set(ADMIN, SECRET)
    compared: list[bool] = []
    compare = hmac.compare_digest

    def watched(one: bytes, other: bytes) -> bool:
        compared.append(compare(one, other))
        return compared[-1]

    monkeypatch.setattr(hmac, "compare_digest", watched)
    check(world, SECRET)
    with pytest.raises(WrongSecret):
        check(world, OTHER)
    assert compared == [True, False]


def test_the_same_secret_twice_has_two_hashes(opener: Opener, tmp_path: Path) -> None:
    for name in ("one", "two"):
        opener(name=name).app.get(ApprovalSecret).set(ADMIN, SECRET)
    one, two = ((tmp_path / name / "secret").read_text("utf-8") for name in ("one", "two"))
    assert one != two


@requirement("ledger/accept_proposal/pinned")
def test_the_first_admin_start_pins_the_secret_that_it_was_given(opener: Opener) -> None:
    for role in (Role.AGENT, Role.HUMAN):
        assert not opener(role=role, agent_memory_secret=SECRET).app.get(ApprovalSecret).is_set
    world = opener(role=Role.ADMIN, agent_memory_secret=SECRET)
    check(world, SECRET)
    later = opener(role=Role.ADMIN, agent_memory_secret=OTHER)
    assert later.app.get(ApprovalSecret).given == OTHER
    with pytest.raises(WrongSecret):
        check(later, OTHER)


def test_of_several_that_pin_a_secret_at_once_none_is_refused(opener: Opener) -> None:
    world = opener(agent_memory_secret=SECRET)
    with ThreadPoolExecutor(4) as threads:
        for _ in threads.map(lambda _: world.app.get(ApprovalSecret).pin(ADMIN), range(4)):
            pass
    check(world, SECRET)
    assert [(each.act, each.outcome) for each in world.entries("secret")] == [
        ("set_secret", "done")
    ]


def test_whoever_sets_another_secret_knows_the_present_one(world: World) -> None:
    world.app.get(ApprovalSecret).set(ADMIN, SECRET)
    with pytest.raises(Forbidden):
        world.app.get(ApprovalSecret).set(ADMIN, OTHER)
    with pytest.raises(WrongSecret):
        world.app.get(ApprovalSecret).set(ADMIN, OTHER, OTHER)
    world.clock.turn(1)
    world.app.get(ApprovalSecret).set(ADMIN, OTHER, SECRET)
    check(world, OTHER)
    acts = [(each.act, each.outcome) for each in world.entries("secret")]
    assert acts == [
        ("set_secret", "done"),
        ("set_secret", "Forbidden"),
        ("set_secret", "WrongSecret"),
        ("set_secret", "done"),
    ]


def test_only_an_admin_sets_a_secret_and_it_is_no_short_one(world: World) -> None:
    with pytest.raises(Forbidden):
        world.app.get(ApprovalSecret).set(PERSON, SECRET)
    with pytest.raises(InvalidInput, match="8"):
        world.app.get(ApprovalSecret).set(ADMIN, "sesame!")
    assert not world.app.get(ApprovalSecret).is_set


@requirement("ledger/accept_proposal/guesses")
def test_each_wrong_guess_puts_off_the_next_for_twice_as_long_whoever_asks(
    opener: Opener,
) -> None:
    one, two = opener(), opener()
    one.app.get(ApprovalSecret).set(ADMIN, SECRET)
    for number, world in enumerate([one, two, one, two]):
        with pytest.raises(WrongSecret):
            check(world, OTHER)
        opens = world.clock.now + timedelta(seconds=2**number)
        world.clock.turn(2**number - 0.001)
        for guess in (OTHER, SECRET):
            with pytest.raises(GuessedTooOften) as refusal:
                check(one, guess)
            assert refusal.value.opens == opens
        world.clock.turn(0.001)
    check(two, SECRET)
    with pytest.raises(WrongSecret):
        check(two, OTHER)
    assert [each.outcome for each in one.entries("proposal")].count("GuessedTooOften") == 8


def test_nobody_is_kept_out_for_long_and_a_clock_set_back_keeps_nobody_out_for_longer(
    world: World, tmp_path: Path
) -> None:
    world.app.get(ApprovalSecret).set(ADMIN, SECRET)
    with pytest.raises(WrongSecret):
        check(world, OTHER)
    kept = json.loads(file_of(tmp_path).read_text(encoding="utf-8"))
    assert kept["failures"] == 1
    file_of(tmp_path).write_text(json.dumps(kept | {"failures": 5000}), encoding="utf-8")
    with pytest.raises(GuessedTooOften) as refusal:
        check(world, SECRET)
    assert refusal.value.opens == world.clock.now + LONGEST_WAIT
    world.clock.turn(LONGEST_WAIT.total_seconds())
    with pytest.raises(WrongSecret):
        check(world, OTHER)
    world.clock.now = NOON - timedelta(days=400)
    with pytest.raises(GuessedTooOften) as refusal:
        check(world, SECRET)
    assert refusal.value.opens == world.clock.now + LONGEST_WAIT


def test_a_damaged_file_lets_nobody_in(world: World, tmp_path: Path) -> None:
    world.app.get(ApprovalSecret).set(ADMIN, SECRET)
    file_of(tmp_path).write_text("{", encoding="utf-8")
    with pytest.raises(StoreError, match="remove it"):
        check(world, SECRET)


def test_a_secret_counts_once_the_trail_says_so(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is killed, or fails, between the file and the entry leaves the secret that there was."""
    world.app.get(ApprovalSecret).set(ADMIN, SECRET)

    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(world.app.trail, "_append", fail)
        with pytest.raises(StoreError, match="full"):
            world.app.get(ApprovalSecret).set(ADMIN, OTHER, SECRET)
    unsettled = json.loads(file_of(tmp_path).read_text(encoding="utf-8"))
    assert unsettled["before"] is not None
    check(world, SECRET)
    assert len(world.entries("secret")) == 1
    world.app.get(ApprovalSecret).set(ADMIN, OTHER, SECRET)
    check(world, OTHER)
    # As one leaves it who is killed after the commit.
    kept = json.loads(file_of(tmp_path).read_text(encoding="utf-8"))
    file_of(tmp_path).write_text(
        json.dumps({"kept": kept, "organization": "default", "before": unsettled["before"]})
    )
    check(world, OTHER)
    with pytest.raises(WrongSecret):
        check(world, SECRET)


def test_a_secret_of_any_signs_can_be_told(world: World, tmp_path: Path) -> None:
    strange = "päßwörd \ud800 日本"
    world.app.get(ApprovalSecret).set(ADMIN, strange)
    again: ApprovalSecret = world.app.get(ApprovalSecret)
    again.check(Caller(name="eve", role=Role.ADMIN), "accept", "proposal", strange)
