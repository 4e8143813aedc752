"""Projects of code: their files, chunks and commits."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from minutebook.record.records.record import Kind, Record, TextRecord


class IndexState(StrEnum):
    """The progress of a project's index."""

    PENDING = "pending"
    INDEXING = "indexing"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(Record):
    """A folder of code that was indexed under a name, which is its id; `path` is the folder's.

    Of `total_files` found, `indexed_files` have been read; all were at `read_at`. The state is completed
    when their chunks have vectors as well. `skipped` counts the files left out, by reason. `reason`
    tells why the state is failed.
    """

    kind: ClassVar[Kind] = Kind.PROJECT

    path: str
    author: str
    state: IndexState
    started_at: datetime
    read_at: datetime | None = None
    completed_at: datetime | None = None
    total_files: int = 0
    indexed_files: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None
    repository: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class File(Record):
    """A file of a project as it was when last read: the digest of its bytes, and its stamp on disk (size and times)."""

    kind: ClassVar[Kind] = Kind.FILE

    project: str
    path: str
    stamp: str
    digest: str
    repository: str | None = None
    user: str | None = None


MAX_CHUNK_TEXT = 6000
"""Characters of a chunk that search reads, so that an endless line costs no more."""

MAX_PASSAGE = 400
"""Characters of a chunk that are embedded: path, name and first lines, about 80 tokens on average."""

PASSAGE = f"code {MAX_PASSAGE}"
"""The name of the rule by which passages of chunks are cut; vectors made under another name are made again."""

_PARTS = re.compile(r"\.|::|#|/")
_HUMPS = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeChunk(TextRecord):
    """Lines of a project's file, from `start_line` to `end_line`, counted from 1, both included.

    `type` is function, class, struct, module, impl or other; `name` holds the enclosing names
    (`Outer.method`); it and `signature` are empty outside of any definition.
    """

    kind: ClassVar[Kind] = Kind.CHUNK

    project: str
    path: str
    language: str
    type: str
    name: str
    signature: str
    start_line: int
    end_line: int
    content: str
    repository: str | None = None
    user: str | None = None

    @property
    def text(self) -> str:
        """The text that search reads: path and name, then the lines.

        A name of several words stands there in words as well; the signature is left out where the
        lines begin with it.
        """
        facts = [self.path, self.name]
        own = _PARTS.split(self.name)[-1]
        in_words = " ".join(filter(None, _HUMPS.split(own)))
        if in_words != own:
            facts.append(in_words)
        opening = " ".join(self.content[:MAX_CHUNK_TEXT].split())
        if self.signature not in opening:
            facts.append(self.signature)
        head = "\n".join(fact for fact in facts if fact)
        return f"{head}\n{self.content.strip()}"[:MAX_CHUNK_TEXT]

    @property
    def passage(self) -> str:
        """The part of the text that is embedded: its beginning. Words find the rest."""
        return self.text[:MAX_PASSAGE]


MAX_SUBJECT, MAX_MESSAGE, MAX_CHANGES = 60, 100, 130
"""Characters of a commit that are embedded: of its message alone where it changes no code, else of its message and of changed lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCommit(TextRecord):
    """A commit in the history of a project: its message, the paths of files that it changed, and changed lines of code.

    `author` is as Git gives it, `sha` the full one. It is derived: it can be read from Git again, and is removed when no branch has it.
    """

    kind: ClassVar[Kind] = Kind.COMMIT

    project: str
    sha: str
    at: datetime
    author: str
    message: str
    files: tuple[str, ...] = ()
    changes: str = ""
    repository: str | None = None
    user: str | None = None

    @property
    def text(self) -> str:
        """The text that search reads: the message, then the files, then the lines."""
        return "\n".join((self.message, *self.files, self.changes))

    @property
    def passage(self) -> str:
        """The part of the text that is embedded: the beginnings of message and lines. Words find the rest."""
        if not self.changes:
            return self.message[:MAX_SUBJECT]
        return f"{self.message[:MAX_MESSAGE]}\n{self.changes[:MAX_CHANGES]}"
