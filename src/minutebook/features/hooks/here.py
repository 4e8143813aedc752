"""What the hooks of this machine know of its folders."""

from collections.abc import Mapping

from minutebook.config import Settings
from minutebook.features.hooks import log
from minutebook.features.hooks.settings import HookSettings
from minutebook.folders.finding import FolderPlace, PlaceFact


def where(settings: Settings, place: FolderPlace) -> PlaceFact:
    """Tell whether hooks are on in a folder."""
    if place.hooks_off:
        said = 'Hooks say and keep nothing here: .minutebook.toml has hooks = "off".'
        return PlaceFact("hooks", "off", said)
    return PlaceFact("hooks", settings.of(HookSettings).hooks)


def session_folders(settings: Settings) -> Mapping[str, str]:
    """Return the folders of the sessions in the log of hooks."""
    return {
        str(entry["session"]): str(entry["folder"])
        for entry in log.entries(str(settings.home))
        if entry.get("session") and entry.get("folder")
    }
