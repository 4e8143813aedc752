"""The checks of `doctor` on the hooks on this machine."""

from minutebook.config import Settings
from minutebook.features.hooks import log
from minutebook.features.hooks.cli import trouble_in
from minutebook.services.maintenance.doctor import Finding


def checks_here(settings: Settings) -> list[Finding]:
    """Return the recent failures of hooks, by their log."""
    trouble = trouble_in(log.entries(str(settings.home)))
    remedy = (
        "`minutebook hooks` says more; `minutebook settings set hook_wait 0.3` gives them longer"
    )
    return [] if trouble is None else [Finding(trouble, remedy)]
