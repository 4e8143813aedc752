"""The report of a day, from which both the terminal and a web page are made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class DayTopic(StrEnum):
    """The topics of the report, in their order."""

    LEARNED = "learned"
    TOLD = "told"
    SESSIONS = "sessions"
    WAITS = "waits"
    ACTS = "acts"


@dataclass(frozen=True, slots=True)
class DaySpan:
    """The time that the report covers: since ≤ instant < until."""

    since: datetime
    until: datetime

    def holds(self, instant: datetime) -> bool:
        """Tell whether an instant is in the span."""
        return self.since <= instant < self.until


@dataclass(frozen=True, slots=True)
class DayLine:
    """One event: a text, its time, the address of its page, its project and client; empty if unknown.

    A text of ours is a Reason, which a page translates. `act` is the address of the form that
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
    """A feature's part of a topic: its counts, its events, the latest first, and the remedy that a person has."""

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
    """Return events grouped by project and client, the groups in the order of their first events."""
    groups: dict[tuple[str, str], list[DayLine]] = {}
    for line in lines:
        groups.setdefault((line.project, line.client), []).append(line)
    return [DayGroup(project, client, of_group) for (project, client), of_group in groups.items()]
