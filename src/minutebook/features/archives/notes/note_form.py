"""Records as Markdown notes, which Obsidian opens: properties in front, links at the end.

The same records always make the same bytes.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import yaml

from minutebook.record.control_characters import encodable
from minutebook.record.instants import rfc3339
from minutebook.record.origin import byline
from minutebook.record.records import Decision, Entity, Memory, Summary, Turn

MARK = "minutebook"
"""The field in the front matter of each note with the kind of the record."""

LINKS = "<!-- links -->"
"""The line between the record's own text and the links."""

_SLUG = 48
"""The most characters of a title in the name of a file."""

_encodable = partial(encodable, mark="?")

_CONFLICT = (
    "This is what the file said when the memory was changed elsewhere, too. Nobody reads it: take what "
    "is of use into the file and delete this one."
)

_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True, slots=True)
class Target:
    """A note that others link to: its path without `.md`, and the label of the link."""

    path: str
    label: str

    @property
    def link(self) -> str:
        """The wiki link."""
        label = re.sub(r"[\[\]|\s]+", " ", self.label).strip()[:80]
        return f"[[{self.path}|{label}]]" if label else f"[[{self.path}]]"


def slug(text: str) -> str:
    """Return a text as a part of a file's name that every system accepts."""
    # Composed (NFC), because some systems compose the names of files by themselves.
    lowered = unicodedata.normalize("NFC", text[: 4 * _SLUG].lower())
    return re.sub(r"[\W_]+", "-", lowered)[:_SLUG].strip("-")


def target_of(folder: str, label: str, id: str) -> Target:
    """Return the target for a record's note; its path is a folder, the label and the end of the id."""
    tail = re.sub(r"[^0-9a-z]", "", id.lower())[-8:]
    return Target(f"{folder}/{'-'.join(filter(None, (slug(label), tail)))}", label)


def memory_label(memory: Memory) -> str:
    """Return the label of a memory: its title, else its first words."""
    return memory.title or " ".join(memory.content[:400].split()[:8])


def memory_note(
    memory: Memory, links: Sequence[tuple[str, Target]], conflict: str | None = None
) -> str:
    """Return the note of a memory: its fields in front, its content, its links by type.

    `conflict` is the name of the file with another version of it.
    """
    front = {
        MARK: "memory",
        "id": memory.id,
        "title": memory.title,
        "type": str(memory.type),
        "scope": str(memory.scope),
        "status": str(memory.status),
        "author": byline(memory.author, memory.origin),
        "created": rfc3339(memory.event_time),
        "learned": rfc3339(memory.ingestion_time),
        "updated": rfc3339(memory.updated_at),
        "valid_from": rfc3339(memory.valid_from),
        "valid_until": None if memory.valid_until is None else rfc3339(memory.valid_until),
        "reason": memory.reason,
        **_scope_fields(memory),
        "version": memory.version,
        "importance": None if memory.importance == 1.0 else memory.importance,
        "from": None if memory.origin is None else memory.origin.program,
        "tags": memory.metadata.get("tags"),
        "metadata": dict(memory.metadata),
        "conflict": conflict,
    }
    return _note(front, memory.content, links)


def conflict_note(memory: str, file: str, text: str) -> str:
    """Return the note of a conflict, with the whole text of a note that was edited while its memory changed elsewhere."""
    front = {MARK: "conflict", "conflict_of": memory, "file": file, "note": _CONFLICT}
    return _note(front, text, ())


def link_lines(links: Sequence[tuple[str, Target]]) -> list[str]:
    """Return the lines for links at the end of a note."""
    return [_encodable(f"- {_type(type)} {target.link}") for type, target in links]


def entity_note(entity: Entity, links: Sequence[tuple[str, Target]]) -> str:
    """Return the note of an entity: its description, and its relations in the form of basic-memory."""
    front = {
        MARK: "entity",
        "id": entity.id,
        "title": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "author": byline(entity.author, entity.origin),
        "created": rfc3339(entity.created_at),
        **_scope_fields(entity),
    }
    return _note(front, entity.description or "", links)


def decision_note(decision: Decision, links: Sequence[tuple[str, Target]]) -> str:
    """Return the note of a decision: its target, rationale and consequences."""
    front = {
        MARK: "decision",
        "id": decision.id,
        "title": decision.title,
        "target": decision.target,
        "status": str(decision.status),
        "authorship": str(decision.authorship),
        "author": byline(decision.author, decision.origin),
        "created": rfc3339(decision.created_at),
        "commit": decision.commit_id,
        **_scope_fields(decision),
    }
    body = f"# {_line(decision.title)}\n\n{decision.rationale}"
    if decision.consequences:
        listed = "\n".join(f"- {_line(each)}" for each in decision.consequences)
        body = f"{body}\n\n## Consequences\n\n{listed}"
    return _note(front, body, links)


def session_note(
    name: str, first: Turn, summary: Summary | None, turns: Iterable[Turn]
) -> Iterator[str]:
    """Yield the note of a session in pieces: its summary, then its turns."""
    front = {
        MARK: "session",
        "title": None if summary is None else summary.title,
        "session": name,
        "began": rfc3339(first.at),
        "category": None if summary is None else str(summary.category),
        **_scope_fields(first),
    }
    yield _note(front, f"# {_line(name)}" if summary is None else summary.summary, ())
    for turn in turns:
        yield f"\n## {rfc3339(turn.at)}\n"
        for heading, text in (
            ("Prompt", turn.prompt),
            ("Thought", turn.thought),
            ("Response", turn.response),
        ):
            if text:
                yield f"\n### {heading}\n\n{_encodable(text)}\n"


def _scope_fields(record: Memory | Entity | Decision | Turn) -> dict[str, str | None]:
    return {"repository": record.repository, "user": record.user}


def _note(front: Mapping[str, object], body: str, links: Sequence[tuple[str, Target]]) -> str:
    given = {
        name: _encodable(each) for name, each in front.items() if each not in (None, "", [], {})
    }
    head = yaml.dump(
        given, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**20, indent=2
    )
    text = f"---\n{head}---\n\n{_encodable(body)}\n" if body else f"---\n{head}---\n"
    if links:
        listed = "\n".join(link_lines(links))
        text += f"\n{LINKS}\n{listed}\n"
    return text


def _type(text: str) -> str:
    """Return the type of a link as one word, or in quotation marks."""
    line = re.sub(r"[\[\]\"\s]+", " ", text).strip()
    return line if line and " " not in line else f'"{line}"'


def _line(text: str) -> str:
    return " ".join(_encodable(text).split())
