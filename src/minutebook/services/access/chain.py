"""The chain of a trail: where it ends, and where it does not hold."""

from collections.abc import Collection, Iterator

from minutebook.domain.filters import Filter
from minutebook.domain.records import Entry, Head
from minutebook.domain.trust.trail import HEAD, Break, first_break
from minutebook.store.protocol import Snapshot, Store


def chain_break(store: Store, organization: str, noted: Collection[Head] = ()) -> Break | None:
    """Find where an organization's trail does not hold, or None; in constant memory.

    The removal of its last entries shows by its head, which is kept apart, or by those that were
    noted elsewhere. Entries that others append meanwhile do no harm.
    """
    with store.snapshot(organization) as moment:
        return break_among(head_of(moment, organization), entries_of(moment, organization), noted)


def break_among(
    head: Head | None, entries: Iterator[Entry], noted: Collection[Head]
) -> Break | None:
    """Find the first of a trail's entries, in their order, that does not follow, or what is missing of it."""
    last = 0

    def watched() -> Iterator[Entry]:
        nonlocal last
        for entry in entries:
            last = entry.number
            yield entry

    broken = first_break(watched(), [*noted, *([] if head is None else [head])])
    end = 0 if head is None else head.number
    if broken is None and last > end:
        return Break(end + 1, f"it was added: the trail ends with entry {end}")
    return broken


def head_of(moment: Snapshot, organization: str) -> Head | None:
    """Return where a trail ends, as a moment has it."""
    here = Filter(organization=organization, ids=frozenset({HEAD}))
    return next(moment.each(Head, here), None)


def entries_of(moment: Snapshot, organization: str) -> Iterator[Entry]:
    """Yield the entries of a trail in their order, as a moment has them."""
    return moment.each(Entry, Filter(organization=organization), ["number"])
