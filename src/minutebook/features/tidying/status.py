"""The lines of `minutebook status` and the check of `minutebook doctor` about tidying."""

from collections.abc import Iterable, Mapping

from minutebook.app import App
from minutebook.features.tidying.looking.state import TidyStatus
from minutebook.memory.maintenance.doctor import Check, Finding
from minutebook.record.caller import Caller
from minutebook.record.reason import count_of

_MINUTE = "%Y-%m-%dT%H:%MZ"


def status(app: App, caller: Caller) -> Mapping[str, object]:
    """Return the times of the last round and of the next, the last one's findings, and the open items."""
    state, last = app.get(TidyStatus).state(caller), None
    if state.last_at is not None:
        looked = count_of(state.looked_at, "change")
        last = f"{state.last_at:{_MINUTE}} looked at {looked}: {count_of(state.found.total(), 'new suggestion')}"
    next_at = None if state.next_at is None else f"{state.next_at:{_MINUTE}}"
    return {
        "last_tidy": last,
        "tidy_waiting": dict(state.waiting) if last or state.waiting else None,
        "next_tidy": f"{next_at}, and did not run" if state.is_overdue else next_at,
    }


def checks(app: App) -> Iterable[Check]:
    """Yield the check for rounds that a schedule wants and that did not run."""

    def overdue() -> list[Finding]:
        state = app.get(TidyStatus).state(app.settings.caller())
        since = "never" if state.last_at is None else f"last on {state.last_at:{_MINUTE}}"
        finding = f"`tidy_every` is set, and nothing was looked at as it says: {since}."
        remedy = "it runs while a daemon or server does; `minutebook tidy` looks at once"
        return [Finding(finding, remedy)] if state.is_overdue else []

    yield Check("The suggestions", overdue)
