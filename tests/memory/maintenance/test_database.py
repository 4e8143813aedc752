"""The engine beneath the store, started and stopped by several connections of one process."""

import os
import threading
from dataclasses import replace

import pytest

from minutebook.memory.maintenance.database import HealthStatus
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import Forbidden, StoreClosed
from minutebook.record.records import Kind, Memory, Role, Turn
from tests.world import Opener, World, everything, failed, loading, wait_until


def connected(world: World, session: str) -> Caller:
    world.app.database.acquire(session)
    return with_call(world.caller, session=session)


def count(world: World) -> int:
    return world.store.count(Memory, everything("default"))


def test_what_was_kept_is_there_when_a_stopped_store_is_started(world: World) -> None:
    id = world.remember("Ana likes tea")
    one, database = connected(world, "one"), world.app.database
    assert database.stop(one) is True
    assert database.pid(one) is None
    with pytest.raises(StoreClosed):
        count(world)
    with pytest.raises(StoreClosed):
        database.check_open(one)
    assert database.stop(one) is False
    assert database.start(one) is True
    assert database.start(one) is False
    assert database.pid(one) == os.getpid()
    database.check_open(one)
    assert world.ids("search", query="tea") == [id]
    assert world.remember("Ben likes tea") in world.ids("search_text", query="tea")


def test_one_connections_stop_takes_nothing_from_another(world: World) -> None:
    one, other = connected(world, "one"), connected(world, "other")
    database = world.app.database
    database.stop(one)
    database.check_open(other)
    assert count(world) == 0
    assert database.pid(one) is None
    assert database.pid(other) == os.getpid()
    with pytest.raises(StoreClosed):
        database.check_open(one)
    database.stop(other)
    with pytest.raises(StoreClosed):
        count(world)
    database.start(other)
    with pytest.raises(StoreClosed):
        database.check_open(one)
    assert count(world) == 0


def test_a_new_connection_wants_the_store_that_all_others_have_stopped(world: World) -> None:
    one = connected(world, "one")
    world.app.database.stop(one)
    other = connected(world, "other")
    world.app.database.check_open(other)
    assert count(world) == 0
    # One that has stopped it does not get it back by calling again.
    world.app.database.acquire("one")
    with pytest.raises(StoreClosed):
        world.app.database.check_open(one)


def test_a_connection_that_left_holds_the_store_open_no_longer(world: World) -> None:
    one, _ = connected(world, "one"), connected(world, "other")
    world.app.database.release("other")
    world.app.database.stop(one)
    with pytest.raises(StoreClosed):
        count(world)


def test_a_viewer_neither_starts_nor_stops(world: World) -> None:
    viewer = replace(connected(world, "one"), role=Role.VIEWER)
    for act in (world.app.database.start, world.app.database.stop):
        with pytest.raises(Forbidden):
            act(viewer)
    assert count(world) == 0


def test_a_stop_waits_for_the_write_under_way(world: World) -> None:
    one, inside, may_go_on = connected(world, "one"), threading.Event(), threading.Event()
    kept: list[str] = []

    def write() -> None:
        with world.store.transaction("default"):
            inside.set()
            may_go_on.wait(60)
            kept.append(world.remember("Ana likes tea"))

    writer = threading.Thread(target=write)
    writer.start()
    assert inside.wait(60)
    stopper = threading.Thread(target=world.app.database.stop, args=(one,))
    stopper.start()
    may_go_on.set()
    writer.join(60)
    stopper.join(60)
    world.app.database.start(one)
    assert world.memory(kept[0]).content == "Ana likes tea"


def test_health_tells_what_it_read(world: World) -> None:
    one = connected(world, "one")
    health = world.app.database.health(one)
    assert (health.pulse, health.pid, health.details) == (HealthStatus.HEALTHY, os.getpid(), ())
    assert health.counts == {Kind.TURN: 0, Kind.SUMMARY: 0}
    world.app.sessions.add(one, None, "hello", "", "")
    assert world.app.database.health(one).counts == {Kind.TURN: 1, Kind.SUMMARY: 0}
    world.app.database.stop(one)
    stopped = world.app.database.health(one)
    assert (stopped.pulse, stopped.pid, stopped.counts) == (HealthStatus.UNHEALTHY, None, None)
    assert "start_database" in stopped.details[0]


def test_health_is_told_at_once_while_another_writes_and_the_model_loads(opener: Opener) -> None:
    release = threading.Event()
    world = opener(loading(release))
    one = connected(world, "one")
    with world.store.transaction("default"):
        told: list[HealthStatus] = []
        asker = threading.Thread(target=lambda: told.append(world.app.database.health(one).pulse))
        asker.start()
        asker.join(60)
        assert told == [HealthStatus.DEGRADED]
    release.set()


def test_health_is_degraded_without_a_model(opener: Opener) -> None:
    world = opener(failed())
    world.app.start()
    with pytest.raises(Exception, match="damaged"):
        world.app.embedding.wait(60)
    health = world.app.database.health(connected(world, "one"))
    assert health.pulse is HealthStatus.DEGRADED
    assert "words alone" in health.details[0]


def test_a_store_that_cannot_be_read_is_unhealthy(world: World) -> None:
    one = connected(world, "one")
    path = world.file_store.database._path
    world.remember("Ana likes tea")
    world.app.database.stop(one)
    for file in path.parent.glob(f"{path.name}*"):
        if file.is_file():
            file.write_bytes(b"this is no database " * 1000)
    with pytest.raises(Exception, match="database"):
        world.app.database.start(one)
    health = world.app.database.health(one)
    assert health.pulse is HealthStatus.UNHEALTHY
    assert health.counts is None


def test_background_work_waits_for_the_start(opener: Opener) -> None:
    world = opener()
    world.app.start()
    one = connected(world, "one")
    world.app.database.stop(one)
    world.app.database.start(one)
    turn = world.app.sessions.add(one, None, "word " * 5000, "", "")
    wait_until(lambda: world.store.vectors(Turn, turn.organization, turn.id) is not None)
