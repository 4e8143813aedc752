"""The table of tidying: a row a suggestion, and one for the marks of an organization."""

from minutebook.store.sql.side_tables import SideTable, SideTables

_SUGGESTIONS = SideTable(
    "suggestions",
    "organization integer, id text, number integer, finding text, state text, certainty real, subjects text,"
    " due instant?, found_at instant, settled_at instant?, settled_by text, undo text",
    key="organization, id",
    indices={
        "by_number": "(organization, number)",
        "by_due": "(organization, state, due)",
        "by_state": "(organization, state, number)",
    },
)

TABLES = SideTables((_SUGGESTIONS,))
