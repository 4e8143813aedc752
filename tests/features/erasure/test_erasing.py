"""Nothing is left of what was erased: not in the store's files, the ledger, the backups, the log of questions."""

import errno
import itertools
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from minutebook.features.archives.copies.backups import store_backups
from minutebook.features.audit_proof.audit_proof import prove_trail
from minutebook.features.erasure.erasing import Erased, Erasing
from minutebook.features.erasure.selection import Choice
from minutebook.features.erasure.traces import Finder, pieces_of, search
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.ledger.repositories import Ledgers
from minutebook.features.recall_log.recall_log import RecallLog
from minutebook.features.recall_log.rows import RecallRows
from minutebook.features.tidying.findings import Suggestion, Topic
from minutebook.features.tidying.rows import TidyRows
from minutebook.record.caller import Caller
from minutebook.record.errors import (
    Forbidden,
    InvalidInput,
    LedgerError,
    Locked,
    NotFound,
    StoreBusy,
    StoreError,
)
from minutebook.record.records import Decision, Entry, Kind, Link, Memory, Role, Version
from minutebook.record.trust.trail import ERASE
from minutebook.store.sidecar import segment, sizes
from minutebook.store.sidecar.words import Postings, term_digest
from minutebook.store.sql.index_source import WORDS
from minutebook.store.sqlite import SqliteStore
from minutebook.text.words import terms
from tests.faults.calls import IS_POSSIBLE, Calls, Fault
from tests.features.erasure.given import PERSON, kept, text_of, words_of
from tests.features.erasure.leftovers import leftovers
from tests.features.ledger.decided import draft
from tests.store.small_index import small_index
from tests.world import World, everything, ready, worlds


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with worlds(tmp_path) as open_one:
        yield open_one(ready())


def erased(
    world: World, *ids: str, caller: Caller = PERSON, backups: bool = False, ledger: bool = False
) -> Erased:
    app = world.app
    records = app.get(Erasing).find(caller, Choice(ids))
    return app.get(Erasing).erase(caller, records, backups=backups, from_ledger=ledger)


def entries(world: World) -> list[Entry]:
    return world.app.trail.entries(PERSON, act=ERASE)


def test_nothing_is_left_of_a_memory_and_its_past(world: World, tmp_path: Path) -> None:
    app = world.app
    id = kept(world, text_of(1), title=text_of(2), metadata={"note": [text_of(3)]})
    app.memories.update(PERSON, id, {"content": text_of(4)})
    other = kept(world, "Tea at five")
    app.links.link(PERSON, id, other, text_of(5))
    app.entities.create_entity(PERSON, "Tea", "drink", None, None)
    suggestion = Suggestion(
        organization="default",
        id="duplicate.1",
        finding=Topic.DUPLICATE,
        certainty=1.0,
        subjects=((Kind.MEMORY, other), (Kind.MEMORY, id)),
        found_at=world.clock(),
    )
    TidyRows(world.store.database).add("default", [suggestion])
    words = [word for number in (1, 2, 3, 4, 5) for word in words_of(number)]
    assert leftovers(tmp_path, words)
    done = erased(world, id)
    assert leftovers(tmp_path, words) == set()
    assert done.checked is not None
    assert (done.checked.traces, done.checked.alike, done.left) == ([], [], [])
    assert done.checked.pieces > 4
    with pytest.raises(NotFound):
        app.memories.read(PERSON, id)
    assert [each.id for each in world.store.find(Memory, everything("default"))] == [other]
    assert world.store.count(Version, everything("default")) == 1
    assert app.doctor.examine() == []
    (entry,) = entries(world)
    assert (entry.subject, entry.actor, entry.reason) == (id, "ana", PERSON.call.reason)
    assert (entry.before, entry.after) == ("", "")
    assert app.trail.verify("default") is None


