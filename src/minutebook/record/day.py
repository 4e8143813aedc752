"""The events of a day as features tell them: values without a form, for a terminal and a page alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class DayTopic(StrEnum):
    """The topics of a day, in the order in which they are told."""

    LEARNED = "learned"
    TOLD = "told"
    SESSIONS = "sessions"
    WAITS = "waits"
    ACTS = "acts"


@dataclass(frozen=True, slots=True)
class DaySpan:
    """The time that is told of: from one instant on and before another."""

    since: datetime
    until: datetime

    def holds(self, instant: datetime) -> bool:
        """Tell whether an instant is in the span."""
        return self.since <= instant < self.until


@dataclass(frozen=True, slots=True)
class DayLine:
    """One event: a text, its time, the address of its page; its project and client where they are known.

    A text of ours is a Reason, which a page says in the reader's language. `act` is the address of the form that
    takes the event back; empty if nothing does.
    """

    text: str
    at: datetime | None = None
    path: str = ""
    project: str = ""
    client: str = ""
    act: str = ""


@dataclass(frozen=True, slots=True)
class DayPart:
    """A feature's part of a topic: counts, the events, the latest first, a remedy."""

    topic: DayTopic
    counts: Sequence[str] = ()
    lines: Sequence[DayLine] = ()
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class DayGroup:
    """The events in one project through one client, the latest first; either name may be empty."""

    project: str
    client: str
    lines: Sequence[DayLine]


def grouped(lines: Sequence[DayLine]) -> list[DayGroup]:
    """Return events by project and client, in the order of each one's first."""
    found: dict[tuple[str, str], list[DayLine]] = {}
    for each in lines:
        found.setdefault((each.project, each.client), []).append(each)
    return [DayGroup(project, client, some) for (project, client), some in found.items()]
