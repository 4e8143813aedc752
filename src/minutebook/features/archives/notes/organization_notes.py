"""The notes of one organization: their paths, links and content."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from minutebook.features.archives.notes import note_form
from minutebook.features.archives.notes.note_folder import AgreedFile, agreed_on
from minutebook.features.archives.notes.note_form import Target
from minutebook.memory.access.visibility import VisibleMoment
from minutebook.record.json_lines import json_line
from minutebook.record.records import (
    DEFAULT_ORGANIZATION,
    Decision,
    Edge,
    Entity,
    Kind,
    Link,
    Memory,
    Mention,
    Record,
    Relation,
    Summary,
    Turn,
)

File: TypeAlias = tuple[AgreedFile, Iterable[bytes]]
"""The state that a note is to have, without the digest of its file, and its content in pieces."""

_Links: TypeAlias = Mapping[str, list[tuple[str, Target]]]
"""The links of records, by id: the type of each edge, and the note that it leads to."""


class OrganizationNotes:
    """The notes of one organization, as of one moment."""

    def __init__(self, moment: VisibleMoment, paths: Mapping[str, str] | None = None) -> None:
        """Choose the path of each note; `paths` has by id those of existing notes, without `.md`."""
        self._moment = moment
        name = moment.organization
        self._root = (
            "" if name == DEFAULT_ORGANIZATION else f"organizations/{note_form.slug(name)}/"
        )
        self._targets: dict[str, Target] = {}
        self._paths: set[str] = set()
        given = paths or {}
        self._paths.update(given.values())
        for memory in moment.each(Memory):
            label = note_form.memory_label(memory)
            if memory.id in given:
                self._targets[memory.id] = Target(given[memory.id], label)
            else:
                self._name("memories", label, memory.id)
        for entity in moment.each(Entity):
            self._name("entities", entity.name, entity.id)
        for decision in moment.each(Decision):
            self._name("decisions", decision.title, decision.id)

    def files(self) -> Iterator[File]:
        """Yield each note."""
        for memory, name, links in self.memories():
            yield agreed_on(memory, name, links), [note_form.memory_note(memory, links).encode()]
        yield from self.others()

    def memories(self) -> Iterator[tuple[Memory, str, Sequence[tuple[str, Target]]]]:
        """Yield each memory with the path of its note and its links."""
        links = self._links(Mention, Link)
        for memory in self._moment.each(Memory):
            own = links.get(memory.id, [])
            if memory.superseded_by in self._targets:
                own = [("superseded_by", self._targets[memory.superseded_by]), *own]
            yield memory, f"{self._targets[memory.id].path}.md", own

    def others(self) -> Iterator[File]:
        """Yield the notes of entities, decisions and sessions."""
        links = self._links(Relation)
        for entity in self._moment.each(Entity):
            yield self._file(entity, note_form.entity_note(entity, links.get(entity.id, [])))
        for decision in self._moment.each(Decision):
            own = [
                (type, self._targets[id])
                for type, ids in (
                    ("supersedes", decision.supersedes),
                    ("superseded_by", decision.superseded_by),
                )
                for id in ids
                if id in self._targets
            ]
            yield self._file(decision, note_form.decision_note(decision, own))
        yield from self._sessions()

    def _sessions(self) -> Iterator[File]:
        """Yield the notes of sessions, with the turns of one session in memory."""
        firsts: dict[tuple[str, str | None, str | None], Turn] = {}
        for turn in self._moment.each(Turn):
            key = (turn.session, turn.repository, turn.user)
            first = firsts.get(key)
            if first is None or turn.at < first.at:
                firsts[key] = replace(turn, prompt="", thought="", response="")
        for (session, repository, user), first in firsts.items():
            here = self._moment.narrowed(session=session, repository=repository, user=user)
            summary = next(iter(here.each(Summary)), None)
            turns = sorted(here.each(Turn), key=lambda turn: (turn.at, turn.id))
            id = hashlib.sha256(json_line({"": [session, repository, user]})).hexdigest()
            target = note_form.target_of(f"{self._root}sessions", session, id)
            pieces = note_form.session_note(session, first, summary, turns)
            agreed = AgreedFile(Kind.TURN, "", "", f"{target.path}.md")
            yield agreed, (piece.encode() for piece in pieces)

    def _name(self, folder: str, label: str, id: str) -> None:
        """Choose a path in the folder for the note of a record, other than that of every other note."""
        target = note_form.target_of(f"{self._root}{folder}", label, id)
        if target.path in self._paths:
            # Another record has the same label and end of its id.
            whole = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()
            target = replace(target, path=f"{target.path}-{whole}")
        self._paths.add(target.path)
        self._targets[id] = target

    def _file(self, record: Record, text: str) -> File:
        return AgreedFile(record.kind, "", "", f"{self._targets[record.id].path}.md"), [
            text.encode()
        ]

    def _links(self, *classes: type[Edge]) -> _Links:
        """Return the links by edges of some classes whose ends both have notes, sorted by type and path."""
        links: dict[str, list[tuple[str, Target]]] = defaultdict(list)
        for of in classes:
            for edge in self._moment.each(of):
                if edge.source in self._targets and edge.target in self._targets:
                    links[edge.source].append((edge.type, self._targets[edge.target]))
        for own in links.values():
            own.sort(key=lambda link: (link[0], link[1].path))
        return links
