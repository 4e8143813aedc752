"""Health: the counts, the state of store and model, the faults and their remedies."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

from minutebook.domain.errors import Forbidden
from minutebook.domain.filters import MemoryQuery
from minutebook.domain.policy import may_read_metrics
from minutebook.domain.records import Kind, Status
from minutebook.features.archives.services import ArchiveServices
from minutebook.features.code.services import CodeServices
from minutebook.features.pages.frame.catalogue import Later, later
from minutebook.features.pages.frame.pages import Goto, Page, View, Visit
from minutebook.features.screening.services import ScreeningServices
from minutebook.features.tidying.services import TidyingServices

COUNTED: dict[Kind, Later] = {
    Kind.MEMORY: later("Memories"),
    Kind.ENTITY: later("Entities"),
    Kind.RELATION: later("Relations"),
    Kind.DECISION: later("Decisions"),
    Kind.PROPOSAL: later("Proposals"),
    Kind.TURN: later("Turns"),
    Kind.SUMMARY: later("Summaries"),
    Kind.CHUNK: later("Pieces of code"),
}


def show(visit: Visit) -> Page:
    """Show the counts that the caller sees, the model's state, and projects of code."""
    return Page("health.html", _facts(visit) | {"findings": None})


def examine(visit: Visit) -> Page:
    """Examine the whole store. Raises Forbidden to callers that do not answer for all of it."""
    if not _answers_for_all(visit):
        reason = "it concerns all organizations; its owner may, and an admin's token that is held to none"
        raise Forbidden("examine the store", reason)
    findings = visit.app.doctor.examine()
    pairs, looked_at = visit.app.similar.pairs(visit.caller, LOOKED_AT)
    is_readable = not any(each.is_damage for each in findings)
    secrets = (
        sum(visit.app.get(ScreeningServices).secret_scan.counts(visit.caller).values())
        if is_readable
        else 0
    )
    found = {"alike": len(pairs), "looked_at": looked_at, "secrets": secrets}
    return Page("health.html", _facts(visit) | {"findings": findings} | found)


def mend(visit: Visit) -> Goto:
    """Rebuild the derived data. Raises Forbidden to all but the owner, StoreDamaged."""
    if not _is_owner(visit):
        reason = "its owner may, at this page as `minutebook ui` opens it, or by `minutebook doctor --repair`"
        raise Forbidden("mend the store", reason)
    visit.app.doctor.mend(visit.caller)
    return Goto("/health/examined?done=mend")


def back_up(visit: Visit) -> Goto:
    """Make a backup and restore it for a test. Raises Forbidden to callers that do not answer for all."""
    if not _answers_for_all(visit):
        reason = (
            "it holds all organizations; its owner may, and an admin's token that is held to none"
        )
        raise Forbidden("back up the store", reason)
    made = visit.app.get(ArchiveServices).scheduled_backups.run(visit.caller)
    return Goto(f"/health?done={'backup' if made else 'busy'}#backups")


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/health"): ("health", show),
    ("GET", "/health/examined"): ("examine", examine),
    ("POST", "/health/mend"): ("mend", mend),
    ("POST", "/health/backup"): ("back up", back_up),
}

DONE = {
    "mend": later("Every index and every mention was made anew from the records."),
    "backup": later("A backup was made, and restored for a test."),
    "busy": later("Another process is making a backup; look again in a moment."),
}

LOOKED_AT = 100
"""Memories, those kept last, among which an examination looks for near-duplicates: 5 ms each."""

STALE_AFTER = timedelta(days=180)
"""How long ago a memory was kept that nobody has verified since, for a person to look at it again."""


def _facts(visit: Visit) -> dict[str, Any]:
    app, caller = visit.app, visit.caller
    counts = app.overview.counts(caller, COUNTED)
    model = app.embedding
    may_examine = _answers_for_all(visit)
    return {
        "counts": [(name, counts[kind]) for kind, name in COUNTED.items()],
        "policy": app.rules(),
        "model": model.model.name,
        # Why a model cannot be used may name files of the machine.
        "model_state": "off" if model.is_off else model.state,
        "model_reason": model.reason if may_examine else "",
        "waiting": 0 if model.is_off else app.overview.to_embed(caller),
        "size": app.database.size() if may_examine else None,
        "projects": app.get(CodeServices).projects.all(caller),
        "may_examine": may_examine,
        "may_mend": _is_owner(visit),
        "backups": app.get(ArchiveServices).backups.known() if may_examine else [],
        "backup_state": app.get(ArchiveServices).scheduled_backups.state() if may_examine else None,
        "may_back_up": may_examine and app.get(ArchiveServices).scheduled_backups.is_possible,
        **_for_review(visit),
        "done": DONE.get(visit.query.get("done", "")),
    }


def _for_review(visit: Visit) -> dict[str, Any]:
    """Count the items that a person should look at."""
    app, caller = visit.app, visit.caller
    before = (app.clock() - STALE_AFTER).date()
    until = datetime.combine(before, time(), UTC)
    # By time alone an index tells at once that there is none, which in most stores is so.
    is_old = app.overview.memories(caller, MemoryQuery(until=until))
    stale = MemoryQuery(status=Status.ACTIVE, until=until)
    return {
        "unverified": app.overview.memories(caller, MemoryQuery(status=Status.UNVERIFIED)),
        "contradictions": len(visit.app.get(TidyingServices).review.clashes(visit.caller)),
        "stale": app.overview.memories(caller, stale) if is_old else 0,
        # The day itself counts in an address, but not here.
        "stale_address": f"/?status=active&until={before - timedelta(days=1)}",
        "stale_days": STALE_AFTER.days,
        "finds_alike": not app.embedding.is_off,
        "alike": None,
        "looked_at": 0,
    }


def _is_owner(visit: Visit) -> bool:
    """Tell whether this is the owner of the machine, signed in by a one-time link."""
    return not visit.caller.token


def _answers_for_all(visit: Visit) -> bool:
    return may_read_metrics(visit.caller, admins_only=True)
