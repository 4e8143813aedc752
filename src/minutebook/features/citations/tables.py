"""The tables of citations: as they were last judged, a row a record and work tree; and when a person confirmed a record."""

from minutebook.domain.records import Kind
from minutebook.store.sql.side_tables import SideTable, SideTables

_CITATIONS = SideTable(
    "citations",
    "organization integer, kind name, id name, tree name, said name, base name, head name, stamps words, judged words",
    key="organization, kind, id, tree",
    indices={"by_tree": "(organization, tree)"},
    goes_with=(Kind.MEMORY, Kind.DECISION, Kind.SUMMARY),
)

_CONFIRMED = SideTable(
    "citations_confirmed",
    "organization integer, kind name, id name, at instant",
    key="organization, kind, id",
    indices={},
    goes_with=(Kind.DECISION, Kind.SUMMARY),
)

TABLES = SideTables((_CITATIONS, _CONFIRMED))