def test_every_kind_is_erased(world: World, tmp_path: Path) -> None:
    app = world.app
    ids = [
        app.entities.create_entity(PERSON, text_of(n), "person", text_of(n + 2), None).id
        for n in (1, 2)
    ]
    ids.append(app.entities.create_relation(PERSON, ids[0], ids[1], text_of(5), 1.0).id)
    ids.append(app.get(Proposals).propose(PERSON, draft("ui", text_of(6))).id)
    app.sessions.add(PERSON, "monday", text_of(7), text_of(8), text_of(9))
    app.summaries.summarize(PERSON, "monday")
    words = [word for number in range(1, 10) for word in words_of(number)]
    records = app.get(Erasing).find(PERSON, Choice(tuple(ids), session="monday"))
    assert {each.kind for each in records} == {
        *(Kind.ENTITY, Kind.RELATION, Kind.PROPOSAL, Kind.TURN, Kind.SUMMARY)
    }
    done = app.get(Erasing).erase(PERSON, records, backups=False, from_ledger=False)
    assert done.checked is not None
    assert done.checked.traces == []
    assert leftovers(tmp_path, words) == set()
    # A relation goes with its entity, and has no entry of its own.
    assert {each.subject_kind for each in entries(world)} >= {Kind.ENTITY, Kind.PROPOSAL, Kind.TURN}


def test_a_query_finds_old_versions_and_texts_of_every_kind(world: World) -> None:
    app = world.app
    then = kept(world, "Maria  Keller calls")
    app.memories.update(PERSON, then, {"content": "Somebody calls"})
    now = kept(world, "Ask maria keller, she knows")
    kept(world, "Keller met Maria")
    entity = app.entities.create_entity(PERSON, "Maria Keller", "person", None, None).id
    turn = app.sessions.add(PERSON, "monday", "Who is Maria Keller?", "", "A guest.").id
    found = app.get(Erasing).find(PERSON, Choice(query="Maria Keller"))
    assert {each.id for each in found} == {then, now, entity, turn}
    with pytest.raises(InvalidInput):
        app.get(Erasing).find(PERSON, Choice(query="…"))
    with pytest.raises(NotFound):
        app.get(Erasing).find(PERSON, Choice(("nobody",)))


def test_what_is_a_users_is_found(world: World) -> None:
    ours = kept(world, "Tea at five")
    hers = kept(world, "Coffee at six", user="maria")
    found = world.app.get(Erasing).find(PERSON, Choice(user="maria"))
    assert [each.id for each in found] == [hers] != [ours]


def test_what_is_locked_or_anothers_stays_and_nothing_is_half_erased(world: World) -> None:
    app = world.app
    free, locked = kept(world, text_of(1)), kept(world, text_of(2))
    app.status.lock(Caller(name="ada", role=Role.ADMIN), locked)
    with pytest.raises(Locked):
        erased(world, free, locked)
    assert app.memories.read(PERSON, free).content == text_of(1)
    assert app.get(Erasing).unfinished() is None
    for role in (Role.AGENT, Role.VIEWER):
        with pytest.raises(Forbidden):
            erased(world, free, caller=Caller(name="ana", role=role))
    assert {each.outcome for each in app.trail.entries(PERSON, act=ERASE)} == {
        "Locked",
        "Forbidden",
    }


def test_the_log_of_questions_forgets_what_got_the_record(tmp_path: Path) -> None:
    with worlds(tmp_path) as open_one:
        world = open_one(ready(), recall_log="questions")
        id = kept(world, text_of(1))
        world.call("recall", query=text_of(1))
        world.app.get(RecallLog).flush()
        assert list(RecallRows(world.store.database).everything("default"))
        erased(world, id)
        assert list(RecallRows(world.store.database).everything("default")) == []
        assert leftovers(tmp_path, words_of(1)) == set()


