"""Hooks of clients: whether they are on, for how long they may take, and where they are off."""

from dataclasses import dataclass
from typing import ClassVar

from minutebook.config import Settings
from minutebook.config.kinds import SECONDS, OnOff, client_setting, one_of, separated
from minutebook.features.hooks import HOOK_WAIT
from minutebook.record.reason import Reason


@dataclass(frozen=True, kw_only=True)
class HookSettings(Settings):
    """Hooks of clients: whether they are on, for how long they may take, and where they are off."""

    FORMER: ClassVar[tuple[str, ...]] = ("hook_relevance", "hook_tokens")

    hooks: OnOff = client_setting(
        "on",
        one_of(OnOff),
        "`off`: hooks that clients were given say nothing and keep nothing.",
        is_common=True,
    )
    hook_wait: float = client_setting(
        HOOK_WAIT, SECONDS, "Seconds (0.01 to 60) after which a hook gives up silently."
    )
    hook_ignore: tuple[str, ...] = client_setting(
        (),
        separated(",", Reason("a list of folders, which may hold *")),
        "Folders in which hooks say nothing and keep nothing, with all below them: ~/private, */secret.",
    )
