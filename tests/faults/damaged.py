"""A process that uses a data directory whose files were damaged, or under limits of its machine.

`python -m tests.faults.damaged HOME [LIMIT WARM]` prints as JSON what it read, what each use raised, and what the doctor
found before and after a repair. What is under a limit first uses WARM, so that all is imported.
"""

import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

from minutebook.app import open_app
from minutebook.config import load
from minutebook.features.hooks import log as hook_log
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.record.caller import Caller
from minutebook.record.errors import Fault, MinutebookError
from minutebook.record.json_lines import line_of
from minutebook.record.records import CLASSES, Kind, MemoryType, Role
from minutebook.record.writing.decision_drafts import DecisionDraft
from minutebook.record.writing.drafts import Draft
from minutebook.text.fusion import Signal
from tests.terminal import typed
from tests.world import everything

OWNER = Caller(name="ana", role=Role.ADMIN, writes_system=True)

_KINDS = {kind: of for kind, of in CLASSES.items() if kind not in (Kind.TOKEN, Kind.HEAD)}


@dataclass
class Told:
    """What came of a data directory's use."""

    records: dict[str, str] = field(default_factory=dict)
    """A digest of each record that was read, by its kind and id."""
    found: list[str] = field(default_factory=list)
    """The memories that a search found, in order."""
    errors: list[str] = field(default_factory=list)
    """What uses raised, in our words."""
    mistakes: list[str] = field(default_factory=list)
    """What uses raised that is no error of ours."""
    findings: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """What the doctor still found after a repair."""

    def attempt(self, act: Callable[[], object]) -> None:
        """Run an act; note what it raises."""
        try:
            act()
        except MinutebookError as error:
            kept = self.mistakes if isinstance(error, Fault) else self.errors
            kept.append(f"{type(error).__name__}: {error}")
        except Exception as error:
            self.mistakes.append(f"{type(error).__module__}.{type(error).__name__}: {error}")

    def use(self, home: Path) -> None:
        """Open the store, read and search it, and write to it."""
        settings = load({"home": str(home), "embedder": "none"})
        with closing(open_app(settings)) as app:
            app.start()
            store = app.infrastructure.store

            def read() -> None:
                for name in store.organizations():
                    for kind, of in _KINDS.items():
                        for each in store.each(of, everything(name), ()):
                            digest = sha256(line_of(each)).hexdigest()
                            self.records[f"{kind} {each.id}"] = digest

            def search() -> None:
                weights = dict.fromkeys(Signal, 1.0)
                answer = app.recall.recall(OWNER, "tea at five", 5, weights)
                self.found = [each.record.id for each in answer.hits]

            self.attempt(lambda: hook_log.entries(str(home)))
            self.attempt(read)
            self.attempt(search)
            self.attempt(lambda: app.get(DecisionActs).latest(OWNER))
            self.attempt(
                lambda: app.memories.store(OWNER, Draft(content="More", type=MemoryType.FACT))
            )
            self.attempt(
                lambda: app.get(DecisionActs).record(
                    OWNER, DecisionDraft("Go on", "damage", "It is to be seen whether it can.")
                )
            )

    def examine(self, home: Path, *options: str) -> Iterator[str]:
        """Yield what the doctor finds, or how it ended if it found nothing."""
        result = typed("doctor", "--home", str(home), "--json", *options)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            self.mistakes.append(f"doctor: {result.exception!r}")
        elif result.exit_code and not result.stdout.startswith("["):
            yield result.stderr
        elif result.exit_code:
            yield from (
                f"{each['finding']} → {each['remedy']}" for each in json.loads(result.stdout)
            )


def _limit_file_size(home: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


def _limit_open_files(home: Path) -> None:
    count = len(os.listdir("/proc/self/fd")) + 6  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def _limit_memory(home: Path) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _become_ordinary(home: Path) -> None:
    """Go on as a user to whom modes of files mean something."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def _take_rights(home: Path) -> None:
    """Make the directory another user's."""
    home.chmod(0o700 if os.geteuid() == 0 else 0)
    _become_ordinary(home)


def _make_read_only(home: Path) -> None:
    for path in (home, *home.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        path.chmod(0o555 if path.is_dir() else 0o444)
    _become_ordinary(home)


NOBODY = 65534

LIMITS: dict[str, Callable[[Path], None]] = {
    "file size": _limit_file_size,
    "open files": _limit_open_files,
    "memory": _limit_memory,
    "no permission": _take_rights,
    "read-only": _make_read_only,
}


def main() -> None:
    """Use the data directory, have it examined, repaired and examined again; print what came of it."""
    told, home = Told(), Path(sys.argv[1])
    if len(sys.argv) > 2:
        Told().use(Path(sys.argv[3]))
        list(Told().examine(Path(sys.argv[3]), "--repair"))
        LIMITS[sys.argv[2]](home)
    told.attempt(lambda: told.use(home))
    told.findings += told.examine(home)
    if told.findings:
        told.left += told.examine(home, "--repair")
    sys.stdout.write(json.dumps(asdict(told)))


if __name__ == "__main__":
    main()
