"""The page *Health*: counts, the state of store and model, faults and their remedies."""

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any

from minutebook.features.pages.frame.catalogue import Later, texts_beside
from minutebook.features.pages.frame.page import Goto, Page, View, Visit
from minutebook.features.pages.frame.register import parts
from minutebook.record.errors import Forbidden
from minutebook.record.filters import MemoryQuery
from minutebook.record.policy import may_read_metrics
from minutebook.record.records import Kind, Status

_TEXTS = texts_beside(__file__)
COUNTED: Mapping[Kind, Later] = {Kind(name): text for name, text in _TEXTS["counted"].items()}
DONE: Mapping[str, Later] = _TEXTS["done"]


def show(visit: Visit) -> Page:
    """Show the counts that the caller sees, and the state of the model."""
    return Page("health.html", _facts(visit) | {"findings": None})


def examine(visit: Visit) -> Page:
    """Examine the whole store. Raises Forbidden for callers that are bound to a part of it."""
    if not _answers_for_all(visit):
        reason = "it concerns all organizations; its owner may, and an admin's token that is held to none"
        raise Forbidden("examine the store", reason)
    findings = visit.app.doctor.examine()
    is_readable = not any(each.is_damage for each in findings)
    found = parts("health.findings", visit) if is_readable else []
    return Page(
        "health.html", _facts(visit, is_examined=True) | {"findings": findings, "found": found}
    )


def mend(visit: Visit) -> Goto:
    """Rebuild the derived data. Raises Forbidden for all but the owner, StoreDamaged."""
    if not _is_owner(visit):
        reason = "its owner may, at this page as `minutebook ui` opens it, or by `minutebook doctor --repair`"
        raise Forbidden("mend the store", reason)
    visit.app.doctor.repair(visit.caller)
    return Goto("/health/examined?done=mend")


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/health"): ("health", show),
    ("GET", "/health/examined"): ("examine", examine),
    ("POST", "/health/mend"): ("mend", mend),
}

STALE_AFTER = timedelta(days=180)
"""The age of a memory that was never verified from which a person should review it."""


def _facts(visit: Visit, *, is_examined: bool = False) -> dict[str, Any]:
    app, caller = visit.app, visit.caller
    counts = app.overview.counts(caller, COUNTED)
    model = app.embedding
    may_examine, done = _answers_for_all(visit), visit.query.get("done", "")
    return {
        "counts": [(name, counts[kind]) for kind, name in COUNTED.items()],
        "model": model.model.name,
        # The reason may name files of the machine.
        "model_state": "off" if model.is_off else model.state,
        "model_reason": model.reason if may_examine else "",
        "waiting": 0 if model.is_off else app.overview.to_embed(caller),
        "size": app.database.size() if may_examine else None,
        "may_examine": may_examine,
        "may_mend": _is_owner(visit),
        "to_look_at": parts("health.look_at", visit, is_examined),
        "below": parts("health.below", visit),
        "upkeep": parts("health.upkeep", visit),
        "act": done,
        "in_done": parts("health.done", visit),
        **_stale(visit),
        "done": DONE.get(done, ""),
    }


def _stale(visit: Visit) -> dict[str, Any]:
    """Return the facts about memories that a person should review: their number, address and least age."""
    app, caller = visit.app, visit.caller
    before = (app.clock() - STALE_AFTER).date()
    until = datetime.combine(before, time(), UTC)
    # In most stores there is none, which an index by time alone tells at once.
    is_old = app.overview.memories(caller, MemoryQuery(until=until))
    stale = MemoryQuery(status=Status.ACTIVE, until=until)
    return {
        "stale": app.overview.memories(caller, stale) if is_old else 0,
        # The day itself counts in an address, but not here.
        "stale_address": f"/find?status=active&until={before - timedelta(days=1)}",
        "stale_days": STALE_AFTER.days,
    }


def _is_owner(visit: Visit) -> bool:
    """Tell whether this is the owner of the machine, signed in by a one-time link."""
    return not visit.caller.token


def _answers_for_all(visit: Visit) -> bool:
    return may_read_metrics(visit.caller)
