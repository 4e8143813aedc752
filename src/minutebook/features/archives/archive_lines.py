"""The format of an archive of records, and of foreign archives.

The first line is a header, the last a seal; between them is a line for each record, in the order of
`KINDS`, so that parts come before their whole. Memory Core's exports, lines of
`{id, embedding, metadata, document}` without header and seal, are read, too. Lines of the journal's published data
model, a turn or a summary with those fields only, are read and written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from minutebook.record.errors import InvalidInput
from minutebook.record.instants import rfc3339
from minutebook.record.json_lines import json_line, version_refused
from minutebook.record.reason import must_be_one_of
from minutebook.record.records import SCORES, Category, Kind, Summary, Turn
from minutebook.record.writing.turns import summary_id

FORMAT = "minutebook-archive"
VERSION = 1

JOURNAL = (Kind.TURN, Kind.SUMMARY)
"""The kinds that any caller may export and import."""

KINDS = (
    *(Kind.VERSION, Kind.FILE, Kind.CHUNK, Kind.ENTRY, Kind.LINK),
    *(Kind.HEAD, Kind.ENTITY, Kind.RELATION, Kind.DECISION, Kind.PROPOSAL, Kind.PROJECT),
    *(Kind.TURN, Kind.SUMMARY),
    # Last, so that the entities that they mention are there.
    Kind.MEMORY,
)
"""Every kind that is archived, parts before what they are part of."""

DERIVED = (Kind.FILE, Kind.CHUNK, Kind.PROJECT)
"""The kinds that `minutebook index` makes anew from the folders of code: exported only if asked for."""

OWN = tuple(kind for kind in KINDS if kind not in DERIVED)
"""The kinds that cannot be derived again."""

LEFT_OUT = (Kind.MENTION, Kind.COMMIT, Kind.LEDGER, Kind.TOKEN)
"""The kinds that are never exported: mentions are made anew, commits are read from Git, a ledger's mark belongs to the Git
beside the store, and a token for one store must not let its bearer into another."""


TURN_TYPE = "agent-interaction"
"""The type of every turn in the journal's data model."""

_TURN_FIELDS = ("id", "sessionId", "timestamp", "prompt", "thought", "response", "type")
_SUMMARY_FIELDS = (
    *("id", "sessionId", "timestamp", "title", "summary", "category", "memoryCount"),
    *SCORES,
    "technologies",
)


class Mode(StrEnum):
    """The treatment of existing records by an import: they are left, or replaced by the archive."""

    MERGE = "merge"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Owner:
    """The scope and author of records from lines that name none."""

    organization: str
    repository: str | None
    user: str | None
    author: str


def header(made_at: datetime, counts: Mapping[Kind, int]) -> dict[str, object]:
    """Return an archive's header, with the number of records by kind."""
    created = made_at.astimezone(UTC).isoformat()
    return {"format": FORMAT, "version": VERSION, "made_at": created, "counts": dict(counts)}


def counts_of(header: Mapping[str, Any]) -> dict[Kind, int]:
    """Return the counts of a header.

    Raises InvalidInput if the header is not ours, or of another version.
    """
    if header.get("format") != FORMAT:
        raise InvalidInput("format", "must be {format}", format=FORMAT)
    if header.get("version") != VERSION:
        raise InvalidInput("version", version_refused(VERSION))
    counts = header.get("counts")
    if not isinstance(counts, dict) or not all(_is_count(each) for each in counts.values()):
        raise InvalidInput("counts", "must say how many records there are of each kind")
    unknown = counts.keys() - set(KINDS)
    if unknown:
        raise InvalidInput(
            "counts", "must name archived kinds only: {unknown} is none", unknown=min(unknown)
        )
    return {Kind(kind): count for kind, count in counts.items()}


def foreign_record(item: Mapping[str, Any], owner: Owner) -> Turn | Summary:
    """Return the record of a line that Memory Core wrote, without its embedding, which is another model's.

    Raises InvalidInput if a field is missing or has another type.
    """
    metadata = item.get("metadata")
    if not isinstance(metadata, dict):
        raise InvalidInput("metadata", "must be an object, as in Memory Core's exports")
    if "title" not in metadata:
        # Its store has no nulls, so a turn without a thought lacks the field.
        thought = _text(metadata, "thought") if "thought" in metadata else ""
        return _turn(metadata, owner, _text(item, "id"), thought)
    category = str(metadata.get("category", ""))
    is_known = category in list(Category)
    return _summary(
        metadata,
        owner,
        summary=_text(item, "document"),
        category=Category(category) if is_known else Category.OTHER,
        made_by="memory-core",
        reasons={} if is_known else {"category": f"Memory Core called it {category!r}"},
    )


