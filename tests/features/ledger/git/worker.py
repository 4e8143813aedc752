"""What other processes do to a ledger: `python -m tests.features.ledger.git.worker ACT WHERE PATH ARGUMENT`.

WHERE is `own` or `shared`. Each line that it prints is something that was acknowledged.
"""

import resource
import sys
from collections.abc import Callable
from pathlib import Path

from minutebook.features.ledger.git.history import read_all
from minutebook.features.ledger.git.repository import Repository
from minutebook.features.ledger.git.writer import LedgerAct
from minutebook.features.ledger.lineage import check_may_record, scoped_target, superseding
from minutebook.record.caller import Caller
from minutebook.record.errors import Decided, LedgerError
from minutebook.record.records import Decision, DecisionStatus, Role
from tests.features.ledger.git.given import act, numbered, own, perform, record, shared, supersede

CALLER = Caller(name="ana", role=Role.AGENT)


def active(ledger: Repository, head: str | None, target: str) -> list[Decision]:
    found = [] if head is None else read_all(ledger, head)
    seat = scoped_target(numbered(0, target))
    return [
        each
        for each in found
        if isinstance(each, Decision)
        and each.status is DecisionStatus.ACTIVE
        and scoped_target(each) == seat
    ]


def write(ledger: Repository, argument: str) -> None:
    """Record FIRST:COUNT decisions, each other one in the place of the one before."""
    first, count = map(int, argument.split(":"))
    earlier = None
    for number in range(first, first + count):
        if earlier is None:
            earlier = numbered(number)
            record(ledger, earlier)
        else:
            supersede(ledger, numbered(number, earlier.target), earlier)
            earlier = None
        _say(numbered(number).id)


def contend(ledger: Repository, argument: str) -> None:
    """Try to be the first on a target, then once to take its place."""
    number = int(argument)

    def first(head: str | None) -> LedgerAct:
        check_may_record(CALLER, active(ledger, head, "store"))
        return act(numbered(number, "store"))

    def later(head: str | None) -> LedgerAct:
        taking, *replaced = superseding(
            numbered(number + 100, "store"), active(ledger, head, "store")
        )
        return act(taking, *replaced)

    try:
        _say(f"won {perform(ledger, first).decisions[0].id}")
    except Decided as refused:
        _say(f"lost {refused.id}")
    _say(f"then {perform(ledger, later).decisions[0].id}")


def outgrow(ledger: Repository, argument: str) -> None:
    """Record ever more until the disk, or the size that files may have, is used up."""
    if argument != "disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(argument), int(argument)))
    for number in range(100_000):
        size = 10 if argument == "disk" else number
        try:
            record(ledger, numbered(number, rationale=" ".join(map(str, range(100 * size)))))
        except LedgerError as error:
            _say(f"LedgerError {error.reason} / {error.remedy}")
            return
        _say(numbered(number).id)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


ACTS: dict[str, Callable[[Repository, str], None]] = {
    "write": write,
    "contend": contend,
    "outgrow": outgrow,
}

if __name__ == "__main__":
    ledger = {"own": own, "shared": shared}[sys.argv[2]](Path(sys.argv[3]))
    ledger.wait = 60.0
    ACTS[sys.argv[1]](ledger, sys.argv[4])
