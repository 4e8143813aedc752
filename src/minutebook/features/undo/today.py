"""The last acts of a day."""

from collections.abc import Iterator

from minutebook.app import App
from minutebook.features.undo.operations import listed
from minutebook.features.undo.undo import Undo
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.day import DayLine, DayPart, DaySpan, DayTopic
from minutebook.record.origin import as_name
from minutebook.record.reason import Reason
from minutebook.record.trust.trail import UNDO

MOST, AMONG = 5, 100
"""Acts that are told of, and among which those that hold are looked for."""


def last_acts(app: App, caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    """Yield the last acts that the caller may take back."""
    if not policy.may_audit(caller):
        return
    acts = [
        each
        for each in app.get(Undo).acts(caller, AMONG)
        if span.holds(each.act.last.at) and each.taken_by is None and each.act.named.act != UNDO
    ]
    found = [listed(app, caller, each) for each in acts[:MOST]]
    lines = [
        DayLine(
            Reason("{actor} {text}", actor=as_name(each.actor), text=each.text),
            each.at,
            act="" if each.obstacle else f"/undo/{each.number}",
        )
        for each in found
    ]
    if lines:
        remedy = Reason("`minutebook undo` takes the last one back.")
        yield DayPart(DayTopic.ACTS, (), lines, remedy)
