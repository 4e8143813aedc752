"""Notes of features on the hits of an answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from minutebook.feature import features
from minutebook.record.caller import Caller
from minutebook.record.records import Key, Record


@dataclass(frozen=True, slots=True)
class HitNote:
    """A note on a hit: a label, a phrase, the same in two words, and whether it puts the hit after those without such a note."""

    label: str
    text: str
    short: str
    is_last: bool = False


HitNoter = Callable[[Caller, Sequence[Record]], Mapping[Key, HitNote]]
"""Returns notes on some of the records, by their keys."""

Notes = Mapping[str, HitNote]
"""Notes on a record, by the name of their field."""

NO_NOTES: Notes = {}


class HitNotes:
    """Asks features for their notes on records."""

    def __init__(self, noters: Mapping[str, HitNoter]) -> None:
        self._noters = noters

    def notes_of(self, caller: Caller, records: Iterable[Record]) -> Mapping[Key, Notes]:
        """Return the notes on records, each feature asked once for all of them."""
        asked, found = list(records), dict[Key, dict[str, HitNote]]()
        for name, noter in self._noters.items() if asked else ():
            for key, note in noter(caller, asked).items():
                found.setdefault(key, {})[name] = note
        return found


def is_shown_last(notes: Notes) -> bool:
    """Tell whether one of these notes puts its hit after those without such a note."""
    return any(each.is_last for each in notes.values())


@cache
def note_names() -> Sequence[str]:
    """Return the names of the fields that features add to hits."""
    return [name for each in features() for name in each.answers.notes]
