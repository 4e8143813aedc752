"""The table of undo: a row a record that an act changed or removed, as it was before."""

from minutebook.store.sql.side_tables import SideTable, SideTables

_IMAGES = SideTable(
    "undo_images",
    "organization integer, entry integer, kind name, id name, at instant, record images",
    key="organization, entry, kind, id",
    indices={"by_at": "(organization, at)", "by_id": "(organization, id)"},
)

TABLES = SideTables((_IMAGES,))
