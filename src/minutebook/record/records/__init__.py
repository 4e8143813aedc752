"""The records that a store keeps: frozen values, each with an organization, a kind and an id.

`origin` tells of those that have one by which program, contract and session they were first written.
"""

from minutebook.record.records.access import Entry, Head, Role, Token
from minutebook.record.records.code import (
    MAX_CHUNK_TEXT,
    PASSAGE,
    CodeChunk,
    File,
    IndexState,
    Project,
    ProjectCommit,
)
from minutebook.record.records.decisions import (
    Authorship,
    Decision,
    DecisionStatus,
    LedgerMark,
    Proposal,
    ProposalStatus,
)
from minutebook.record.records.graph import Edge, Entity, Link, Mention, Relation, RelationText
from minutebook.record.records.journal import MOST_SCORE, SCORES, Category, Summary, Turn
from minutebook.record.records.memories import (
    Memory,
    MemoryType,
    ScopeLevel,
    Status,
    Version,
    text_of,
)
from minutebook.record.records.record import (
    DEFAULT_ORGANIZATION,
    DEFAULT_USER,
    SYSTEM_ORGANIZATION,
    Key,
    Kind,
    Record,
    TextRecord,
)

CLASSES: dict[Kind, type[Record]] = {
    record.kind: record
    for record in (
        *(Memory, Version, Entity, Relation, Link, Mention, Entry, Head, Project, File),
        *(CodeChunk, ProjectCommit, Decision, Proposal, LedgerMark, Token, Turn, Summary),
    )
}
"""The class of each kind of record."""

TEXT_CLASSES = {kind: each for kind, each in CLASSES.items() if issubclass(each, TextRecord)}
"""Those of records with a text that search reads."""

__all__ = [
    "CLASSES",
    "DEFAULT_ORGANIZATION",
    "DEFAULT_USER",
    "MAX_CHUNK_TEXT",
    "MOST_SCORE",
    "PASSAGE",
    "SCORES",
    "SYSTEM_ORGANIZATION",
    "TEXT_CLASSES",
    "Authorship",
    "Category",
    "CodeChunk",
    "Decision",
    "DecisionStatus",
    "Edge",
    "Entity",
    "Entry",
    "File",
    "Head",
    "IndexState",
    "Key",
    "Kind",
    "LedgerMark",
    "Link",
    "Memory",
    "MemoryType",
    "Mention",
    "Project",
    "ProjectCommit",
    "Proposal",
    "ProposalStatus",
    "Record",
    "Relation",
    "RelationText",
    "Role",
    "ScopeLevel",
    "Status",
    "Summary",
    "TextRecord",
    "Token",
    "Turn",
    "Version",
    "text_of",
]
