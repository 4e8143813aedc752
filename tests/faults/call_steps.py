"""Steps through the calls of a use case, one failing at a time, and holds what is left to the promises."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from minutebook.record.errors import Fault as OurMistake
from minutebook.record.errors import MinutebookError
from minutebook.record.records import Decision, LedgerMark
from tests.faults.invariants import Acknowledged, of_app, of_folder
from tests.faults.use_cases import (
    BEFORE,
    DOCTOR,
    IN_PARTS,
    OUTSIDE,
    OWNER,
    READS,
    WRITES,
    Ground,
    Records,
)

_ANY_NAME = re.compile("[0-9a-f]{6,}|(?<=objects/)[0-9a-f]{2}")
"""What of a path is another one each time, or stands for many: Git's objects, parts of files."""


class Plan(Protocol):
    """What fails: a fault, at the call of a number; `reached` are the calls that were made, `failed` counts those that failed."""

    fault: Any
    number: int
    reached: list[str]
    failed: int


class Seam(Protocol):
    """Where calls are made to fail."""

    def failing(self, root: Path, fault: Any, number: int) -> AbstractContextManager[Plan]:
        """Make the call of a number fail, of those that this thread makes and a fault concerns."""


MAY_BE_DONE = (" in Git", "look whether the write took place")
"""How an error says that what was asked for may be done."""


@dataclass(frozen=True)
class Outcome:
    """What a use case answers and leaves where nothing fails."""

    answer: str
    records: Records


@dataclass
class Step:
    """What came of a use case, one of whose calls failed."""

    plan: Plan
    error: Exception | None
    faults: list[str]
    """What did not hold."""

    def told(self, name: str) -> list[str]:
        """Return what did not hold, each with the use case and the call that failed."""
        number = min(self.plan.number, len(self.plan.reached) - 1)
        call = self.plan.reached[number] if self.plan.reached else "no call"
        return [f"{name}: {self.plan.fault} at {call}: {each}" for each in self.faults]


class Stepper:
    """Runs use cases on copies of a data directory."""

    def __init__(self, ground: Ground, seam: Seam, scratch: Path) -> None:
        self._ground = ground
        self._seam = seam
        self._scratch = scratch
        self._number = 0
        self._outcomes: dict[str, Outcome] = {}

    def numbers(self, name: str, fault: object) -> list[int]:
        """Return the numbers of the calls of a use case that are to fail, of those that a fault concerns.

        Of like calls on one file these are the first two, the one in the middle and the last.
        """
        with (
            self._copy() as ground,
            self._running(name, ground) as run,
            self._seam.failing(ground.folder, fault, 1 << 30) as plan,
        ):
            run()
        alike: dict[str, list[int]] = {}
        for number, call in enumerate(plan.reached):
            alike.setdefault(_ANY_NAME.sub("*", call), []).append(number)
        return sorted(
            {each[at] for each in alike.values() for at in (0, len(each) > 1, len(each) // 2, -1)}
        )

    def step(self, name: str, fault: object, number: int) -> Step:
        """Run a use case whose call of a number fails, then hold what is there to the promises."""
        expected = self._expected(name)
        with self._copy() as ground:
            before = _records(ground)
            error: Exception | None = None
            answer: object = None
            faults: list[str] = []
            with self._running(name, ground) as run:
                with self._seam.failing(ground.folder, fault, number) as plan:
                    try:
                        answer = run()
                    except Exception as raised:
                        error = raised
                if error is not None:
                    faults += _wrong_with(error)
                after = _records(ground)
                faults += _half_done(name, error, before, after, expected.records)
                if error is not None:
                    faults += self._again(name, error, run)
                elif name != DOCTOR or not answer:
                    # What it finds is how the doctor tells that it could not read.
                    faults += _another_answer(name, answer, expected)
            if not plan.failed:
                return Step(plan, error, faults)
            faults += self._left(ground)
        return Step(plan, error, faults)

    def _again(self, name: str, first: Exception, run: Callable[[], object]) -> Iterator[str]:
        try:
            answer = run()
        except MinutebookError as error:
            # What it was to do may be done: then the first error said so.
            if not any(each in str(first) for each in MAY_BE_DONE):
                yield f"again: {error!r}, after {first!r}"
        except Exception as error:
            yield f"again: {type(error).__name__}: {error}"
        else:
            yield from _another_answer(name, answer, self._expected(name))

    def _left(self, ground: Ground) -> Iterator[str]:
        with closing(ground.open()) as app:
            found = of_app(app, Acknowledged())
            # One use case sets another secret than the one that is set here.
            yield from (each for each in found if not each.startswith("The secret that is set"))
        yield from of_folder(ground.settings)

    def _expected(self, name: str) -> Outcome:
        if name not in self._outcomes:
            with self._copy() as ground, self._running(name, ground) as run:
                self._outcomes[name] = Outcome(repr(run()), _records(ground))
        return self._outcomes[name]

    @contextmanager
    def _running(self, name: str, ground: Ground) -> Iterator[Callable[[], object]]:
        if name in OUTSIDE:
            BEFORE.get(name, lambda _: None)(ground)
            yield lambda: OUTSIDE[name](ground)
            return
        with closing(ground.open()) as app:
            # What is composed or opened at the first call is no part of the act.
            app.memories.read(OWNER, ground.given.memories[0])
            yield lambda: (WRITES | READS)[name](app, ground)

    @contextmanager
    def _copy(self) -> Iterator[Ground]:
        folder = self._scratch / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        yield self._ground.copied(folder)


def _records(ground: Ground) -> Records:
    # A commit that is tried twice has another id.
    return {
        key: replace(each, commit_id=None) if isinstance(each, Decision) else each
        for key, each in ground.records().items()
        if not isinstance(each, LedgerMark)
    }


def _wrong_with(error: Exception) -> Iterator[str]:
    if not isinstance(error, MinutebookError) or isinstance(error, OurMistake):
        yield f"no error of ours: {type(error).__module__}.{type(error).__name__}: {error}"


def _half_done(
    name: str, error: Exception | None, before: Records, after: Records, expected: Records
) -> Iterator[str]:
    if error is None and after != expected:
        yield f"acknowledged, but another outcome: {_difference(after, expected)}"
    if error is not None and name not in IN_PARTS and after not in (before, expected):
        yield f"half there: {_difference(after, before)}"


def _another_answer(name: str, answer: object, expected: Outcome) -> Iterator[str]:
    if name in READS and repr(answer) != expected.answer:
        yield f"another answer: {answer!r:.300}"


def _difference(some: Records, others: Records) -> str:
    keys = [key for key in some.keys() | others.keys() if some.get(key) != others.get(key)]
    return ", ".join(" ".join(map(str, key)) for key in sorted(keys)[:4]) + f" ({len(keys)})"
