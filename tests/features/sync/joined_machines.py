"""A few machines of one person, each with a store, which meet in a folder."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from minutebook.features.sync.comparing import MachineComparison
from minutebook.features.sync.machines import MachineSync, SyncReport
from minutebook.features.sync.remotes import FolderRemote, Remote
from minutebook.features.sync.replication import TRAVELLING, travelling_line
from minutebook.record.caller import Caller
from minutebook.record.records import CLASSES, Kind, Memory, Record, Role, Version
from tests.world import World, everything, ready, worlds

PERSON = Caller(name="ana", role=Role.HUMAN, writes_system=True)


@dataclass
class Machines:
    """Stores by name, the folder that they share, and the person whose they are."""

    folder: Path
    worlds: Sequence[World]

    person = PERSON

    def sync(
        self,
        number: int,
        remote: Remote | None = None,
        *,
        compact: bool = False,
        again: bool = False,
    ) -> SyncReport:
        """Sync one machine a second after whatever came before."""
        world = self.worlds[number]
        world.clock.turn()
        sync = world.app.get(MachineSync)
        place = remote or FolderRemote(self.folder)
        return sync.run(self.person, place, compact=compact, again=again)

    def compare(self, number: int) -> MachineComparison:
        return (
            self.worlds[number].app.get(MachineSync).compare(self.person, FolderRemote(self.folder))
        )

    def settle(self) -> None:
        """Sync all in turn until none has anything to tell."""
        for _ in range(3 * len(self.worlds)):
            reports = [self.sync(number) for number in range(len(self.worlds))]
            assert not any(each.refused for each in reports), reports
            if not any(each.sent or each.taken for each in reports):
                return
        raise AssertionError("they never come to an end")

    def held(self, number: int) -> dict[tuple[str, Kind, str], bytes | None]:
        """All that a machine holds of what travels, as lines."""
        store = self.worlds[number].store
        return {
            (each.organization, each.kind, each.id): travelling_line(each)
            for name in store.organizations()
            for kind in TRAVELLING
            for each in _all(store.find(CLASSES[kind], everything(name)))
        }

    def edit(self, number: int, id: str, content: str) -> Memory:
        world = self.worlds[number]
        world.clock.turn()
        return world.app.memories.update(self.person, id, {"content": content})

    def texts(self, number: int) -> set[str]:
        """Every text of a memory that a machine has, in whatever version."""
        found = self.worlds[number].store.find(Version, everything("default"))
        return {each.content for each in found}

    def shown(self, number: int) -> set[str]:
        """The contents of the memories that a machine shows."""
        found = self.worlds[number].store.find(Memory, everything("default"))
        return {each.content for each in found if each.deleted_at is None}


def _all(records: Sequence[Record]) -> Iterator[Record]:
    yield from records


@contextmanager
def machines(home: Path, count: int = 2, *, later: float = 0) -> Iterator[Machines]:
    """Open some machines below a folder, whose stores may be there already; they are closed at the end."""
    folder = home / "shared"
    folder.mkdir(parents=True, exist_ok=True)
    with worlds(home) as open_one:
        joined = Machines(folder, [open_one(ready(), name=f"machine{n}") for n in range(count)])
        # Ids are made of the instant and of numbers drawn, which begin anew when a store is opened.
        joined.worlds[0].clock.turn(later)
        yield joined


def opened(home: Path, name: str) -> World:
    """Open one machine for the rest of the process."""
    return worlds(home).__enter__()(ready(), name=name)
