"""Which records are to be erased, and what they say."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from minutebook.domain.caller import Caller, anywhere
from minutebook.domain.errors import InvalidInput, NotFound
from minutebook.domain.filters import Filter
from minutebook.domain.records import (
    Decision,
    Edge,
    Entity,
    Kind,
    Memory,
    Proposal,
    Record,
    Relation,
    Summary,
    Turn,
    Version,
)
from minutebook.search.text import words
from minutebook.services.access.visibility import filters, narrowed, sees_ends
from minutebook.store.protocol import Store

ERASABLE: tuple[type[Record], ...] = (
    *(Memory, Entity, Relation, Decision, Proposal, Turn, Summary),
)
"""What is erased by its id; with it goes what belongs to it: versions, links, mentions, relations."""

_TEXTS: Mapping[type[Record], tuple[str, ...]] = {
    Memory: ("title", "content", "reason", "metadata"),
    Version: ("title", "content"),
    Entity: ("name", "description", "aliases"),
    Relation: ("type",),
    Decision: ("title", "rationale", "consequences"),
    Proposal: ("title", "rationale", "consequences"),
    Turn: ("prompt", "thought", "response"),
    Summary: ("title", "summary", "reasons"),
}
"""The fields of each kind that hold what somebody said."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person chose: by ids, by words in a row, by whose it is, by the session."""

    ids: tuple[str, ...] = ()
    query: str | None = None
    user: str | None = None
    session: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was chosen."""
        return not (self.ids or self.query or self.user or self.session)


class Selection:
    """Finds what a person chose, of what they may see, soft-deleted memories included."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, caller: Caller, choice: Choice) -> list[Record]:
        """Return the chosen records, with the proposals of decisions.

        Raises NotFound for an id that is not there, InvalidInput for a query without a word.
        """
        caller = anywhere(caller)
        found = [each for id in choice.ids for each in self._named(caller, id)]
        wheres = [replace(each, with_deleted=True) for each in filters(self._store, caller)]
        for where in wheres:
            if choice.query is not None:
                found += self._saying(where, choice.query)
            if choice.user is not None:
                for of in ERASABLE:
                    if not issubclass(of, Edge):
                        found += self._store.find(of, narrowed(where, user=choice.user))
            if choice.session is not None:
                for of in (Turn, Summary):
                    found += self._store.find(of, narrowed(where, session=choice.session))
        for decision in [each for each in found if isinstance(each, Decision)]:
            if decision.proposal is not None:
                proposal = self._store.get(Proposal, decision.organization, decision.proposal)
                found += [] if proposal is None else [proposal]
        return list({(each.organization, each.kind, each.id): each for each in found}.values())

    def texts(self, record: Record) -> list[str]:
        """Return all that a record says, in every version of it."""
        found = texts_of(record)
        if isinstance(record, Memory):
            here = narrowed(Filter(organization=record.organization), memory=record.id)
            found += [text for each in self._store.find(Version, here) for text in texts_of(each)]
        return list(dict.fromkeys(found))

    def _named(self, caller: Caller, id: str) -> Iterator[Record]:
        found = False
        for where in filters(self._store, caller):
            everything = replace(where, with_deleted=True)
            for of in ERASABLE:
                record = self._store.get(of, where.organization, id)
                if record is None:
                    continue
                is_seen = (
                    sees_ends(self._store, caller, record)
                    if isinstance(record, Edge)
                    else everything.passes(record)
                )
                if is_seen:
                    found = True
                    yield record
        if not found:
            raise NotFound(Kind.MEMORY, id)

    def _saying(self, where: Filter, query: str) -> Iterator[Record]:
        """Yield what holds the words of a query in a row, a memory also if an earlier version does."""
        wanted = f" {' '.join(words(query))} "
        if not wanted.strip():
            raise InvalidInput("--query", "must hold a word")

        def says(record: Record) -> bool:
            return any(wanted in f" {' '.join(words(text))} " for text in texts_of(record))

        here = Filter(organization=where.organization)
        once = {each.memory for each in self._store.each(Version, here, ()) if says(each)}
        for of in ERASABLE:
            if issubclass(of, Edge):
                continue
            records: Iterator[Record] = self._store.each(of, where, ())
            yield from (each for each in records if each.id in once or says(each))


def counts_of(records: Sequence[Record]) -> dict[str, int]:
    """Count records by kind."""
    return dict(sorted(Counter(str(each.kind) for each in records).items()))


def texts_of(record: Record) -> list[str]:
    """Return the texts that a record holds, without its earlier versions."""
    found: list[str] = []
    for name in _TEXTS.get(type(record), ()):
        found += _strings(getattr(record, name))
    return [text for text in found if text.strip()]


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            # Not the names, which are a program's: tables have columns of the same.
            for each in value.values():
                yield from _strings(each)
        case tuple() | list():
            for each in value:
                yield from _strings(each)