def test_a_decision_keeps_its_place_and_loses_its_words(world: World, tmp_path: Path) -> None:
    app = world.app
    first = app.get(DecisionActs).record(PERSON, draft("room", text_of(1), rationale=text_of(2)))
    other = app.get(DecisionActs).record(PERSON, draft("tea", "Drink tea at five"))
    second = app.get(DecisionActs).supersede(
        PERSON, [first.id], draft("room", "Take the other room")
    )
    backup = tmp_path / "one" / "b.tar"
    app.get(store_backups).make(PERSON, backup)
    with pytest.raises(InvalidInput, match="--from-ledger"):
        erased(world, first.id)
    ledger = tmp_path / "one" / "ledgers" / "default"
    # Packed, as Git itself does it now and then.
    subprocess.run(["git", "-C", str(ledger), "gc", "-q"], check=True)
    found = search(Finder(pieces_of([text_of(1)])), [ledger], None)[0]
    assert {each.path.suffix for each in found} == {".pack"}
    words = words_of(1) + words_of(2)
    done = erased(world, first.id, ledger=True, backups=True)
    assert (done.rewritten, done.left) == ([backup], [])
    assert leftovers(tmp_path, words) == set()
    left = world.store.get(Decision, "default", first.id)
    assert left is not None
    assert (left.title, left.superseded_by) == ("[erased]", (second.id,))
    assert app.get(Ledgers).check() == []
    assert app.get(Ledgers).damage() == []
    assert app.doctor.examine() == []
    assert [each.reason for each in app.get(Ledgers).states(PERSON)] == [None]
    after = world.store.get(Decision, "default", other.id)
    assert after is not None
    assert after.commit_id != other.commit_id
    world.clock.turn()
    app.get(DecisionActs).record(PERSON, draft("lamp", "Hang a lamp over it"))
    assert world.store.count(Decision, everything("default")) == 4


@pytest.mark.skipif(not IS_POSSIBLE, reason="the tables of libraries are Linux's")
def test_a_lock_that_git_could_not_remove_does_not_keep_an_erasure_from_its_end(
    world: World, tmp_path: Path
) -> None:
    first = world.app.get(DecisionActs).record(
        PERSON, draft("room", text_of(1), rationale=text_of(2))
    )
    calls = Calls()
    taken = Fault(
        "no permission", {"link", "rename", "unlink"}, errno.EACCES, lasts=True, ending="main.lock"
    )
    ledger = tmp_path / "one" / "ledgers" / "default"
    with calls.hooked(), calls.failing(ledger, taken, 0) as plan:  # noqa: SIM117
        with pytest.raises(LedgerError, match="may not be written"):
            erased(world, first.id, ledger=True)
    assert plan.failed
    assert (ledger / "refs" / "heads" / "main.lock").exists()
    done = world.app.get(Erasing).resume(PERSON)
    assert done is not None
    assert done.left == []
    assert leftovers(tmp_path, words_of(1) + words_of(2)) == set()
    assert world.app.doctor.examine() == []


def test_a_history_that_is_not_ours_alone_is_left(world: World, tmp_path: Path) -> None:
    first = world.app.get(DecisionActs).record(PERSON, draft("room", text_of(1)))
    ledger = tmp_path / "one" / "ledgers" / "default"
    subprocess.run(["git", "-C", str(ledger), "tag", "then"], check=True)
    with pytest.raises(LedgerError, match="refs/tags/then"):
        erased(world, first.id, ledger=True)
    assert world.app.get(Erasing).unfinished() is None
    assert world.store.get(Decision, "default", first.id) == first


