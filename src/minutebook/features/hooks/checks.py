"""The checks of `doctor` on the hooks on this machine, and its lines about them."""

from datetime import UTC, datetime

from minutebook.config import Settings
from minutebook.features.hooks import log
from minutebook.features.hooks.cli import client_lines, trouble_in
from minutebook.services.maintenance.doctor import Finding


def checks_here(settings: Settings) -> list[Finding]:
    """Return the recent failures of hooks, by their log."""
    trouble = trouble_in(log.entries(str(settings.home)))
    remedy = (
        "`minutebook hooks` says more; `minutebook settings set hook_wait 0.3` gives them longer"
    )
    return [] if trouble is None else [Finding(trouble, remedy)]


def lately_here(settings: Settings) -> list[str]:
    """Return a line a client about its hooks; none where no hook was called."""
    lines = client_lines(log.entries(str(settings.home)), datetime.now(UTC))
    return [f"Hooks of {line}." for line in lines]
