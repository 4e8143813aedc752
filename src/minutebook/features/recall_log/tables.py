"""The tables of the recall log: a row a question, and a row each record that it got."""

from minutebook.domain.records import Kind
from minutebook.store.sql.side_tables import SideTable, SideTables

_RECALLS = SideTable(
    "recalls",
    "organization integer, id text, at instant, asker text, actor text, client text, contract text, act text,"
    " session text, question text?",
    key="organization, id",
    indices={
        "by_time": "(organization, at, id)",
        "by_session": "(organization, session, at, id)",
    },
)

# Of other records than memories, which are removed by thousands, the ids stay until their entries leave.
_RECALLED = SideTable(
    "recalled",
    "organization integer, recall text, place integer, kind text, id text, score real",
    key="organization, recall, place",
    indices={"by_record": "(organization, id, recall)"},
    goes_with=(Kind.MEMORY,),
)

TABLES = SideTables((_RECALLS, _RECALLED))
