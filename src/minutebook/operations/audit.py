"""Operations on the audit trail: read it, say where it ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from minutebook.domain.caller import Caller
from minutebook.domain.records import Entry, Head, Kind
from minutebook.operations.operation import operation

if TYPE_CHECKING:
    from minutebook.app import App


@dataclass(frozen=True, slots=True)
class Entered:
    """An entry, and the UUID of the memory that it concerns, if it concerns one."""

    entry: Entry
    uuid: str | None


@operation("governance")
def entries(
    app: "App",
    caller: Caller,
    limit: int,
    named: Mapping[str, str | None],
    since: datetime | None = None,
) -> list[Entered]:
    """List audit entries, the newest first; `named` has values to match: actor, client, act, subject, outcome."""
    found = app.trail.entries(
        caller,
        actor=named.get("actor"),
        client=named.get("client"),
        act=named.get("act"),
        subject=named.get("subject"),
        outcome=named.get("outcome"),
        since=since,
        limit=limit,
    )
    uuids = app.browsing.subject_uuids(caller, found)
    return [
        Entered(
            each,
            uuids.get((each.organization, each.subject))
            if each.subject_kind is Kind.MEMORY
            else None,
        )
        for each in found
    ]


@operation("governance")
def heads(app: "App", caller: Caller) -> list[Head]:
    """Tell where each trail ends."""
    return app.trail.heads(caller)


OPERATIONS = (entries, heads)
