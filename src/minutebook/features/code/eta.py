"""How fast work proceeds, and so how long the rest of it takes."""

from collections import deque
from datetime import datetime, timedelta

WINDOW = timedelta(seconds=30)
"""How far back the rate looks, and how long an estimate holds while nothing proceeds."""

LONGEST = timedelta(days=30)
"""An estimate beyond this is none."""


class Pace:
    """The parts done, in [0, 1], that were noted over the last half a minute."""

    def __init__(self) -> None:
        self._noted: deque[tuple[datetime, float]] = deque()

    def note(self, done: float, at: datetime) -> None:
        """Note how much was done at an instant; less than before starts anew, as much changes nothing."""
        if self._noted and done < self._noted[-1][1]:
            self._noted.clear()
        if self._noted and done == self._noted[-1][1]:
            return
        self._noted.append((at, done))
        while len(self._noted) > 2 and at - self._noted[1][0] >= WINDOW:
            self._noted.popleft()

    def remaining(self, at: datetime) -> timedelta | None:
        """Return how long the rest takes from an instant on, by the rate of late.

        Between two notes the estimate shrinks as time passes. None before there is a rate, and
        once nothing was done for longer than WINDOW and than the last part took.
        """
        if len(self._noted) < 2:
            return None
        (since, before), (until, done) = self._noted[0], self._noted[-1]
        waited, step = at - until, until - self._noted[-2][0]
        if until <= since or waited > max(WINDOW, 2 * step):
            return None
        seconds = (until - since).total_seconds() * (1.0 - done) / (done - before)
        if seconds >= LONGEST.total_seconds():
            return None
        return max(timedelta(seconds=seconds) - waited, timedelta(0))
