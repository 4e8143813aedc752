"""The tables of the recall log: a row a question, and a row each record that it got."""

from minutebook.domain.records import Kind
from minutebook.store.sql.side_tables import SideTable, SideTables

_RECALLS = SideTable(
    "recalls",
    "organization integer, id name, at instant, asker name, actor name, client name, contract name, act name,"
    " session name, question words?",
    key="organization, id",
    indices={
        "by_time": "(organization, at, id)",
        "by_session": "(organization, session, at, id)",
    },
    is_kept_without_words=True,
)

# Of other records than memories, which are removed by thousands, the ids stay until their entries leave.
_RECALLED = SideTable(
    "recalled",
    "organization integer, recall name, place integer, kind name, id name, score real",
    key="organization, recall, place",
    indices={"by_record": "(organization, id, recall)"},
    goes_with=(Kind.MEMORY,),
)

TABLES = SideTables((_RECALLS, _RECALLED))
