"""Keep the records that an act changes as they were before it, for a day."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from minutebook.features.undo.rows import ImageRows
from minutebook.record.filters import Filter
from minutebook.record.records import CLASSES, Entry, Kind, Record
from minutebook.record.trust.acts import FINAL
from minutebook.store.protocol import Tended
from minutebook.store.values import Change

KEPT = timedelta(days=1)
"""For how long an act can be taken back."""

MOST = 5_000
"""Records of one entry that are kept: of more, as of an archive that replaces a store, none is."""

_STAY = FINAL | {"sync", "import_own", "replace", "record", "supersede", "accept", "rebuild"}
"""Acts that no image takes back: those after which no copy is to be left, another machine's, an archive's, those in Git."""

_BATCH = 500


def keep(
    store: Tended,
    entry: Entry,
    changes: Sequence[Change],
    noted: Mapping[tuple[Kind, str], Record | None],
) -> None:
    """Keep the changed records of an entry as they were, in its transaction; of those `noted` that is known."""
    rows, organization = ImageRows(store.database), entry.organization
    if entry.act in _STAY:
        return
    # A version is only ever added, but where its memory goes.
    changed = [each for each in changes if each.kind is not Kind.VERSION or each.deleted]
    unknown = [each for each in changed if (each.kind, each.id) not in noted]
    known = [record for each in changed if (record := noted.get((each.kind, each.id))) is not None]
    if len(changed) <= MOST and (known or unknown):
        found = [*known, *_before(store, organization, unknown)]
        rows.prune(organization, entry.at - KEPT)
        rows.add(organization, entry.number, entry.at, found)


def _before(store: Tended, organization: str, changes: Sequence[Change]) -> Iterator[Record]:
    """Yield the changed records as they were committed, those that were there."""
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
