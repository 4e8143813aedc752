"""A process that sleeps with what it holds, as on a machine that is suspended: the others are told, and it goes on as it may."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from minutebook.app import open_app
from minutebook.config import settings_with, stores
from minutebook.features.postgres.store import PostgresStore
from minutebook.record.caller import Caller
from minutebook.record.errors import StoreBusy
from minutebook.record.records import Entity, Memory, MemoryType, Role
from minutebook.record.writing.drafts import Draft
from minutebook.store.file_locks import FileLocks
from tests.faults.invariants import Acknowledged, check
from tests.features.postgres.engine import PostgresEngine
from tests.features.postgres.server import server
from tests.world import everything, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are used")

ANA = Caller(name="ana", role=Role.HUMAN)

IN_A_TRANSACTION = """
import sys
from pathlib import Path
from minutebook.store.file_locks import FileLocks
from minutebook.record.records import Kind
from minutebook.memory.access.audit import Trail
from minutebook.store.sqlite import SqliteStore
from tests.store.samples import entity
from tests.faults.test_sleep import ANA
from tests.world import NOON
home = Path(sys.argv[1])
store = SqliteStore(home / "minutebook.db")
trail = Trail(store, lambda: NOON)
with (
    FileLocks(home / "claims").hold("sync"),
    trail.audited(ANA, "default", "create", Kind.ENTITY, "a") as audit,
):
    audit.check()
    store.put(entity("a", "Kept over a sleep", organization="default"))
    print("asleep", flush=True)
    sys.stdin.readline()
store.close()
print("kept", flush=True)
"""

WITH_A_LEASE = """
import sys
from minutebook.record.errors import StoreBusy
from minutebook.store.leases import LeaseLocks
from minutebook.features.postgres.store import PostgresStore
from tests.store.samples import entity
from pathlib import Path
store = PostgresStore(sys.argv[1], Path(sys.argv[2]))
with LeaseLocks(store.database.leases, 2.0).hold("sync") as lease:
    print("asleep", flush=True)
    sys.stdin.readline()
    try:
        with store.transaction("default"):
            store.put(entity("a", "Never kept", organization="default"))
            lease.check()
        print("kept", flush=True)
    except StoreBusy as error:
        print(error, flush=True)
store.close()
"""


@contextmanager
def asleep(program: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """Run a program until it is asleep; it wakes up at the end of the block, if it has not."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asleep\n"
        process.send_signal(signal.SIGSTOP)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)


def woken(process: "subprocess.Popen[str]") -> str:
    """Wake a process; return what it says at its end."""
    os.kill(process.pid, signal.SIGCONT)
    return process.communicate("\n", timeout=60)[0].strip()


def test_who_sleeps_within_a_write_keeps_its_claim_and_others_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "WRITER_WAIT", 0.3)
    settings = settings_with(home=tmp_path / "home", embedder="none")
    said = Acknowledged()
    with closing(open_app(settings)) as app:
        app.memories.store(ANA, Draft(content="Before", type=MemoryType.FACT))
        with asleep(IN_A_TRANSACTION, settings.home) as process:
            with pytest.raises(StoreBusy, match="another process is writing"):
                app.memories.store(ANA, Draft(content="Meanwhile", type=MemoryType.FACT))
            assert FileLocks(settings.claims).is_held("sync")
            assert app.memories.page(ANA, 10, 0).total == 1
            assert woken(process) == "kept"
        assert not FileLocks(settings.claims).is_held("sync")
        app.memories.store(ANA, Draft(content="After", type=MemoryType.FACT))
    said.note(Memory, "Before", "After")
    said.note(Entity, "Kept over a sleep")
    check(settings.home, said)


@pytest.mark.slow
@pytest.mark.usefixtures("postgres")
def test_who_slept_longer_than_its_lease_writes_nothing_under_it(tmp_path: Path) -> None:
    with PostgresEngine().fresh(tmp_path / "store") as store:
        assert isinstance(store, PostgresStore)
        url = server().url((tmp_path / "store" / "database").read_text())
        with asleep(WITH_A_LEASE, url, tmp_path / "other") as process:
            wait_until(lambda: not store.database.leases.is_taken("sync"))
            assert store.database.leases.take("sync", "another", 60)
            answer = woken(process)
        assert "another may do the same work by now; nothing was written" in answer
        assert store.find(Entity, everything("default")) == []
        assert store.database.leases.is_taken("sync")
