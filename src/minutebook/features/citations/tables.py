"""The table of citations: a row a record and work tree, with the citations there as they were last judged."""

from minutebook.domain.records import Kind
from minutebook.store.sql.side_tables import SideTable, SideTables

_CITATIONS = SideTable(
    "citations",
    "organization integer, kind text, id text, tree text, said text, base text, head text, stamps text, judged text",
    key="organization, kind, id, tree",
    indices={"by_tree": "(organization, tree)"},
    goes_with=(Kind.MEMORY, Kind.DECISION, Kind.SUMMARY),
)

TABLES = SideTables((_CITATIONS,))
