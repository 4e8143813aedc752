"""Run the tests in processes that are forked once all is collected: `-p tests.workers --workers 3`.

To import the test modules and collect their tests takes 7 s of processor time, which pytest-xdist spends in
each of its processes; here it is spent once. The tests of a module run in one process, one after the other,
so that its fixtures are made once, and so do modules that share a fixture of the session; a process that has nothing left to do takes over half of what another
has before it. If a process dies, the test that it ran has failed, and another process runs the rest; a process
whose test takes longer than `HUNG` writes where its threads stand, and dies.

At the end stands what processor time the run took, and the files whose tests took most of it.

Where there is no `fork`, and with `--workers 1`, one process runs everything.
"""

import atexit
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import pytest
from _pytest.capture import FDCapture

from tests import forkserver

AHEAD = 2
"""Tests that a process knows of: the one that it runs, and the next, whose fixtures are kept."""


HUNG = 600
"""Seconds that a test may take."""

DEAREST = 10
"""Files that are named for what their tests cost."""

SPENT = pytest.StashKey[Counter[str]]()
"""Seconds of processor time that the tests of each file took, with the processes that they started."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, help="processes that run tests")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Show what the tests cost."""
    if spent := config.stash.get(SPENT, None):
        tests = f"{spent.total():.0f} s in tests, {len(spent)} files"
        terminalreporter.section(f"processor time: {_processor_time():.0f} s, of it {tests}")
        for path, seconds in spent.most_common(DEAREST):
            terminalreporter.line(f"{seconds:6.1f} s {path}")


def _processor_time() -> float:
    """Return the seconds that this process, and those that it waited for or had forked, took so far."""
    return sum(os.times()[:4]) + forkserver.server.spent


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    option = session.config.option
    is_cut_short = session.testsfailed and not option.continue_on_collection_errors
    if option.workers < 2 or not hasattr(os, "fork") or option.collectonly or is_cut_short:
        return None
    if sys.platform == "linux":
        threads = [*Path("/proc/self/task").iterdir()]
        assert len(threads) == 1, f"a module that was imported has started threads: {threads}"
    Crew(session).run(min(option.workers, len(session.items)))
    return True


@dataclass(eq=False)
class Worker:
    """A process, the places of the tests that it was told of, and of those that are kept for it."""

    process: ForkProcess
    connection: Connection
    told: deque[int] = field(default_factory=deque)
    kept: deque[int] = field(default_factory=deque)
    began: float | None = None
    """When it began with the first test that it was told of, if it has."""


