"""Review: the items that wait for a person, many at once, and how each act is undone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

from minutebook.features.pages.frame.catalogue import later_number_of
from minutebook.features.pages.frame.catalogue import text as _
from minutebook.features.pages.frame.differences import differences
from minutebook.features.pages.frame.page import Goto, Page, View, Visit
from minutebook.features.pages.frame.wording import Trouble, trouble_of
from minutebook.features.pages.views.find import offset
from minutebook.features.pages.views.memories import with_reason
from minutebook.features.tidying.findings import OPEN_TOPICS, Topic
from minutebook.features.tidying.looking.rounds import Rounds
from minutebook.features.tidying.pages import suggestions
from minutebook.features.tidying.review import MEMORIES, Item, Review
from minutebook.features.undo.undo import Undo
from minutebook.memory.record_screening import masked_fields
from minutebook.memory.screening.instructions import marks_of
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, MinutebookError
from minutebook.record.policy import may_settle, may_write_to
from minutebook.record.reason import must_be_one_of
from minutebook.record.records import Memory
from minutebook.record.rights.redaction import redacted_for

LISTED = 20
"""Memories and proposals on a page: a form has some 50 fields at most."""

MOST_ENTRIES = 100
"""The most entries of the trail that an act on one of them has."""


@dataclass(frozen=True, slots=True)
class Done:
    """An act that was done, with the entries of the trail by which it is taken back, the first and the last."""

    act: str
    organization: str
    first: int
    last: int


@dataclass(slots=True)
class ReviewOutcome:
    """The outcome of several acts: those that were done, and the obstacles to others."""

    done: list[Done] = field(default_factory=list)
    troubles: list[tuple[str, Trouble]] = field(default_factory=list)

    def attempt(self, visit: Visit, name: str, act: Callable[[], Done]) -> None:
        """Do one act on the item with a name; note the act, or why it failed."""
        try:
            self.done.append(act())
        except MinutebookError as error:
            self.troubles.append((name, trouble_of(redacted_for(visit.caller, error))))


def show(visit: Visit) -> Page:
    """Show the open items, of one topic or of all."""
    return _page(
        visit, visit.query, ReviewOutcome(_acts_in(visit.query)), visit.query.get("undone", "")
    )


def do(visit: Visit) -> Page | Goto:
    """Do an act on every chosen item. Raises InvalidInput if there is no such act."""
    _topics(visit.form)
    visit = with_reason(visit)
    act = visit.form.get("act", "")
    if act not in ACTS:
        raise InvalidInput("act", must_be_one_of(ACTS, act))
    outcome = ReviewOutcome()
    ACTS[act](visit, outcome)
    return _after_acts(visit, outcome, {})


def undo(visit: Visit) -> Page | Goto:
    """Undo the last acts, unless something else was done since."""
    visit = with_reason(visit)
    outcome = ReviewOutcome()
    for each in _acts_in(visit.form):
        outcome.attempt(visit, each.act, partial(_take_back, visit, each))
    count = len(outcome.done)
    outcome.done = []
    return _after_acts(visit, outcome, {"undone": count or ""})


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/review"): ("review", show),
    ("POST", "/review"): ("review act", do),
    ("POST", "/review/undo"): ("review undo", undo),
}


def address(topic: str = "", **parts: object) -> str:
    """Return the address of the review, of one topic or of all."""
    named = {name: value for name, value in parts.items() if value not in ("", 0, None)}
    return "/review?" + urlencode({"of": topic, **named} if topic else named)


def _page(visit: Visit, query: Mapping[str, str], outcome: ReviewOutcome, undone: str = "") -> Page:
    """Return the page of items for a query, with the outcome of the acts before."""
    start, topics = offset(query), _topics(query)
    page = visit.app.get(Review).page(visit.caller, LISTED, start, topics)
    topic = query.get("of", "")
    # Active memories do not wait: they are counted only if they are shown.
    known = [each for each in Topic if page.counts[each] or each in (topic, Topic.ACTIVE)]
    counts = {each: page.counts[each] for each in known if each in (*OPEN_TOPICS, *topics)}
    waiting = sum(page.counts[each] for each in OPEN_TOPICS)
    chips: list[tuple[str, str, int | None]] = [("", _("All that waits"), waiting)]
    chips += [(str(each), str(suggestions.SHORT[each]), counts.get(each)) for each in known]
    facts: dict[str, Any] = {
        "topic": topic,
        "chips": chips,
        "address": address,
        "items": [shown(visit.caller, each) for each in page.items],
        "total": sum(page.counts[each] for each in topics),
        "may_settle": may_settle(visit.caller),
        "offset": start,
        "size": LISTED,
        "done": outcome.done,
        "done_told": _done_lines(outcome.done),
        "troubles": outcome.troubles,
        "undone": int(undone) if undone.isdecimal() and len(undone) < 4 else 0,
    }
    status = outcome.troubles[0][1].status if outcome.troubles and not outcome.done else 200
    return Page("tidying/review.html", facts, status)


def _after_acts(visit: Visit, outcome: ReviewOutcome, more: Mapping[str, object]) -> Page | Goto:
    """Lead back to the list, with the acts in its address; if one failed, show the list with the reasons."""
    if outcome.troubles:
        return _page(visit, visit.form, outcome, str(more.get("undone", "")))
    fields: dict[str, object] = dict(more)
    for number, each in enumerate(outcome.done):
        fields[f"u{number}"] = f"{each.act} {each.first} {each.last} {each.organization}"
    return Goto(address(visit.form.get("of", ""), **fields))


def shown(caller: Caller, item: Item) -> dict[str, Any]:
    """Return an item as the page shows it."""
    first, pair = item.records[0], item.topic in (Topic.DUPLICATE, Topic.CONTRADICTION)
    memories = [each for each in item.records if isinstance(each, Memory)]
    own = memories[0] if item.topic in (Topic.RULE, *MEMORIES) else None
    wording = memories[0] if item.topic is Topic.MERGE else None
    written = own or wording
    return {
        "name": item.name,
        "title": str(suggestions.TITLES[item.topic]),
        "why": "" if item.suggestion is None else suggestions.reason_of(item.suggestion),
        "certainty": None if item.suggestion is None else item.suggestion.suggestion.certainty,
        "records": suggestions.records_of(item),
        "difference": differences(memories[1].text, memories[0].text)
        if pair and len(memories) == 2
        else None,
        "memory": own,
        "wording": wording,
        "warnings": [] if written is None else _warnings(written),
        "opens": item.opens,
        "first": first,
        "at": getattr(first, "ingestion_time", getattr(first, "created_at", None)),
        "may_act": bool(item.name)
        and (may_settle(caller) if own is None else may_write_to(caller, own)),
        "is_pair": pair and len(memories) == 2,
        "is_proposal": item.topic is Topic.PROPOSAL,
    }


def _warnings(memory: Memory) -> list[str]:
    """Return the warnings that a person should see before they confirm a memory."""
    texts = (
        (_("reads as instructions"), marks_of(memory.text)),
        (_("holds a secret"), masked_fields(memory)[1]),
    )
    return [text for text, found in texts if found]


def _apply(visit: Visit, outcome: ReviewOutcome) -> None:
    _settle(visit, outcome, visit.app.get(Review).apply, "apply", "verify")


def _refuse(visit: Visit, outcome: ReviewOutcome) -> None:
    _settle(visit, outcome, visit.app.get(Review).refuse, "refuse", "deprecate")


def _settle(
    visit: Visit,
    outcome: ReviewOutcome,
    act: Callable[[Caller, str], Item],
    of_suggestion: str,
    of_memory: str,
) -> None:
    """Settle the chosen items, one by one; an outcome names the act `of_suggestion` or `of_memory`, after the item."""
    trail = visit.app.infrastructure.trail

    def settled(name: str) -> Done:
        item = visit.app.get(Review).named(visit.caller, name)
        act_name = of_suggestion
        if item.topic in MEMORIES and item.suggestion is None:
            act_name = of_memory
        elif item.topic is Topic.PROPOSAL:
            act_name = "decline"
        organization = item.records[0].organization
        with trail.audited_batch([organization]):
            before = trail.head(organization)
            act(visit.caller, name)
            after = trail.head(organization)
        first, last = (0 if head is None else head.number for head in (before, after))
        return Done(act_name, organization, first + 1, last)

    for name in _picked(visit.form):
        outcome.attempt(visit, name, partial(settled, name))


def _look(visit: Visit, outcome: ReviewOutcome) -> None:
    visit.app.get(Rounds).run(visit.caller, most=suggestions.LOOKED_AT)


ACTS: dict[str, Callable[[Visit, ReviewOutcome], None]] = {
    "apply": _apply,
    "refuse": _refuse,
    "look": _look,
}
"""The acts on chosen items, and the look for more items."""


def _take_back(visit: Visit, done: Done) -> Done:
    """Take an act back. Raises Conflict if something else was done since, else as `Undo.read` does."""
    entries = range(done.first, min(done.last, done.first + MOST_ENTRIES) + 1)
    undo = visit.app.get(Undo)
    undo.take_back_entries(visit.caller, done.organization, entries)
    return done


def _acts_in(fields: Mapping[str, str]) -> list[Done]:
    """Return the acts that the fields `u0`, `u1` and so on of an address or a form name: act, first and last entry, organization."""
    acts = []
    for number in range(LISTED):
        parts = fields.get(f"u{number}", "").split(" ", 3)
        if len(parts) == 4 and parts[0] in UNDOABLE and (parts[1] + parts[2]).isdecimal():
            act, first, last, organization = parts
            # Anybody can write an address: a number of 18 digits still fits the database.
            acts.append(Done(act, organization, int(first[:18]), int(last[:18])))
    return acts


def _done_lines(done: list[Done]) -> list[str]:
    counts = {act: sum(each.act == act for each in done) for act in UNDOABLE}
    return [UNDOABLE[act](count) for act, count in counts.items() if count]


UNDOABLE = {
    "verify": later_number_of("{count} memory verified.", "{count} memories verified."),
    "deprecate": later_number_of("{count} memory refused.", "{count} memories refused."),
    "apply": later_number_of("{count} suggestion applied.", "{count} suggestions applied."),
    "refuse": later_number_of(
        "{count} suggestion refused; it is never made again.",
        "{count} suggestions refused; they are never made again.",
    ),
    "decline": later_number_of("{count} proposal declined.", "{count} proposals declined."),
}
"""The text for a count of each act that was done."""


def _picked(form: Mapping[str, str]) -> list[str]:
    """Return the names of the items that were chosen in a form. Raises InvalidInput if there are none."""
    found = [form[f"pick{number}"] for number in range(LISTED) if f"pick{number}" in form]
    if not found:
        raise InvalidInput(_("the choice"), "must not be empty; choose one at least")
    return found


def _topics(fields: Mapping[str, str]) -> tuple[Topic, ...]:
    """Return the topic that is asked for, else all open ones. Raises InvalidInput if there is no such topic."""
    given = fields.get("of", "")
    if not given:
        return OPEN_TOPICS
    try:
        return (Topic(given),)
    except ValueError:
        raise InvalidInput("of", must_be_one_of(Topic, given)) from None