def test_backups_are_named_or_written_anew_and_can_be_restored(
    world: World, tmp_path: Path
) -> None:
    from minutebook.features.archives.copies.restores import check_restorable, unpack

    backup = tmp_path / "one" / "b.tar"
    id = kept(world, text_of(1))
    tea = kept(world, "Tea at five")
    world.app.get(store_backups).make(PERSON, backup)
    done = erased(world, id)
    assert done.checked is not None
    assert {each.path for each in done.checked.traces} == {backup}
    checked = world.app.get(Erasing).check(PERSON, [text_of(1)])
    assert {each.path for each in checked.traces} == {backup}
    other = kept(world, text_of(2))
    world.app.links.link(PERSON, other, tea)
    world.app.get(store_backups).make(PERSON, tmp_path / "one" / "c.tar")
    erased(world, other, backups=True)
    assert leftovers(tmp_path, words_of(2)) == set()
    check_restorable(tmp_path / "one" / "c.tar")
    unpack(tmp_path / "one" / "c.tar", tmp_path / "draft", None)
    with closing(SqliteStore(tmp_path / "draft" / "minutebook.db")) as store:
        assert all(prove_trail(store, name).is_sound for name in store.organizations())


def test_a_chain_is_closed_over_what_is_erased_from_a_backup(world: World, tmp_path: Path) -> None:
    from minutebook.features.archives.copies.restores import unpack

    ids = [kept(world, text) for text in ("Tea is green", text_of(1), "Tea is red")]
    for id, following in itertools.pairwise(ids):
        world.app.memories.invalidate(PERSON, id, "old", following)
    world.app.get(store_backups).make(PERSON, tmp_path / "one" / "b.tar")
    erased(world, ids[1], backups=True)
    unpack(tmp_path / "one" / "b.tar", tmp_path / "draft", None)
    with closing(SqliteStore(tmp_path / "draft" / "minutebook.db")) as store:
        memory = store.get(Memory, "default", ids[0])
        assert memory is not None
        assert memory.superseded_by == ids[2]
        assert [each.id for each in store.find(Link, everything("default"))] == [
            f"{ids[2]}.{ids[0]}"
        ]
        assert prove_trail(store, "default").is_sound


def test_what_others_say_too_is_named(world: World) -> None:
    id = kept(world, "The contract with Maria Keller ends in the month of May")
    other = kept(
        world, "We hear: the contract with Maria Keller ends in the month of May, so hurry"
    )
    done = erased(world, id)
    assert done.checked is not None
    assert [each[1:] for each in done.checked.alike] == [(Kind.MEMORY, other)]


@pytest.mark.needs("sync")
def test_copies_that_cannot_be_removed_are_told_and_the_erasure_is_ended_later(
    world: World, tmp_path: Path
) -> None:
    id = kept(world, text_of(1))
    in_the_way = tmp_path / "one" / ".sync"
    in_the_way.write_text("no folder")
    with pytest.raises(StoreError, match=r"\.sync: .*--resume"):
        erased(world, id)
    assert world.app.get(Erasing).unfinished() is not None
    in_the_way.unlink()
    assert world.app.get(Erasing).resume(PERSON) is not None
    assert world.app.get(Erasing).unfinished() is None
    assert leftovers(tmp_path, words_of(1)) == set()


def test_what_was_deleted_before_is_erased_by_itself(world: World, tmp_path: Path) -> None:
    id = kept(world, text_of(1))
    world.app.memories.delete(PERSON, id)
    assert world.app.get(Erasing).scrub(PERSON) == []
    assert leftovers(tmp_path, words_of(1)) == set()


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 2))]
)
def test_no_byte_is_left_of_random_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    # So that the indices beside the database are written, as those of many records are.
    monkeypatch.setattr(sizes, "MANY_TEXTS", 5)
    monkeypatch.setattr(sizes, "LEAST_SAVED", 4)
    chance, count = Random(seed), 14
    with worlds(tmp_path) as open_one:
        world = open_one(ready())
        app = world.app
        ids = [kept(world, text_of(n, chance.choice([1, 3, 150]))) for n in range(count)]
        for n in chance.sample(range(count), 5):
            app.memories.update(PERSON, ids[n], {"content": text_of(n, 2)})
            world.call("recall", query=text_of(n))
        chosen = set(chance.sample(range(count), 5))
        gone = [word for n in chosen for word in words_of(n)]
        assert {word for _, word in leftovers(tmp_path, gone)} == set(gone)
        done = erased(world, *(ids[n] for n in chosen))
        assert done.checked is not None
        assert done.checked.traces == []
        assert leftovers(tmp_path, gone) == set()
        for n in set(range(count)) - chosen:
            assert app.memories.read(PERSON, ids[n])
        assert world.store.upkeep.check() == []


