"""Operations of tidying: look for disorder, list it, settle it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from minutebook.ask.memories import in_folder
from minutebook.ask.operation import check_range, operation
from minutebook.features.tidying.findings import State, Topic
from minutebook.record.caller import Caller, FolderScope, with_call
from minutebook.record.errors import MinutebookError
from minutebook.record.records import Decision, Record, Summary
from minutebook.record.rights.redaction import redacted_for

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.features.tidying.inbox import ShownSuggestion
    from minutebook.features.tidying.review import Item, Review


@dataclass(frozen=True, slots=True)
class Suggested:
    """A suggestion, its reason, its outcome, and its records."""

    name: str
    organization: str
    finding: Topic
    state: State
    certainty: float
    reason: str
    found_at: datetime
    settled_at: datetime | None
    settled_by: str
    is_outdated: bool
    """Whether its records have changed, so that nothing is suggested any more."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One open item: the name by which it is settled, its records, and the suggestion if it is one."""

    topic: Topic
    name: str
    records: list[Record]
    suggestion: Suggested | None
    opens: datetime | None


@dataclass(frozen=True, slots=True)
class Tidied:
    """The results of a round, a page of the open items, and how many there are of each topic."""

    looked_at: int
    found: Mapping[str, int]
    applied: Mapping[str, int]
    is_elsewhere: bool
    is_unfinished: bool
    items: list[Listed]
    counts: Mapping[Topic, int]


@operation("knowledge", writes=True, is_long=True)
def tidy(
    app: "App",
    caller: Caller,
    topics: Sequence[Topic],
    limit: int,
    offset: int,
    dry_run: bool,  # noqa: FBT001
    folder: FolderScope | None = None,
) -> Tidied:
    """Look at the changes since the last time, and list the open items of some topics."""
    check_range("limit", limit, 1000)
    caller = in_folder(caller, folder)
    from minutebook.features.tidying.looking.rounds import Rounds

    done = app.get(Rounds).run(caller, dry_run=dry_run)
    page = _review(app).page(caller, limit, offset, topics)
    return Tidied(
        done.looked_at,
        {str(each): count for each, count in done.found.items()},
        {str(each): count for each, count in done.applied.items()},
        done.is_elsewhere,
        done.is_unfinished,
        [_listed(each) for each in page.items],
        dict(page.counts),
    )


@operation("knowledge")
def suggestions(app: "App", caller: Caller, names: Sequence[str]) -> list[Listed]:
    """Return the open items, by their names."""
    return [_listed(_review(app).named(caller, name)) for name in names]


class Settle(StrEnum):
    """The acts by which a person settles an open item."""

    APPLY = "apply"
    REFUSE = "refuse"
    UNDO = "undo"


@dataclass(frozen=True, slots=True)
class Settled:
    """The settled items, and by name the obstacles to others."""

    done: list[Listed]
    failed: Mapping[str, MinutebookError]


@operation("knowledge", writes=True)
def settle(app: "App", caller: Caller, act: Settle, names: Sequence[str], reason: str) -> Settled:
    """Settle items one after the other; if one cannot be settled, the others still are."""
    asks, done, failed = with_call(caller, reason=reason), list[Listed](), {}
    acts = {
        Settle.APPLY: _review(app).apply,
        Settle.REFUSE: _review(app).refuse,
        Settle.UNDO: _review(app).undo,
    }
    for name in dict.fromkeys(names):
        try:
            done.append(_listed(acts[act](asks, name)))
        except MinutebookError as error:
            failed[name] = redacted_for(caller, error)
    return Settled(done, failed)


def _listed(item: "Item") -> Listed:
    shown = item.suggestion
    records = item.records if shown is None else shown.records
    suggestion = None if shown is None else _suggested(shown)
    return Listed(item.topic, item.name, list(records), suggestion, item.opens)


def _suggested(shown: "ShownSuggestion") -> Suggested:
    each = shown.suggestion
    return Suggested(
        shown.name,
        each.organization,
        each.finding,
        each.state,
        each.certainty,
        reason_of(shown),
        each.found_at,
        each.settled_at,
        each.settled_by,
        shown.examined is None and each.state is State.OPEN,
    )


_BECAME = {
    "changed": "has changed",
    "renamed": "has another name",
    "moved": "is in another place",
    "gone": "is gone",
}


def reason_of(shown: "ShownSuggestion") -> str:
    """Return the reason of a suggestion, in a sentence; empty if it is outdated or settled."""
    examined = shown.examined
    if examined is None:
        return ""
    facts = examined.facts
    match examined.finding:
        case Topic.DUPLICATE:
            return "both say the same"
        case Topic.CONTRADICTION:
            return f"“{facts['old']}” there, “{facts['new']}” here"
        case Topic.MERGE:
            return _wording_reason(facts)
        case Topic.EXPIRED:
            return f"“{facts['words']}”, from when it was written: past since {facts['past']}"
        case Topic.CITED:
            return f"{facts['cited']} {_BECAME[facts['verdict']]} (since {facts['since']}){_end_of(shown.records[0])}"
        case _:
            return ""


def _end_of(record: Record) -> str:
    """Return how a record ends that cannot be changed."""
    match record:
        case Decision():
            return f"; another decision ends it: `minutebook decide --supersedes {record.id}`"
        case Summary():
            return f"; `minutebook sessions {record.session} --summarize` writes it anew, nothing ends it"
        case _:
            return ""


def _wording_reason(facts: Mapping[str, str]) -> str:
    parts = [
        f"{what}: {facts[name]}"
        for name, what in (("left_out", "leaves out"), ("added", "adds"))
        if facts[name]
    ]
    return "; ".join(parts) or "it leaves no word of theirs out, and adds none"


def _review(app: "App") -> "Review":
    # Imported late: the command line imports this module only to ask a daemon for its operations.
    from minutebook.features.tidying.review import Review

    return app.get(Review)


OPERATIONS = (tidy, suggestions, settle)
