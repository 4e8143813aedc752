"""The tables of sync: the state of the machines with which the store is kept in step, by remote."""

from minutebook.store.sql.side_tables import SideTable, SideTables

# Other machines have yet to hear of removed links, or know them by these ids.
_MARKS = SideTable(
    "sync_marks", "remote name, marks name", key="remote", indices={}, keeps_deletions=True
)

# Here `organization` is a name, as the other machines know it.
_ROWS = SideTable(
    "sync_rows",
    "remote name, organization name, kind name, id name, digest name, file integer, state name",
    key="remote, organization, kind, id",
    indices={"by_file": "(remote, file) WHERE file <> 0"},
)

TABLES = SideTables((_MARKS, _ROWS))
