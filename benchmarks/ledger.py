"""What an act costs in Git as a ledger grows, and what it costs to start and to read it all back.

`python -m benchmarks.ledger [--quick]`. A ledger of N decisions is made with N commits that all hold
them, so that both its tree and its history have that size; what a commit holds is read from the disk
as it lies there, one file an object.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2

from benchmarks.measure import Table, Timing, asked, machine, publish, timed, timed_in_turn
from minutebook.features.ledger.git import markdown
from minutebook.features.ledger.git.history import changes_since, read_all
from minutebook.features.ledger.git.repository import Repository
from minutebook.features.ledger.git.trees import with_files
from minutebook.features.ledger.git.writer import LedgerAct, locked_writer
from minutebook.features.ledger.lineage import superseding
from minutebook.record.ids import decision_id
from minutebook.record.records import Authorship, Decision, DecisionStatus
from minutebook.store.file_locks import HeldFile

START = datetime(2026, 1, 1, tzinfo=UTC)
ROUNDS = 100


def alone() -> AbstractContextManager[HeldFile]:
    return nullcontext(HeldFile())


def decision(number: int) -> Decision:
    at = START + timedelta(seconds=number)
    return Decision(
        organization="default",
        id=decision_id(at, lambda _: number),
        target=f"module {number} storage",
        title=f"Keep what module {number} knows in one file",
        rationale="One file is copied, moved and opened by one name. " * 6,
        status=DecisionStatus.ACTIVE,
        authorship=Authorship.AGENT,
        author="claude-code",
        created_at=at,
        consequences=("One writer at a time.", "Backups are copies."),
    )


def commit(ledger: Repository, *decisions: Decision) -> str:
    first = decisions[0]
    act = LedgerAct(
        id=first.id,
        summary=f"Record: {first.title}",
        author=first.author,
        authorship=first.authorship,
        at=first.created_at,
        decisions=decisions,
    )
    with locked_writer(ledger) as writer:
        return writer.repeat(lambda: writer.commit(act)).id


def grown(ledger: Repository, size: int) -> None:
    opened = ledger.open()
    # What is measured waits for the disk; what it starts from need not.
    pygit2.settings.enable_fsync_gitdir(False)
    files = {
        ledger.layout.path(each): opened.create_blob(markdown.render(each))
        for each in map(decision, range(size))
    }
    tree = with_files(opened, ledger.objects(opened), None, files)
    at: list[pygit2.Oid] = []
    for number in range(size):
        signature = pygit2.Signature("x", "x@example.org", int(START.timestamp()) + number, 0)
        at = [opened.create_commit(None, signature, signature, "nothing", tree, at)]
    opened.create_reference_direct("refs/heads/main", at[0], force=False)


def rows_of(size: int, rounds: int) -> Iterator[tuple[str | int | float, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Repository.managed(Path(folder) / "ledger", "default", alone)
        grown(ledger, size)

        def supersede(number: int) -> None:
            old = decision(number)
            new = replace(decision(2 * 10**6 + number), target=old.target)
            taking, *replaced = superseding(new, [old])
            commit(ledger, taking, *replaced)

        def start(_: int) -> None:
            changes_since(ledger, mark)

        hasty = Repository.managed(ledger.path, "default", alone, "normal")
        works = {
            "record": (lambda number: commit(ledger, decision(10**6 + number)), time.process_time),
            "record, not flushed": (
                lambda number: commit(hasty, decision(4 * 10**6 + number)),
                time.process_time,
            ),
        }
        for what, timing in timed_in_turn(works, rounds).items():
            yield row(size, what, timing)
        yield row(size, "supersede", timed(supersede, min(rounds, size - 3)))
        mark = ledger.head()
        yield row(size, "start, nothing new", timed(start, rounds))
        mark = commit(ledger, decision(3 * 10**6))
        for number in range(10):
            commit(ledger, decision(3 * 10**6 + 1 + number))
        yield row(size, "start, ten new", timed(start, min(rounds, 20)))
        yield row(size, "read all", timed(lambda _: read_all(ledger, mark or ""), 1, warm=0))
        yield row(size, "check all", timed(lambda _: changes_since(ledger, None), 1, warm=0))
        shutil.rmtree(folder, ignore_errors=True)


def row(size: int, what: str, timing: Timing) -> tuple[str | int | float, ...]:
    return size, what, timing.p50, timing.p99, timing.cpu


def main() -> int:
    given = asked(__doc__ or "").parse_args()
    sizes = (10, 1000) if given.quick else (10, 1000, 100_000)
    method = {**machine(), "rounds": ROUNDS, "started": time.strftime("%H:%M")}
    told = [line for size in sizes for line in rows_of(size, 20 if given.quick else ROUNDS)]
    columns = ("decisions", "what", "p50", "p99", "CPU")
    table = Table("An act in Git, milliseconds", columns, told)
    publish("ledger", method, [table], quick=given.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
