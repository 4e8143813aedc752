"""The knowledge that hooks of this machine have of its folders."""

from minutebook.config import Settings
from minutebook.features.hooks.settings import HookSettings
from minutebook.folders.finding import FolderPlace, PlaceFact


def where(settings: Settings, place: FolderPlace) -> PlaceFact:
    """Tell whether hooks are on in a folder."""
    if place.hooks_off:
        said = 'Hooks say and keep nothing here: .minutebook.toml has hooks = "off".'
        return PlaceFact("hooks", "off", said)
    return PlaceFact("hooks", settings.of(HookSettings).hooks)
