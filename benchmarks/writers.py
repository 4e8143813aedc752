"""Writers that keep writing memories by the services while something happens to the database."""

import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.measure import Cell
from minutebook.app import App, open_app
from minutebook.config import settings_with
from minutebook.record.caller import Caller
from minutebook.record.errors import MinutebookError
from minutebook.record.filters import Filter
from minutebook.record.records import Memory, MemoryType
from minutebook.record.writing.drafts import Draft

ORGANIZATIONS = tuple(f"team-{number}" for number in range(8))
AFTER_ERROR = 0.1
"""Seconds after which a writer tries again."""

COLUMNS = ("what", "writers", "acknowledged", "lost", "breaks", "errors", "longest pause, s")


@dataclass
class Writer:
    """What one organization's writer was told."""

    organization: str
    acknowledged: list[str] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def longest_pause(self) -> float:
        """The most seconds from one acknowledgement to the next."""
        return max(
            (later - one for one, later in zip(self.at, self.at[1:], strict=False)), default=0
        )


@contextmanager
def writing(apps: Mapping[str, App]) -> Iterator[dict[str, Writer]]:
    """Have a thread write memories for each organization, by its app, until the block ends."""
    writers = {name: Writer(name) for name in apps}
    stop = threading.Event()

    def write(writer: Writer, app: App) -> None:
        caller = caller_of(app, writer.organization)
        while not stop.is_set():
            try:
                memory = store(app, caller, len(writer.at))
            except MinutebookError as error:
                writer.errors.append(f"{error}")
                stop.wait(AFTER_ERROR)
            else:
                writer.acknowledged.append(memory.id)
                writer.at.append(time.monotonic())

    threads = [threading.Thread(target=write, args=(writers[name], apps[name])) for name in apps]
    for thread in threads:
        thread.start()
    try:
        yield writers
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def caller_of(app: App, organization: str) -> Caller:
    """Return an agent of an organization."""
    return replace(settings_with(home=Path()).caller(), organization=organization)


def store(app: App, caller: Caller, number: int) -> Memory:
    """Write one memory as an agent does."""
    text = f"note {number}: the invoice service retries {number % 7} times before it gives up"
    return app.memories.store(caller, Draft(content=text, type=MemoryType.SEMANTIC))


def judged(what: str, app: App, known: Sequence[Writer], of: str) -> tuple[Cell, ...]:
    """Return the row of some writers: what they were told, and what is there."""
    lost = breaks = 0
    for writer in known:
        everything = Filter(organization=writer.organization, with_deleted=True)
        there = set(app.infrastructure.store.ids(Memory, everything, ()))
        lost += len(set(writer.acknowledged) - there)
        breaks += app.trail.verify(writer.organization) is not None
    for error in sorted({error for writer in known for error in writer.errors})[:3]:
        print(f"  {what}, {of}: {error[:200]}")
    return (
        *(what, of, sum(len(writer.acknowledged) for writer in known), lost, breaks),
        sum(len(writer.errors) for writer in known),
        max(writer.longest_pause for writer in known),
    )


@contextmanager
def app_on(url: str) -> Iterator[App]:
    """Open an app on a database, without a model and with indices of its own."""
    with tempfile.TemporaryDirectory() as home:
        settings = settings_with(home=Path(home), store=url, embedder="none")
        with closing(open_app(settings)) as app:
            yield app
