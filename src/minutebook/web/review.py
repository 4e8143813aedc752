"""Review: what waits for a person, many at once, and how each act is undone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

from minutebook.domain.errors import Conflict, InvalidInput, MinutebookError
from minutebook.domain.filters import MemoryQuery
from minutebook.domain.policy import may_settle, may_write_to
from minutebook.domain.records import Decision, Memory, Status
from minutebook.domain.redaction import redacted_for
from minutebook.screening.instructions import marks_of
from minutebook.services.knowledge.similar import Pair
from minutebook.services.screening import masked_fields
from minutebook.web import suggestions
from minutebook.web.catalogue import later, later_number_of
from minutebook.web.catalogue import text as _
from minutebook.web.differences import differences
from minutebook.web.find import offset
from minutebook.web.memories import with_reason
from minutebook.web.pages import Goto, Page, View, Visit
from minutebook.web.wording import Trouble, trouble_of

LISTED = 20
"""Memories and proposals on a page: a form has some 50 fields at most."""

PAIRS = 12
"""Pairs that are shown at once."""

LOOKED_AT = 20
"""Memories that are looked at for what they are like, on a page."""

PARTS = {
    "memories": later("Memories that nobody verified"),
    "order": later("To put in order"),
    "alike": later("Nearly the same, or the opposite"),
    "decisions": later("Proposals and contradictions"),
}
"""The parts of the review, as the address names them."""

STATUSES = {
    Status.UNVERIFIED: later("unverified"),
    Status.DRAFT: later("drafts"),
    Status.ACTIVE: later("active"),
}
"""The statuses of memories that nobody verified."""


@dataclass(frozen=True, slots=True)
class Done:
    """An act that was done, as its undoing names it: the act, the status before, one id or two."""

    act: str
    status: str
    id: str
    other: str = ""


@dataclass(slots=True)
class Outcome:
    """What came of several acts: those that were done, and what stood in the way of others."""

    done: list[Done] = field(default_factory=list)
    troubles: list[tuple[str, Trouble]] = field(default_factory=list)

    def attempt(self, visit: Visit, done: Done, act: Callable[[], object]) -> None:
        """Do one act; note that it was done, or why not."""
        try:
            act()
        except MinutebookError as error:
            self.troubles.append((done.id, trouble_of(redacted_for(visit.caller, error))))
        else:
            self.done.append(done)


def show(visit: Visit) -> Page:
    """Show one part of what waits."""
    return _page(visit, visit.query, Outcome(_acts_in(visit.query)), visit.query.get("undone", ""))


def do(visit: Visit) -> Page | Goto:
    """Do an act on everything that was chosen. Raises InvalidInput if there is no such act."""
    form, part = visit.form, _part(visit.form)
    visit = with_reason(visit)
    act = form.get("act", "")
    if act not in ACTS[part]:
        known = ", ".join(ACTS[part])
        raise InvalidInput("act", f"must be one of {known} (got {act[:50]!r})")
    outcome = Outcome()
    ACTS[part][act](visit, outcome)
    return _answered(visit, outcome, {})


def undo(visit: Visit) -> Page | Goto:
    """Undo what was just done, unless something else happened since."""
    visit = with_reason(visit)
    outcome = Outcome()
    for each in _acts_in(visit.form):
        outcome.attempt(visit, each, partial(_undone, visit, each))
    count = len(outcome.done)
    outcome.done = []
    return _answered(visit, outcome, {"undone": count or ""})


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/review"): ("review", show),
    ("POST", "/review"): ("review act", do),
    ("POST", "/review/undo"): ("review undo", undo),
}


def address(part: str, **parts: object) -> str:
    """Return the address of a part of the review."""
    named = {name: value for name, value in parts.items() if value not in ("", 0, None)}
    return "/review?" + urlencode({"of": part, **named})


def _page(visit: Visit, query: Mapping[str, str], outcome: Outcome, undone: str = "") -> Page:
    part = _part(query)
    facts: dict[str, Any] = {
        "part": part,
        "parts_of_review": PARTS,
        "address": address,
        "done": outcome.done,
        "done_told": _done_told(outcome.done),
        "troubles": outcome.troubles,
        "undone": int(undone) if undone.isdecimal() and len(undone) < 4 else 0,
        **SHOWN[part](visit, query),
    }
    status = outcome.troubles[0][1].status if outcome.troubles and not outcome.done else 200
    return Page("review.html", facts, status)


def _answered(visit: Visit, outcome: Outcome, more: Mapping[str, object]) -> Page | Goto:
    """Lead back to the part, or show it with what stood in the way."""
    if outcome.troubles:
        return _page(visit, visit.form, outcome, str(more.get("undone", "")))
    fields: dict[str, object] = {**more, "see": visit.form.get("see", "")}
    for number, each in enumerate(outcome.done):
        fields[f"u{number}"] = f"{each.act} {each.status} {each.id}"
        fields[f"o{number}"] = each.other
    return Goto(address(_part(visit.form), **fields))


def _memories(visit: Visit, query: Mapping[str, str]) -> dict[str, Any]:
    app, caller, at = visit.app, visit.caller, offset(query)
    status = _status(query.get("see", ""))
    page = app.memories.page(caller, LISTED, at, MemoryQuery(status=status), app.clock())
    return {
        "statuses": STATUSES,
        "status": status,
        "memories": [(each, may_write_to(caller, each), _warnings(each)) for each in page.memories],
        "total": page.total,
        "offset": at,
        "size": LISTED,
    }


def _warnings(memory: Memory) -> list[str]:
    """Return what a person should look at before they confirm a memory."""
    texts = (
        (_("reads as instructions"), marks_of(memory.text)),
        (_("holds a secret"), masked_fields(memory)[1]),
    )
    return [text for text, found in texts if found]


def _alike(visit: Visit, query: Mapping[str, str]) -> dict[str, Any]:
    at = offset(query)
    pairs, looked_at = visit.app.similar.pairs(visit.caller, LOOKED_AT, at)
    return {
        "pairs": [(each, _difference(each)) for each in pairs[:PAIRS]],
        "more_pairs": max(0, len(pairs) - PAIRS),
        "looked_at": looked_at,
        "offset": at,
        "size": LOOKED_AT,
        "can_tell": not visit.app.embedding.is_off,
    }


def contradictions(visit: Visit) -> list[list[Decision]]:
    """Return the decisions of which several hold for one target, target by target."""
    by_target: dict[tuple[str, str, str | None, str | None], list[Decision]] = {}
    for each in visit.app.decisions.truths(visit.caller):
        key = (each.organization, each.target.casefold(), each.repository, each.user)
        by_target.setdefault(key, []).append(each)
    return [each for each in by_target.values() if len(each) > 1]


def _decisions(visit: Visit, query: Mapping[str, str]) -> dict[str, Any]:
    app, caller = visit.app, visit.caller
    waiting = app.proposals.pending(caller)
    return {
        "waiting": [(each, app.proposals.opens(each)) for each in waiting[:LISTED]],
        "more_waiting": max(0, len(waiting) - LISTED),
        "contradictions": contradictions(visit),
    }


def _order(visit: Visit, query: Mapping[str, str]) -> dict[str, Any]:
    at = offset(query)
    listing = visit.app.inbox.listing(visit.caller, LISTED, at, suggestions.KINDS)
    return {
        "suggestions": [(each, *suggestions.described(each)) for each in listing.waiting],
        "counts": suggestions.counted(listing.counts),
        "total": sum(listing.counts[each] for each in suggestions.KINDS),
        "may_settle": may_settle(visit.caller),
        "offset": at,
        "size": LISTED,
    }


SHOWN: dict[str, Callable[[Visit, Mapping[str, str]], dict[str, Any]]] = {
    "memories": _memories,
    "order": _order,
    "alike": _alike,
    "decisions": _decisions,
}


def _verify(visit: Visit, outcome: Outcome) -> None:
    status = _status(visit.form.get("see", ""))
    for id in _picked(visit.form):
        done = Done("verify", status, id)
        outcome.attempt(visit, done, partial(visit.app.status.verify, visit.caller, id))


def _refuse(visit: Visit, outcome: Outcome) -> None:
    status = _status(visit.form.get("see", ""))
    reason = _reason(visit)
    for id in _picked(visit.form):
        done = Done("deprecate", status, id)
        outcome.attempt(
            visit,
            done,
            partial(visit.app.status.deprecate, visit.caller, id, reason),
        )


def _settle_pairs(visit: Visit, outcome: Outcome) -> None:
    """Do with each pair what was chosen for it."""
    app, caller, form = visit.app, visit.caller, visit.form
    chosen = [number for number in range(PAIRS) if form.get(f"pair{number}")]
    if not chosen:
        raise InvalidInput(_("the pairs"), _("must have a choice; choose for one at least"))
    reason = caller.call.reason or None
    for number in chosen:
        newer, older = form.get(f"newer{number}", ""), form.get(f"older{number}", "")
        match form[f"pair{number}"]:
            case "newer":
                _supersede(visit, outcome, older, newer, reason)
            case "older":
                _supersede(visit, outcome, newer, older, reason)
            case "both":
                outcome.attempt(
                    visit,
                    Done("link", "-", newer, older),
                    partial(app.links.link, caller, newer, older),
                )
            case other:
                raise InvalidInput("pair", f"must be newer, older or both (got {other[:50]!r})")


def _supersede(visit: Visit, outcome: Outcome, old: str, new: str, reason: str | None) -> None:
    app, caller = visit.app, visit.caller
    try:
        status = app.memories.read(caller, old).status
    except MinutebookError as error:
        outcome.troubles.append((old, trouble_of(redacted_for(caller, error))))
        return
    done = Done("invalidate", status, old)
    outcome.attempt(visit, done, partial(app.memories.invalidate, caller, old, reason, new))


def _decline(visit: Visit, outcome: Outcome) -> None:
    for id in _picked(visit.form):
        done = Done("decline", "-", id)
        outcome.attempt(visit, done, partial(visit.app.proposals.decline, visit.caller, id))


def _apply_suggestions(visit: Visit, outcome: Outcome) -> None:
    for name in _picked(visit.form):
        outcome.attempt(
            visit, Done("apply", "-", name), partial(visit.app.inbox.apply, visit.caller, name)
        )


def _refuse_suggestions(visit: Visit, outcome: Outcome) -> None:
    for name in _picked(visit.form):
        outcome.attempt(
            visit, Done("refuse", "-", name), partial(visit.app.inbox.refuse, visit.caller, name)
        )


def _look(visit: Visit, outcome: Outcome) -> None:
    visit.app.rounds.run(visit.caller, most=suggestions.LOOKED_AT)


ACTS: dict[str, dict[str, Callable[[Visit, Outcome], None]]] = {
    "memories": {"verify": _verify, "deprecate": _refuse},
    "order": {"apply": _apply_suggestions, "refuse": _refuse_suggestions, "look": _look},
    "alike": {"settle": _settle_pairs},
    "decisions": {"decline": _decline},
}
"""What may be done to each part."""


def _undone(visit: Visit, done: Done) -> None:
    """Undo an act. Raises Conflict if it is not the last one, of this person."""
    app, caller = visit.app, visit.caller
    match done.act:
        case "decline":
            proposal = app.decisions.read(caller, done.id)
            if getattr(proposal, "settled_by", None) != caller.name:
                raise Conflict(done.id, _("somebody else settled it"))
            app.proposals.reopen(caller, done.id)
        case "apply" | "refuse":
            app.inbox.undo(caller, done.id)
        case "link":
            _check_last(visit, done)
            app.links.unlink(caller, done.id, done.other)
        case "verify":
            _check_last(visit, done)
            app.memories.update(caller, done.id, {"status": _status(done.status)})
        case _:
            _check_last(visit, done)
            app.memories.reinstate(caller, done.id, _earlier(done.status))


def _check_last(visit: Visit, done: Done) -> None:
    """Raise Conflict if the last act on a memory was another, or another person's."""
    memory = visit.app.memories.read(visit.caller, done.id)
    last = visit.app.memories.history(visit.caller, memory).entries[-1]
    if (last.act, last.actor, last.outcome) != (done.act, visit.caller.name, "done"):
        raise Conflict(done.id, _("something else was done to it since; open it to see"))


