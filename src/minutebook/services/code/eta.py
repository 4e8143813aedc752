"""How fast something gets on, and so how long it will take."""

from collections import deque
from datetime import datetime, timedelta

WINDOW = timedelta(seconds=30)
"""How far back the rate looks."""

LONGEST = timedelta(days=30)
"""What would take longer has no rate worth telling."""


class Pace:
    """The parts done, in [0, 1], that were noted over the last half a minute."""

    def __init__(self) -> None:
        self._noted: deque[tuple[datetime, float]] = deque()

    def note(self, done: float, at: datetime) -> None:
        """Note how much was done at an instant; less than before starts anew."""
        if self._noted and done < self._noted[-1][1]:
            self._noted.clear()
        self._noted.append((at, done))
        while len(self._noted) > 2 and at - self._noted[1][0] >= WINDOW:
            self._noted.popleft()

    def remaining(self) -> timedelta | None:
        """Tell how long the rest takes at the rate of late; None if it hardly moves."""
        if not self._noted:
            return None
        (since, before), (until, done) = self._noted[0], self._noted[-1]
        if done <= before or until <= since:
            return None
        seconds = (until - since).total_seconds() * (1.0 - done) / (done - before)
        return timedelta(seconds=seconds) if seconds < LONGEST.total_seconds() else None
