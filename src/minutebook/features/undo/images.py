"""Images: the records that an act changed as they were before it, kept for a day."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from minutebook.features.undo.rows import ImageRows
from minutebook.record.filters import Filter
from minutebook.record.records import CLASSES, Entry, Kind, Record
from minutebook.record.trust.acts import FINAL
from minutebook.store.protocol import Tended
from minutebook.store.values import Change

KEPT_FOR = timedelta(days=1)
"""The time for which an act can be taken back."""

MOST_RECORDS = 5_000
"""The most records of an entry: if it changed more, as an archive that replaces a store does, no image is kept."""

_WITHOUT_IMAGES = FINAL | {
    *("sync", "import_own", "replace", "record", "supersede", "accept", "rebuild"),
}
"""Acts without images: those after which no copy may be left, those of other machines and archives, and those in Git."""

_BATCH = 500


def keep_images(
    store: Tended,
    entry: Entry,
    changes: Sequence[Change],
    noted: Mapping[tuple[Kind, str], Record | None],
) -> None:
    """Keep the images of the records that an entry changed, in its transaction.

    `noted` has records as they were before, by kind and id (None: new); those of other changes are read from the store.
    """
    rows, organization = ImageRows(store.database), entry.organization
    if entry.act in _WITHOUT_IMAGES:
        return
    # Versions are only added, and removed only with their memory.
    changed = [each for each in changes if each.kind is not Kind.VERSION or each.deleted]
    unknown = [each for each in changed if (each.kind, each.id) not in noted]
    known = [record for each in changed if (record := noted.get((each.kind, each.id))) is not None]
    if len(changed) <= MOST_RECORDS and (known or unknown):
        found = [*known, *_before(store, organization, unknown)]
        rows.prune(organization, entry.at - KEPT_FOR)
        rows.add(organization, entry.number, entry.at, found)


def _before(store: Tended, organization: str, changes: Sequence[Change]) -> Iterator[Record]:
    """Yield changed records as they were before the transaction; new ones are left out."""
    if not changes:
        return
    ids: dict[Kind, list[str]] = {}
    for each in changes:
        ids.setdefault(each.kind, []).append(each.id)
    with store.snapshot(organization) as committed:
        for kind, some in ids.items():
            for start in range(0, len(some), _BATCH):
                batch = frozenset(some[start : start + _BATCH])
                where = Filter(organization=organization, ids=batch, with_deleted=True)
                yield from committed.each(CLASSES[kind], where)
