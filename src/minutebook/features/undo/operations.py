"""The operations of undo: listing acts, and taking one back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from minutebook.ask.operation import check_range, operation
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.day import DayLine, DayPart, DaySpan, DayTopic
from minutebook.record.filters import default_organization
from minutebook.record.origin import quoted_name
from minutebook.record.reason import Reason
from minutebook.record.trust.done_acts import DoneAct
from minutebook.record.trust.trail import UNDO

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.features.undo.undo import FoundAct, Undo


@dataclass(frozen=True, slots=True)
class ListedAct:
    """An act with the number by which it is taken back; `obstacle` tells why it cannot be, empty if it can."""

    number: str
    at: datetime
    actor: str
    client: str
    act: str
    text: str
    records: Mapping[str, int]
    obstacle: str


@operation("knowledge")
def last_acts(app: "App", caller: Caller, limit: int) -> list[ListedAct]:
    """List the acts of the last day that the caller may take back, the latest first."""
    check_range("limit", limit, 200)
    return [listed(app, caller, each) for each in _undo(app).acts(caller, limit)]


@operation("knowledge")
def act_of(app: "App", caller: Caller, number: str | None) -> ListedAct:
    """Return an act by its number; without one, the caller's own last act that was not taken back."""
    undo = _undo(app)
    return listed(app, caller, undo.last(caller) if number is None else undo.read(caller, number))


@operation("knowledge", writes=True)
def take_back(app: "App", caller: Caller, number: str) -> ListedAct:
    """Take an act back; return the act that did so."""
    _undo(app).take_back(caller, number)
    (done,) = _undo(app).acts(caller, 1)
    return listed(app, caller, done)


def listed(app: "App", caller: Caller, found: "FoundAct") -> ListedAct:
    """Return an act as it is listed."""
    from minutebook.features.undo.saying import count_by_kind, sentence_of

    act = found.act
    last, origin = act.last_entry, act.last_entry.origin
    return ListedAct(
        name_of(caller, act),
        last.at,
        last.actor,
        "" if origin is None else origin.client,
        act.naming_entry.act,
        sentence_of(act, _undo(app).subjects(caller, act)),
        count_by_kind(act),
        _undo(app).obstacle(caller, found),
    )


def name_of(caller: Caller, act: DoneAct) -> str:
    """Return the name of an act for a caller: its number, with the organization if it is another's."""
    home, number = act.last_entry.organization, act.last_entry.number
    return str(number) if home == default_organization(caller) else f"{number}@{home}"


def _undo(app: "App") -> "Undo":
    # A command that only asks for operations need not import what does them.
    from minutebook.features.undo.undo import Undo

    return app.get(Undo)


MOST, AMONG = 5, 100
"""The most acts in the report of a day, and the latest acts among which these are searched."""


def acts_of_day(app: "App", caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    """Yield the last acts that the caller may take back."""
    if not policy.may_audit(caller):
        return
    acts = [
        each
        for each in _undo(app).acts(caller, AMONG)
        if span.holds(each.act.last_entry.at)
        and each.taken_by is None
        and each.act.naming_entry.act != UNDO
    ]
    found = [listed(app, caller, each) for each in acts[:MOST]]
    lines = [
        DayLine(
            Reason("{actor} {text}", actor=quoted_name(each.actor), text=each.text),
            each.at,
            act="" if each.obstacle else f"/undo/{each.number}",
        )
        for each in found
    ]
    if lines:
        remedy = Reason("`minutebook undo` takes the last one back.")
        yield DayPart(DayTopic.ACTS, (), lines, remedy)


OPERATIONS = (last_acts, act_of, take_back)
