"""The fields that all records have."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

SYSTEM_ORGANIZATION = "~system"
"""The organization that holds system-wide records; every caller may read it."""

DEFAULT_ORGANIZATION = "default"
"""The organization of records for which nobody named one."""

DEFAULT_USER = "default"
"""The user of memories of user scope for which nobody named one."""


class Kind(StrEnum):
    """The class of a record."""

    MEMORY = "memory"
    VERSION = "version"
    ENTITY = "entity"
    RELATION = "relation"
    LINK = "link"
    MENTION = "mention"
    ENTRY = "entry"
    HEAD = "head"
    DECISION = "decision"
    PROPOSAL = "proposal"
    TURN = "turn"
    SUMMARY = "summary"
    PROJECT = "project"
    FILE = "file"
    CHUNK = "chunk"
    COMMIT = "commit"
    LEDGER = "ledger"
    TOKEN = "token"  # noqa: S105


Key: TypeAlias = tuple[str, Kind, str]
"""The organization, kind and id of a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A stored value, known by its organization, kind and id."""

    kind: ClassVar[Kind]

    organization: str
    id: str

    @property
    def key(self) -> Key:
        """The organization, kind and id."""
        return self.organization, self.kind, self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRecord(Record, ABC):
    """A record with a text that search reads."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The text that search reads."""

    @property
    def passage(self) -> str:
        """The part of the text that is embedded: all of it."""
        return self.text