class Crew:
    """The processes of a run, as seen by the one that reports what came of each test."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._hook = session.config.hook
        self._spent = session.config.stash[SPENT] = Counter()
        self._waiting = deque(_together(session.items))
        self._workers: dict[Connection, Worker] = {}

    def run(self, count: int) -> None:
        """Run all tests in so many processes; raises as pytest's own loop does if it is to stop."""
        config = self._session.config
        # Made here, so that all processes share it and this one removes it.
        config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        if forkserver.is_installed():
            forkserver.server.start()
        if (reporter := config.pluginmanager.getplugin("terminalreporter")) is not None:
            # Results of several files come at once.
            reporter.showfspath = False
        try:
            self._run_all(count)
        finally:
            for worker in self._workers.values():
                worker.process.terminate()
                worker.process.join()
            # Whoever is waited for is counted.
            forkserver.server.close()
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _run_all(self, count: int) -> None:
        for _ in range(count):
            self._hire()
        while self._workers:
            for each in wait([*self._workers], HUNG / 10):
                self._hear(self._workers[each])  # type: ignore[index]
            for worker in self._workers.values():
                if worker.began is not None and time.monotonic() - worker.began > HUNG:
                    # pytest has enabled faulthandler, which writes the stack of each thread.
                    os.kill(worker.process.pid or 0, signal.SIGABRT)

    def _report(self, worker: Worker, report: pytest.TestReport) -> None:
        """Report what came of the test that a process runs."""
        self._session.items[worker.told[0]].ihook.pytest_runtest_logreport(report=report)

    def _hire(self) -> None:
        here, there = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        process = context.Process(target=_work, args=(self._session, there, here))
        process.start()
        there.close()
        worker = self._workers[here] = Worker(process, here)
        for _ in range(AHEAD):
            self._tell(worker)

    def _tell(self, worker: Worker) -> None:
        """Tell a process of its next test, or that there is none."""
        place = None if self._session.shouldfail or self._session.shouldstop else self._next(worker)
        if place is not None:
            worker.told.append(place)
        # If it has died meanwhile, `_hear` comes to the end of what it has sent.
        with suppress(OSError):
            worker.connection.send(place)

    def _next(self, worker: Worker) -> int | None:
        if not worker.kept and self._waiting:
            worker.kept = self._waiting.popleft()
        elif not worker.kept:
            longest = max((each.kept for each in self._workers.values()), key=len)
            worker.kept = deque([longest.pop() for _ in range(len(longest) // 2)][::-1])
        return worker.kept.popleft() if worker.kept else None

    def _hear(self, worker: Worker) -> None:
        try:
            what, told = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._miss(worker)
            return
        item = self._session.items[worker.told[0]] if worker.told else None
        match what, item:
            case "start", pytest.Item():
                worker.began = time.monotonic()
                self._hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
                self._tell(worker)
            case "finish", pytest.Item():
                seconds, reports = told
                for data in reports:
                    report = self._hook.pytest_report_from_serializable(
                        config=self._session.config, data=data
                    )
                    self._report(worker, report)
                self._spent[item.nodeid.partition("::")[0]] += seconds
                worker.began = None
                worker.told.popleft()
                self._hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            case "warning", _:
                told["warning_message"] = warnings.WarningMessage(**told["warning_message"])
                self._hook.pytest_warning_recorded.call_historic(kwargs=told)

    def _miss(self, worker: Worker) -> None:
        """See that a process has ended: its work is done, or it died of a test."""
        del self._workers[worker.connection]
        worker.connection.close()
        worker.process.join()
        if worker.began is not None:
            item = self._session.items[worker.told[0]]
            how = f"the process that ran it ended with {worker.process.exitcode}"
            report = pytest.TestReport(
                item.nodeid, item.location, {}, "failed", how, "call", user_properties=()
            )
            self._report(worker, report)
            worker.told.popleft()
            self._hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        elif worker.process.exitcode:
            raise self._session.Failed("a process ended between two tests; its stderr says why")
        if left := worker.told + worker.kept:
            self._waiting.appendleft(left)
            self._hire()


def _together(items: Sequence[pytest.Item]) -> list[deque[int]]:
    """Return the places of tests that one process is to run, first those that share dear fixtures."""
    modules: dict[Path, deque[int]] = {}
    shared: dict[Path, str] = {}
    for place, item in enumerate(items):
        modules.setdefault(item.path, deque()).append(place)
        if name := _of_the_session(item):
            shared[item.path] = name
    groups: dict[str, deque[int]] = {}
    for path in shared:
        groups.setdefault(shared[path], deque()).extend(modules.pop(path))
    return [*groups.values(), *modules.values()]


def _of_the_session(item: pytest.Item) -> str:
    """Name the first fixture of the session that a test asks for and a conftest has; empty if there is none."""
    known = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    ours = [
        name for name, found in known.items() if found[-1].baseid and found[-1].scope == "session"
    ]
    return ours[0] if ours else ""


# The worker


def _work(session: pytest.Session, connection: Connection, others: Connection) -> None:
    """Run the tests that come over a connection, and send what comes of them."""
    others.close()
    atexit._clear()
    forkserver.server.adopt()
    plugins = session.config.pluginmanager
    _capture_apart(plugins.getplugin("capturemanager"))
    plugins.unregister(name="terminalreporter")
    messenger = Messenger(session.config, connection)
    plugins.register(messenger)
    # Only now: a plugin hears again of every warning there was.
    messenger.hears_warnings = True
    try:
        for item, following in _given(session, connection):
            connection.send(("start", None))
            before = _processor_time()
            # What logs the beginning and the end of a test does so in the parent.
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            connection.send(("finish", (_processor_time() - before, messenger.reports)))
            messenger.reports = []
    except (KeyboardInterrupt, ConnectionError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    finally:
        # A process of `multiprocessing` ends without them: servers that tests share end here.
        atexit._run_exitfuncs()


def _capture_apart(manager: Any) -> None:
    """Capture output into files of this process; those of the parent, by the same descriptors, are shared."""
    captured = manager._global_capturing
    manager.suspend_global_capture()
    for stream in (captured.out, captured.err):
        if isinstance(stream, FDCapture):
            with tempfile.TemporaryFile(buffering=0) as own:
                os.dup2(own.fileno(), stream.tmpfile.fileno())
    manager.resume_global_capture()


def _given(
    session: pytest.Session, connection: Connection
) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield the tests that the parent tells of, each with the one that follows."""
    place, following = connection.recv(), connection.recv()
    while place is not None:
        yield session.items[place], None if following is None else session.items[following]
        place, following = following, connection.recv()


class Messenger:
    """Sends to the parent what is to be reported."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config = config
        self._connection = connection
        self.hears_warnings = False
        self.reports: list[Any] = []
        """What came of the test that runs; it is sent when that has ended."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self.reports.append(data)

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: Any
    ) -> None:
        if not self.hears_warnings:
            return
        told = {
            "message": str(warning_message.message),
            "category": warning_message.category,
            "filename": warning_message.filename,
            "lineno": warning_message.lineno,
        }
        self._connection.send(
            (
                "warning",
                {"warning_message": told, "when": when, "nodeid": nodeid, "location": location},
            )
        )
