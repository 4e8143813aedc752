"""All settings together."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from minutebook import __version__
from minutebook.config.answers import AnswerSettings
from minutebook.config.archives import ArchiveSettings
from minutebook.config.callers import CallerSettings
from minutebook.config.clients import ClientSettings
from minutebook.config.content import ContentSettings
from minutebook.config.decisions import DecisionSettings
from minutebook.config.embedding import EmbeddingSettings
from minutebook.config.hooks import HookSettings
from minutebook.config.http import HttpSettings
from minutebook.config.process import ProcessSettings
from minutebook.config.sessions import SessionSettings
from minutebook.config.sign_in import SignInSettings
from minutebook.config.store import StoreSettings
from minutebook.config.tidying import TidyingSettings
from minutebook.domain.caller import ANYBODY, Call, Caller
from minutebook.domain.origin import Origin
from minutebook.domain.records import Role


@dataclass(frozen=True, kw_only=True)
class Settings(
    SignInSettings,
    HttpSettings,
    ProcessSettings,
    HookSettings,
    ClientSettings,
    SessionSettings,
    DecisionSettings,
    AnswerSettings,
    TidyingSettings,
    ArchiveSettings,
    EmbeddingSettings,
    ContentSettings,
    CallerSettings,
    StoreSettings,
):
    """What a person may set; `SUBJECTS` has the parts in the order in which people read them."""

    @property
    def claims(self) -> Path:
        """The folder of the named locks."""
        return self.home / "claims"

    @property
    def ledgers(self) -> Path:
        """The folder of the ledgers that are not placed elsewhere."""
        return self.ledgers_folder or self.home / "ledgers"

    @property
    def ledger_key(self) -> Path:
        """The file with the key by which this store knows its own commits to ledgers."""
        return self.home / "ledger.key"

    @property
    def secret(self) -> Path:
        """The file with the hash of the secret."""
        return self.home / "secret"

    @property
    def database(self) -> Path:
        """The database file."""
        return self.home / "minutebook.db"

    @property
    def server_index(self) -> Path:
        """The folder of the indices that this machine derives from a database on a server."""
        return self.home / "server-index"

    @property
    def backups(self) -> Path:
        """The folder in which clients may name archives, unless `archive_roots` names others."""
        return self.home / "backups"

    @property
    def scheduled_backups(self) -> Path:
        """The folder of the backups that are made by schedule."""
        return self.backup_folder or self.backups

    @property
    def trusts_issuer(self) -> bool:
        """Whether signed tokens let others in."""
        return self.jwt_issuer is not None

    def caller(self) -> Caller:
        """Return the caller whose identity these settings state."""
        return Caller(
            name=self.agent,
            role=self.role,
            organization=self.organization,
            repositories=None if self.repository is None else frozenset({self.repository}),
            user=self.user,
            as_of=self.recall_at,
        )

    def person(self, given: Mapping[str, str], user: str) -> Caller:
        """Return the caller that a person at the keyboard is, to whom system scope is open too.

        `given` are the options that they typed. `user` is their name unless they gave another; they are no
        agent unless they said so.
        """
        call = Call(request="command-line", origin=Origin(client="minutebook", version=__version__))
        asks = replace(self.caller(), writes_system=True, call=call)
        if asks.role is Role.AGENT and "role" not in given:
            asks = replace(asks, role=Role.HUMAN)
        return replace(asks, name=user) if asks.name == ANYBODY else asks


SUBJECTS = tuple(reversed(Settings.__bases__))
