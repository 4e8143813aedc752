"""Operations on the audit trail: list its entries, return its end, prove it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from minutebook.ask.operation import is_at_keyboard, operation
from minutebook.features.audit_proof.trail_proof import Proof
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput
from minutebook.record.records import Entry, Head, Kind

if TYPE_CHECKING:
    from minutebook.app import App


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """An entry, and the UUID of the memory that it is about; None if it is about no memory."""

    entry: Entry
    uuid: str | None


@operation("governance")
def entries(
    app: "App",
    caller: Caller,
    limit: int,
    named: Mapping[str, str | None],
    since: datetime | None = None,
) -> list[ListedEntry]:
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
        ListedEntry(
            each,
            uuids.get((each.organization, each.subject))
            if each.subject_kind is Kind.MEMORY
            else None,
        )
        for each in found
    ]


@operation("governance")
def heads(app: "App", caller: Caller) -> list[Head]:
    """Return the end of each trail."""
    return app.trail.heads(caller)


@operation("governance")
def prove(app: "App", caller: Caller, noted: Sequence[Head], key: str | None) -> list[Proof]:
    """Prove each trail, which must hold the ends that were `noted`; one without an organization is of the caller's.

    `key` is the public key that signatures are checked by. For a caller at this machine, the trails must also hold the
    ends that its key signed last. Raises InvalidInput if an end needs an organization and the caller names none.
    """
    from minutebook.features.audit_proof.audit_proof import TrailProving
    from minutebook.features.audit_proof.signing import head_signing

    ends = [_of_caller(caller, each) for each in noted]
    if is_at_keyboard(caller):
        ends += app.get(head_signing).last_signed().values()
        key = key or app.get(head_signing).public_key()
    return app.get(TrailProving).prove(caller, ends, key)


def _of_caller(caller: Caller, noted: Head) -> Head:
    """Return an end with the caller's organization if it has none. Raises InvalidInput if neither has one."""
    if noted.organization:
        return noted
    if caller.organization is None:
        raise InvalidInput("--noted", "needs --organization: whose trail it is the end of")
    return replace(noted, organization=caller.organization)


OPERATIONS = (entries, heads, prove)