def _acts_in(fields: Mapping[str, str]) -> list[Done]:
    """Read from an address or a form what was done."""
    acts = []
    for number in range(LISTED):
        parts = fields.get(f"u{number}", "").split(" ", 2)
        if len(parts) == 3 and parts[0] in UNDOABLE:
            act, status, id = parts
            acts.append(Done(act, status, id, fields.get(f"o{number}", "")))
    return acts


def _done_told(done: list[Done]) -> list[str]:
    counts = {act: sum(each.act == act for each in done) for act in UNDOABLE}
    return [UNDOABLE[act](count) for act, count in counts.items() if count]


UNDOABLE = {
    "verify": later_number_of("{count} memory verified.", "{count} memories verified."),
    "deprecate": later_number_of("{count} memory refused.", "{count} memories refused."),
    "invalidate": later_number_of("{count} memory superseded.", "{count} memories superseded."),
    "link": later_number_of("{count} pair linked; both stay.", "{count} pairs linked; both stay."),
    "apply": later_number_of("{count} suggestion applied.", "{count} suggestions applied."),
    "refuse": later_number_of(
        "{count} suggestion refused; it is never made again.",
        "{count} suggestions refused; they are never made again.",
    ),
    "decline": later_number_of("{count} proposal declined.", "{count} proposals declined."),
}
"""What is said of each act that was done, for a count."""