def test_only_segments_with_a_dead_record_are_written_anew_and_none_holds_its_terms(
    tmp_path: Path,
) -> None:
    with small_index(), worlds(tmp_path) as open_one:
        world = open_one(ready())
        ids = [kept(world, text_of(n)) for n in range(12)]
        world.store.upkeep.rebuild()
        for n in range(12, 15):
            ids.append(kept(world, text_of(n)))
        erased(world, ids[13])
        before = segments(tmp_path)
        assert {term for n in (0, 14) for term in words_of(n)} <= held_terms(tmp_path)
        erased(world, ids[14], ids[3])
        assert not held_terms(tmp_path) & {word for n in (13, 14, 3) for word in words_of(n)}
        assert held_terms(tmp_path) >= {word for n in (0, 12) for word in words_of(n)}
        again = segments(tmp_path)
        erased(world, kept(world, text_of(20)))
        # What was never in a file changes none.
        assert segments(tmp_path) == again != before
        assert world.store.upkeep.check() == []


def segments(home: Path) -> list[Path]:
    return sorted(home.rglob("*.segment"))


def held_terms(home: Path) -> set[str]:
    """The words of texts, of those that the indices of words hold the digests of."""
    known = {
        term_digest(term): word for n in range(21) for word in words_of(n) for term in terms(word)
    }
    return {
        known[digest]
        for path in segments(home)
        if path.parent.name.endswith(f"-{WORDS}")
        for digest in segment.read(path, Postings, None).payload.terms.tolist()
        if digest in known
    }


def killed(home: Path, step: int, *ids: str) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "tests.features.erasure.killed_erasure", str(home), str(step), *ids],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def kill_at(home: Path, step: int) -> bool:
    """Kill an erasure at a step; see that what it left is told, and that it can be ended."""
    with worlds(home) as open_one:
        world = open_one()
        id, stays = kept(world, text_of(1)), kept(world, text_of(2))
        first = world.app.get(DecisionActs).record(PERSON, draft("room", text_of(3)))
        world.app.get(store_backups).make(PERSON, home / "one" / "b.tar")
    if not killed(home, step, id, first.id):
        return False
    words = words_of(1) + words_of(3)
    with worlds(home) as open_one:
        app = open_one().app
        order = app.get(Erasing).unfinished()
        if order is None:
            # It had not begun, or was done.
            is_there = any(each.id == id for each in app.memories.page(PERSON, 9, 0).memories)
            assert is_there or leftovers(home, words) == set()
        else:
            told = [each.remedy for each in app.doctor.examine()]
            assert "run `minutebook erase --resume`" in told
            with pytest.raises(StoreBusy):
                app.get(Erasing).erase(
                    PERSON,
                    app.get(Erasing).find(PERSON, Choice((stays,))),
                    backups=False,
                    from_ledger=False,
                )
            assert app.get(Erasing).resume(PERSON) is not None
            assert leftovers(home, words) == set()
            assert app.get(Erasing).unfinished() is None
        assert app.memories.read(PERSON, stays).content == text_of(2)
        assert app.trail.verify("default") is None
        assert [each.finding for each in app.doctor.examine()] == []
    return True


@pytest.mark.thorough
@pytest.mark.parametrize("step", [3, 9])
def test_an_erasure_that_was_killed_is_told_and_ended(tmp_path: Path, step: int) -> None:
    assert kill_at(tmp_path, step)


@pytest.mark.slow
def test_an_erasure_may_be_killed_at_any_step(tmp_path: Path) -> None:
    step = 1
    while kill_at(tmp_path / str(step), step):
        step += 1
    assert step > 15
