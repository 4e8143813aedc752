"""Entries of the recall log."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from minutebook.features.recall_log.rows import Got, LoggedRecall, RecallQuery, RecallRows
from minutebook.record.records import Kind
from minutebook.store.protocol import Tended
from tests.store.samples import START


def logged(id: str, *got: str, hours: int = 0, **changes: Any) -> LoggedRecall:
    """An entry of the recall log that got these memories."""
    entry = LoggedRecall(
        id=id,
        organization="acme",
        at=START + timedelta(hours=hours),
        asker="me",
        actor="ana",
        client="claude",
        contract="knowledge",
        act="recall",
        session="s",
        question="What is for tea?",
        got=tuple(Got(Kind.MEMORY, each, 0.5) for each in got),
    )
    return replace(entry, **changes)


def write_recalls(store: Tended) -> None:
    """Have an engine do all that the log asks of it."""
    rows = RecallRows(store.database)
    for organization in ("acme", "zoo"):
        entry = logged("1", "a", organization=organization)
        rows.write(organization, [entry])
        rows.prune(organization, START, 1)
    rows.clear("zoo", "other")
    rows.clear("zoo")
    recalls = RecallQuery(
        organization="acme", asker="me", sessions={"s"}, client="claude", record=(Kind.MEMORY, "a")
    )
    rows.find(recalls, 3)
    rows.counts(recalls)
    rows.times(recalls, Kind.MEMORY, ["a"])
    rows.first(recalls)
    list(rows.everything("acme"))
