"""The checks of `doctor` on the configuration of clients."""

from minutebook.config import Settings
from minutebook.features.install.clients import unsafe_entries
from minutebook.machine import places_here
from minutebook.services.maintenance.doctor import Finding


def checks_here(settings: Settings) -> list[Finding]:
    """Return the entries that let the folder in which a client is run code."""
    return [
        Finding(
            f"{each.path}: the entry {each.name} of {each.title} starts Python with -m and without -P, "
            "so the folder that the client is in can run code",
            each.remedy,
        )
        for each in unsafe_entries(places_here())
    ]
