"""All settings together."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from minutebook import __version__
from minutebook.config.subjects import (
    AnswerSettings,
    CallerSettings,
    ClientSettings,
    ContentSettings,
    EmbeddingSettings,
    ProcessSettings,
    StoreSettings,
)
from minutebook.feature import entries_of
from minutebook.record.caller import ANYBODY, Call, Caller
from minutebook.record.origin import Origin
from minutebook.record.records import Role
from minutebook.serve.invocation import DATABASE

P = TypeVar("P", bound="Settings")


@dataclass(frozen=True, kw_only=True)
class Settings(
    ProcessSettings,
    ClientSettings,
    AnswerSettings,
    EmbeddingSettings,
    ContentSettings,
    CallerSettings,
    StoreSettings,
):
    """The settings of the core that a person may set; `all_settings` has those of features, too."""

    @property
    def claims(self) -> Path:
        """The folder of the named locks."""
        return self.home / "claims"

    @property
    def database(self) -> Path:
        """The database file."""
        return self.home / DATABASE

    @property
    def server_index(self) -> Path:
        """The folder of the indices that this machine derives from a database on a server."""
        return self.home / "server-index"

    def of(self, part: type[P]) -> P:
        """Return these settings as those of a feature, by their class."""
        assert isinstance(self, part)
        return self

    def caller(self) -> Caller:
        """Return the caller that these settings identify."""
        return Caller(
            name=self.agent,
            role=self.role,
            organization=self.organization,
            repositories=None if self.repository is None else frozenset({self.repository}),
            user=self.user,
        )

    def person(self, given: Mapping[str, str], user: str) -> Caller:
        """Return the caller for the person at the keyboard, to which system scope is open too.

        `given` are the options that they typed. `user` is their name unless they gave another; they are no
        agent unless they said so.
        """
        request = f"command-line-{secrets.token_hex(4)}"
        call = Call(request=request, origin=Origin(client="minutebook", version=__version__))
        asks = replace(self.caller(), writes_system=True, call=call)
        if asks.role is Role.AGENT and "role" not in given:
            asks = replace(asks, role=Role.HUMAN)
        return replace(asks, name=user) if asks.name == ANYBODY else asks


@cache
def all_settings() -> type[Any]:
    """Return the class that has the settings of the core and of every feature."""
    parts: list[type[Settings]] = list(entries_of("settings"))
    return dataclass(frozen=True, kw_only=True)(type("AllSettings", (*parts, Settings), {}))


@cache
def former_settings() -> frozenset[str]:
    """Return the names of settings that there were once, of the core and of every feature."""
    return frozenset(
        name for part in all_settings().__mro__ for name in vars(part).get("FORMER", ())
    )


def settings_with(**values: Any) -> Settings:
    """Return settings that have these values, and else the defaults."""
    made: Settings = all_settings()(**values)
    return made


@cache
def hidden_settings() -> frozenset[str]:
    """Return the names of secret settings, which are shown nowhere."""
    return frozenset(each.name for each in fields(all_settings()) if each.metadata["is_secret"])


def shared(settings: Settings) -> Settings:
    """Return settings with the defaults of those that each client of a daemon has for itself.

    The organization is kept if a setting has a value that is for one organization.
    """
    standard = settings_with(home=settings.home)
    owners = {each.name: each.metadata["of"] for each in fields(settings)}
    own = {name for name, owner in owners.items() if owner == "client"}
    if any(getattr(settings, name) for name, owner in owners.items() if owner == "organization"):
        own.remove("organization")
    return replace(settings, **{name: getattr(standard, name) for name in own})


def differing(one: Settings, other: Settings) -> list[str]:
    """Return the names of the settings on which a client and a daemon have to agree, and do not."""
    one, other = shared(one), shared(other)
    return [
        each.name
        for each in fields(one)
        if each.metadata["of"] != "process" and getattr(one, each.name) != getattr(other, each.name)
    ]


def subjects() -> Sequence[type]:
    """Return the classes that state settings, those of the core first, in the order in which people read them."""
    return (*reversed(Settings.__bases__), *entries_of("settings"))
