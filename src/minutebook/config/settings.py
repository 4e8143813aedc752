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
    """The settings of the core; `all_settings` adds those of features."""

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
        """Return the caller for the person at the keyboard, with system scope open to them.

        `given` are the typed options, `user` is the name if the settings have none. The role is HUMAN in place of
        AGENT, unless an option names the role.
        """
        request = f"command-line-{secrets.token_hex(4)}"
        call = Call(request=request, origin=Origin(client="minutebook", version=__version__))
        person = replace(self.caller(), writes_system=True, call=call)
        if person.role is Role.AGENT and "role" not in given:
            person = replace(person, role=Role.HUMAN)
        return replace(person, name=user) if person.name == ANYBODY else person


@cache
def all_settings() -> type[Any]:
    """Return the class with the settings of the core and of every feature."""
    parts: list[type[Settings]] = list(entries_of("settings"))
    return dataclass(frozen=True, kw_only=True)(type("AllSettings", (*parts, Settings), {}))


@cache
def former_settings() -> frozenset[str]:
    """Return the names of settings of earlier releases, of the core and of every feature."""
    return frozenset(
        name for part in all_settings().__mro__ for name in vars(part).get("FORMER", ())
    )


def settings_with(**values: Any) -> Settings:
    """Return settings with these values, and defaults for the others."""
    made: Settings = all_settings()(**values)
    return made


@cache
def hidden_settings() -> frozenset[str]:
    """Return the names of secret settings, which are shown nowhere."""
    return frozenset(each.name for each in fields(all_settings()) if each.metadata["is_secret"])


def shared(settings: Settings) -> Settings:
    """Return settings with defaults in place of the values that each client of a daemon has for itself.

    The organization stays if a setting is set that holds for one organization.
    """
    standard = settings_with(home=settings.home)
    owners = {each.name: each.metadata["owner"] for each in fields(settings)}
    own = {name for name, owner in owners.items() if owner == "client"}
    if any(getattr(settings, name) for name, owner in owners.items() if owner == "organization"):
        own.remove("organization")
    return replace(settings, **{name: getattr(standard, name) for name in own})


def differing(one: Settings, other: Settings) -> list[str]:
    """Return the names of the settings that a client and a daemon must have in common, but have not."""
    one, other = shared(one), shared(other)
    return [
        each.name
        for each in fields(one)
        if each.metadata["owner"] != "process"
        and getattr(one, each.name) != getattr(other, each.name)
    ]


def subjects() -> Sequence[type]:
    """Return the classes that declare settings, those of the core first, in the order of the documentation."""
    return (*reversed(Settings.__bases__), *entries_of("settings"))