def _picked(form: Mapping[str, str]) -> list[str]:
    found = [form[f"pick{number}"] for number in range(LISTED) if f"pick{number}" in form]
    if not found:
        raise InvalidInput(_("the choice"), _("must not be empty; choose one at least"))
    return found


def _reason(visit: Visit) -> str:
    if not visit.caller.call.reason:
        raise InvalidInput(_("Reason"), _("must not be empty"))
    return visit.caller.call.reason


def _part(fields: Mapping[str, str]) -> str:
    given = fields.get("of", "") or "memories"
    if given not in PARTS:
        raise InvalidInput("of", f"must be one of {', '.join(PARTS)} (got {given[:50]!r})")
    return given


def _status(given: str) -> Status:
    known = {str(each): each for each in STATUSES}
    if given and given not in known:
        raise InvalidInput("see", f"must be one of {', '.join(known)} (got {given[:50]!r})")
    return known.get(given, Status.UNVERIFIED)


def _earlier(given: str) -> Status:
    """Read the status that a memory returns to. Raises InvalidInput if it is none that holds."""
    holding = {str(each): each for each in (*STATUSES, Status.VERIFIED)}
    if given not in holding:
        raise InvalidInput("status", f"must be one of {', '.join(holding)} (got {given[:50]!r})")
    return holding[given]


def _difference(pair: Pair) -> Any:
    return differences(_whole(pair.older), _whole(pair.newer))


def _whole(memory: Memory) -> str:
    return memory.content if memory.title is None else f"{memory.title}\n\n{memory.content}"
