"""The table of tidying: a row a suggestion."""

from minutebook.store.sql.side_tables import SideTable, SideTables

_SUGGESTIONS = SideTable(
    "suggestions",
    "organization integer, id name, number integer, finding name, state name, certainty real, subjects name,"
    " due instant?, found_at instant, settled_at instant?, settled_by name, entry integer?, first_entry integer?",
    key="organization, id",
    indices={
        "by_number": "(organization, number)",
        "by_due": "(organization, state, due)",
        "by_state": "(organization, state, number)",
    },
    is_kept_without_words=True,
)

TABLES = SideTables(
    (_SUGGESTIONS,),
    (
        ("ALTER TABLE suggestions ADD COLUMN entry integer",),
        (
            "DELETE FROM suggestions WHERE finding IN"
            " ('ended', 'unused-rule', 'same-entity', 'no-summary', 'unverified')",
            "ALTER TABLE suggestions ADD COLUMN first_entry integer",
            "ALTER TABLE suggestions DROP COLUMN undo",
        ),
    ),
)