def journal_line(record: Turn | Summary) -> bytes:
    """Return a turn or a summary as a line of the journal's published data model.

    Scope, author and the reasons for scores have no field there and are left out.
    """
    common = {"id": record.id, "sessionId": record.session, "timestamp": rfc3339(record.at)}
    if isinstance(record, Turn):
        return json_line(
            {
                **common,
                "prompt": record.prompt,
                "thought": record.thought,
                "response": record.response,
                "type": TURN_TYPE,
            }
        )
    return json_line(
        {
            **common,
            "title": record.title,
            "summary": record.summary,
            "category": record.category,
            "memoryCount": record.turn_count,
            **{name: getattr(record, name) for name in SCORES},
            "technologies": list(record.technologies),
        }
    )


def journal_record(item: Mapping[str, Any], owner: Owner) -> Turn | Summary:
    """Return the record of a line of the journal's published data model.

    A line with a title is a summary; its id is made of the session's name, as always. Raises
    InvalidInput, naming the field, if one is missing, unknown or does not fit.
    """
    fields = _SUMMARY_FIELDS if "title" in item else _TURN_FIELDS
    unknown = item.keys() - set(fields)
    if unknown:
        what = "summary" if "title" in item else "turn"
        remedy = "is no field of a {what} (it has {names})"
        raise InvalidInput(min(unknown), remedy, what=what, names=", ".join(fields))
    id = _text(item, "id")
    if not id:
        raise InvalidInput("id", "must not be empty")
    if "title" not in item:
        if item.get("type", TURN_TYPE) != TURN_TYPE:
            raise InvalidInput("type", "must be {name}", name=TURN_TYPE)
        return _turn(item, owner, id, _text(item, "thought"))
    category = _text(item, "category")
    if category not in list(Category):
        raise InvalidInput("category", must_be_one_of(Category))
    return _summary(
        item,
        owner,
        summary=_text(item, "summary"),
        category=Category(category),
        made_by="imported",
        reasons={},
    )


def _turn(item: Mapping[str, Any], owner: Owner, id: str, thought: str) -> Turn:
    return Turn(
        organization=owner.organization,
        id=id,
        session=_text(item, "sessionId"),
        at=_instant(item),
        prompt=_text(item, "prompt"),
        thought=thought,
        response=_text(item, "response"),
        author=owner.author,
        repository=owner.repository,
        user=owner.user,
    )


def _summary(
    item: Mapping[str, Any],
    owner: Owner,
    *,
    summary: str,
    category: Category,
    made_by: str,
    reasons: Mapping[str, str],
) -> Summary:
    session = _text(item, "sessionId")
    return Summary(
        organization=owner.organization,
        id=summary_id(session, owner.repository, owner.user),
        session=session,
        at=_instant(item),
        title=_text(item, "title"),
        summary=summary,
        category=category,
        turn_count=_whole(item, "memoryCount"),
        quality=_whole(item, "quality"),
        productivity=_whole(item, "productivity"),
        impact=_whole(item, "impact"),
        complexity=_whole(item, "complexity"),
        technologies=_technologies(item),
        made_by=made_by,
        reasons=reasons,
        last_turn="",
        author=owner.author,
        repository=owner.repository,
        user=owner.user,
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    if not isinstance(value, str):
        raise InvalidInput(name, "must be a text")
    return value


def _whole(item: Mapping[str, Any], name: str) -> int:
    """Return a number rounded: a model that was asked for a whole one may have given another."""
    value = item.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(name, "must be a number")
    return round(value)


def _technologies(item: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names in a list of texts, or in a text with commas, as Memory Core has it."""
    value = item.get("technologies", "")
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidInput("technologies", "must be a list of texts, or a text with commas")
    return tuple(each.strip() for each in value if each.strip())


def _instant(item: Mapping[str, Any]) -> datetime:
    """Return the instant in ISO text, in UTC if it names no zone, or in milliseconds since 1970."""
    value = item.get("timestamp")
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value)
            return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput("timestamp", "must be an instant") from error
    raise InvalidInput("timestamp", "must be ISO text or milliseconds since 1970")
