"""Followers of the change feed: each goes through the changes of an organization from where it stopped."""

import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from minutebook.memory.infrastructure import Infrastructure
from minutebook.record.caller import Caller
from minutebook.store.protocol import Tended
from minutebook.store.sql.change_feed import ProgramMarks
from minutebook.store.values import Change

BATCH, BATCH_SECONDS = 200, 0.2
"""The most changes in a batch, and the seconds after which the next batch is smaller: a kill costs a batch."""

OnChanges = Callable[[Caller, str, Sequence[Change]], None]
"""Handles a batch of changes of an organization."""


class Followed(Enum):
    """How following the changes of an organization ended: all were handled, some are left, or another process does it."""

    DONE = 1
    UNFINISHED = 2
    ELSEWHERE = 3


class Follower:
    """Passes the changes of an organization to `on_changes`, batch by batch, in one process at a time.

    A batch that was cut short is passed again, and so are all changes if `version` differs from the last time.
    """

    def __init__(
        self, infrastructure: Infrastructure, name: str, on_changes: OnChanges, version: str = ""
    ) -> None:
        self._store = infrastructure.store
        self._locks = infrastructure.locks
        self._marks = ProgramMarks(infrastructure.database)
        self._name = name
        self._on_changes = on_changes
        self._version = version

    def follow(
        self,
        caller: Caller,
        organization: str,
        *,
        most: int | None = None,
        keeps: bool = True,
        on_end: Callable[[], Mapping[str, Any]] = dict,
    ) -> Followed:
        """Pass on the changes since the last time, about `most` of them (None: all).

        Once all are passed on, it calls `on_end` and keeps its answer for `noted_at_end`. If not `keeps`, it keeps
        neither the answer nor its place in the feed, so that the next time passes on the same changes. Raises StoreError.
        """
        with self._locks.hold(f"{self._name}\0{organization}") as held:
            if held is None:
                return Followed.ELSEWHERE
            mark = self._marks.marks_of(organization).get(self._name, {})
            end = self._store.sequence(organization)
            first = since = mark["sequence"] if mark.get("version") == self._version else 0
            if since > end:
                # This is another store than the last time, or one restored from a backup.
                first = since = 0
            looked_at, size = 0, 1
            while changes := self._store.changes(organization, since, size):
                if most is not None and looked_at >= most:
                    return Followed.UNFINISHED
                caller.call.progress((since - first) / max(1, end - first), organization)
                began = time.monotonic()
                self._on_changes(caller, organization, changes)
                is_long = time.monotonic() - began > BATCH_SECONDS
                size = max(1, size // 2) if is_long else min(BATCH, 2 * size)
                since, looked_at = changes[-1].sequence, looked_at + len(changes)
                if keeps:
                    self._put(organization, since, mark.get("noted", {}))
            noted = on_end()
            if keeps and noted != mark.get("noted", {}):
                self._put(organization, since, noted)
            return Followed.DONE

    def begin_anew(self, organization: str) -> None:
        """Let all changes of an organization come again. Raises StoreError."""
        self._marks.put(organization, self._name, {})

    def _put(self, organization: str, sequence: int, noted: Mapping[str, Any]) -> None:
        mark = {"version": self._version, "sequence": sequence, "noted": noted}
        self._marks.put(organization, self._name, mark)


def noted_at_end(store: Tended, follower: str, organization: str) -> Mapping[str, Any]:
    """Return the answer of a follower's `on_end` from the last time that it had passed on all changes of an organization."""
    mark = ProgramMarks(store.database).marks_of(organization).get(follower, {})
    noted: Mapping[str, Any] = mark.get("noted", {})
    return noted
