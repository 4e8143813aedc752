"""Acts as the trail has them: the entries of one request, and the records that it changed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from minutebook.record.caller import Caller
from minutebook.record.records import Entry, Kind
from minutebook.record.trust.acts import CONFIRM, REFUSE, RESET, TAKE_IN, TAKE_IN_PERSONS
from minutebook.record.trust.fingerprints import Fingerprinted
from minutebook.record.trust.trail import DONE, UNDO

_WITHOUT_FINGERPRINT = frozenset({RESET, CONFIRM, REFUSE, UNDO})
"""Acts that may change something and leave no fingerprint."""


@dataclass(frozen=True, slots=True)
class DoneAct:
    """The entries of one request of a caller on the trail of an organization, in order."""

    entries: tuple[Entry, ...]

    @property
    def last_entry(self) -> Entry:
        """The entry with which the act ended; its number identifies the act."""
        return self.entries[-1]

    @property
    def naming_entry(self) -> Entry:
        """The entry with the name of the whole act: the first that is not about one record among many."""
        return next(
            (e for e in self.entries if e.act not in (TAKE_IN, TAKE_IN_PERSONS)), self.last_entry
        )

    @property
    def changes(self) -> Mapping[tuple[Kind, str], Fingerprinted]:
        """The records that were changed, by kind and id in the trail, with their states before the first entry and after the last."""
        found: dict[tuple[Kind, str], Fingerprinted] = {}
        for entry in self.entries:
            for text in entry.fingerprints:
                each = Fingerprinted.from_text(text)
                first = found.get((each.kind, each.id), each)
                found[each.kind, each.id] = Fingerprinted(
                    each.kind, each.id, first.before, each.after
                )
        return found

    @property
    def first_numbers(self) -> Mapping[tuple[Kind, str], int]:
        """The number of the first entry that changed each record, by kind and id in the trail.

        Fingerprints in an entry about the whole trail belong to the next entry about a record.
        """
        found: dict[tuple[Kind, str], int] = {}
        keys: list[tuple[Kind, str]] = []
        for entry in self.entries:
            changes = map(Fingerprinted.from_text, entry.fingerprints)
            keys += [(each.kind, each.id) for each in changes]
            if entry.subject_kind is not Kind.HEAD:
                for key in keys:
                    found.setdefault(key, entry.number)
                keys = []
        return found


@dataclass(frozen=True, slots=True)
class Undoing:
    """The way in which an act is taken back, or in `obstacle` why it cannot be, with a remedy.

    `run` takes it back in a caller's name. If it is None, the act's records are put back as they were, then `after` is called.
    """

    obstacle: str = ""
    run: Callable[[Caller], object] | None = None
    after: Callable[[Caller], object] | None = None


def done_acts(newest_first: Iterable[Entry]) -> list[DoneAct]:
    """Return the acts that changed or confirmed records, the latest first, given the entries of a trail.

    The entries of one actor's request make one act, even if entries of other actors stand between them.
    """
    groups: list[list[Entry]] = []
    latest: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in newest_first:
        if entry.outcome != DONE:
            continue
        actor = (entry.organization, entry.actor, entry.token)
        group = latest.get(actor)
        if group is None or not entry.request or group[-1].request != entry.request:
            group = latest[actor] = []
            groups.append(group)
        group.append(entry)
    return [DoneAct(tuple(reversed(each))) for each in groups if any(map(_changes, each))]


def _changes(entry: Entry) -> bool:
    return bool(entry.fingerprints) or entry.act in _WITHOUT_FINGERPRINT
