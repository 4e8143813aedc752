"""The name of a record of any kind on a page, the address of its page, and its time."""

from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from minutebook.record.records import CodeChunk, Kind, ProjectCommit, Record, TextRecord, Turn

LONGEST_NAME = 160
"""Characters of a record's name."""


def name_of(record: Record) -> str:
    """Return a record's title, name or first words on one line; its id if it has none of these."""
    any_record: Any = record
    match record:
        case CodeChunk():
            words = f"{record.path}:{record.start_line} {record.name}"
        case ProjectCommit():
            words = record.message.partition("\n")[0]
        case Turn():
            words = record.prompt or record.shown_text
        case _:
            text = record.text if isinstance(record, TextRecord) else ""
            words = getattr(any_record, "title", None) or getattr(any_record, "name", None) or text
    words = " ".join(words[: 4 * LONGEST_NAME].split())
    cut = words if len(words) <= LONGEST_NAME else words[: LONGEST_NAME - 1].rstrip() + "…"
    return cut or record.id


def address_of(record: Record) -> str:
    """Return the address of a record's page; "" if it has none."""
    any_record: Any = record
    if record.kind in (Kind.TURN, Kind.SUMMARY):
        turn = f"#{record.id}" if record.kind is Kind.TURN else ""
        return "/session?" + urlencode({"name": any_record.session}) + turn
    return page_of(record.kind, record.id)


def page_of(kind: Kind, id: str) -> str:
    """Return the address of the page of a record by kind and id, also if it is gone; "" if it has none."""
    match kind:
        case Kind.MEMORY if id != "*":
            return f"/memories/{quote(id, safe='')}"
        case Kind.DECISION | Kind.PROPOSAL:
            return f"/decisions/{quote(id, safe='')}"
        case Kind.ENTITY:
            return "/graph?" + urlencode({"at": id})
        case _:
            return ""


def written_at(record: Record) -> datetime | None:
    """Return when a record was written; None if that is not known."""
    times = (getattr(record, name, None) for name in ("ingestion_time", "created_at", "at"))
    return next((each for each in times if each is not None), None)


def project_name(repository: str) -> str:
    """Return the last part of a repository's name: `shop` for `git.example.org/kim/shop`."""
    return repository.rstrip("/").rpartition("/")[2] or repository
