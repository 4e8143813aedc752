"""The state of tidying: the last round, its findings, the open items, and the rounds overdue."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from minutebook.app import App
from minutebook.config import Settings
from minutebook.features.citations.following import noted_at_end
from minutebook.features.tidying.findings import FINDINGS, State, Suggestion, Topic
from minutebook.features.tidying.rows import TidyRows
from minutebook.features.tidying.settings import TidyingSettings
from minutebook.memory.access.visibility import Records, View
from minutebook.record.caller import Caller, Note, without_folder_scope
from minutebook.record.instants import rfc3339
from minutebook.record.reason import count_of
from minutebook.record.records import CLASSES, SYSTEM_ORGANIZATION, Record

FOLLOWER = "tidy"
"""The name of the follower, and of the lock of the process that examines an organization."""

GRACE = timedelta(hours=2)
"""A round that begins later than this after its time counts as one that did not run."""


@dataclass(frozen=True, slots=True)
class TidyState:
    """The state of tidying in the organizations that a caller may see: the last round that was finished, and the next.

    `last_at` is None if none was, `next_at` if there is no schedule. `looked_at` and `found` count the changes and
    the new suggestions of the last round; `waiting` counts the open suggestions that the caller may see.
    """

    last_at: datetime | None
    looked_at: int
    found: Counter[Topic]
    waiting: Counter[Topic]
    next_at: datetime | None
    is_overdue: bool


def interval(settings: Settings) -> timedelta | None:
    """Return the time from one round by schedule to the next; None: there is no schedule."""
    hours = settings.of(TidyingSettings).tidy_every
    return timedelta(hours=hours) if hours else None


class TidyStatus:
    """Reads the state of tidying; it needs none of the finders and changers."""

    def __init__(self, app: App) -> None:
        self.every = interval(app.settings)
        self._store, self._records = app.infrastructure.store, app.infrastructure.records
        self._rows = TidyRows(app.infrastructure.database)
        self._clock = app.clock

    def state(self, caller: Caller) -> TidyState:
        """Return when the last round ended, its findings, the open items, and whether one should have run."""
        noted = [
            noted_at_end(self._store, FOLLOWER, name)
            for name in organizations_to_tidy(self._records, caller)
        ]
        ended = [datetime.fromisoformat(each["at"]) for each in noted if each.get("at")]
        found = Counter[Topic]()
        for each in noted:
            found += Counter(
                {Topic(kind): n for kind, n in each.get("found", {}).items() if kind in FINDINGS}
            )
        next_at = None
        if self.every is not None:
            # The organization that has waited longest counts; one that was never examined is due now.
            is_new = len(ended) < len(noted) or not ended
            next_at = self._clock() if is_new else min(ended) + self.every
        late = self._clock() - GRACE
        return TidyState(
            max(ended, default=None),
            sum(each.get("looked_at", 0) for each in noted),
            found,
            self._waiting(caller),
            next_at,
            next_at is not None and (not ended or next_at < late),
        )

    def note(self, caller: Caller) -> None:
        """Add the state of tidying to the notes of a call, unless there was no round and is no schedule."""
        state = self.state(caller)
        if state.last_at is None and state.next_at is None:
            return
        waiting = state.waiting.total()
        facts: dict[str, object] = {
            "last_at": None if state.last_at is None else rfc3339(state.last_at),
            "found": dict(state.found),
            "waiting": dict(state.waiting),
            "is_overdue": state.is_overdue,
        }
        late = "A round that `tidy_every` asks for did not run. " if state.is_overdue else ""
        wait = f"{count_of(waiting, 'suggestion')} of tidying for a person: see `minutebook tidy`."
        sentence = f"{late}{wait if waiting else ''}".strip()
        caller.call.notes["tidying"] = Note(facts, sentence)

    def _waiting(self, caller: Caller) -> Counter[Topic]:
        """Count the open suggestions that the caller may see, by topic."""
        counts = Counter[Topic]()
        for view in self._records.seen_by(without_folder_scope(caller)):
            if view.organization != SYSTEM_ORGANIZATION:
                for each in self._rows.everything(view.organization, State.OPEN):
                    if visible_records(self._records, view, each) is not None:
                        counts[each.finding] += 1
        return counts


def note_status(app: App, caller: Caller) -> None:
    """Add the state of tidying to the notes of a call."""
    app.get(TidyStatus).note(caller)


def organizations_to_tidy(store: Records, caller: Caller) -> list[str]:
    """Return the organizations whose records a caller may have examined, in whatever folder they work."""
    names = store.seen_by(without_folder_scope(caller)).organizations
    return [name for name in names if name != SYSTEM_ORGANIZATION]


def visible_records(
    store: Records, view: View, suggestion: Suggestion
) -> tuple[Record, ...] | None:
    """Return the records of a suggestion; None if the reader may not see one of them.

    Of an applied suggestion it returns those that still exist.
    """
    found = []
    everything = view.where(with_deleted=True)
    for kind, id in suggestion.subjects:
        record = everything.get(CLASSES[kind], id)
        if record is not None:
            found.append(record)
        elif suggestion.state is not State.APPLIED or store.is_taken(
            CLASSES[kind], suggestion.organization, id
        ):
            return None
    return tuple(found) if found else None
