"""The selection of records to erase, and their texts."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from minutebook.app import App
from minutebook.memory.access.visibility import View
from minutebook.record import policy
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.errors import InvalidInput, NotFound
from minutebook.record.records import (
    Decision,
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
from minutebook.store.sql.side_words import SideRow, SideWords, document_of
from minutebook.text.words import words

_WITH_TEXTS: tuple[type[Record], ...] = (Memory, Entity, Decision, Proposal, Turn, Summary)
"""The classes of records that can be chosen by their words or their owner."""

ERASABLE: tuple[type[Record], ...] = (*_WITH_TEXTS, Relation)
"""The classes of records that can be chosen; their versions, links, mentions and relations are erased with them."""

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
"""The fields of each class that hold texts of persons or agents."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The records that a person chose: those that fit any of the fields."""

    ids: tuple[str, ...] = ()
    query: str | None = None
    """Words that stand in a record in a row."""
    user: str | None = None
    """The owner of records."""
    session: str | None = None
    """The session of turns and summaries."""


class ErasureSelection:
    """Finds the chosen records among those that a caller may see, soft-deleted memories included."""

    def __init__(self, app: App) -> None:
        self._store = app.infrastructure.records
        self._side_words = SideWords(app.infrastructure.database)

    def find(self, caller: Caller, choice: Choice) -> list[Record]:
        """Return the chosen records, with the proposals of decisions.

        Raises NotFound for an id that is not there, InvalidInput for a query without a word.
        """
        caller = without_folder_scope(caller)
        seen = self._store.seen_by(caller).where(with_deleted=True)
        found = [each for id in choice.ids for each in _with_id(seen, id)]
        for view in seen:
            if choice.query is not None:
                found += _records_saying(view, choice.query)
            if choice.user is not None:
                for kind in _WITH_TEXTS:
                    found += view.narrowed(user=choice.user).find(kind)
            if choice.session is not None:
                for kind in (Turn, Summary):
                    found += view.narrowed(session=choice.session).find(kind)
        for decision in [each for each in found if isinstance(each, Decision)]:
            if decision.proposal is not None:
                view = self._store.seen_in(decision.organization, caller)
                proposal = view.get(Proposal, decision.proposal)
                found += [] if proposal is None else [proposal]
        return list({(each.organization, each.kind, each.id): each for each in found}.values())

    def copies(self, caller: Caller, choice: Choice) -> list[SideRow]:
        """Return the rows of features' tables that hold the words of a query, or a user's records as they were.

        A caller that may not read the trail gets none. Raises InvalidInput for a query without a word.
        """
        if not (choice.query or choice.user) or not policy.may_audit(caller):
            return []
        wanted = None if choice.query is None else _words_test(choice.query)
        return [
            row
            for organization in self._store.seen_by(without_folder_scope(caller)).organizations
            for row in self._side_words.rows(organization)
            if (wanted is not None and any(map(wanted, texts_of_row(row))))
            or (choice.user is not None and choice.user in users_of_row(row))
        ]

    def texts(self, record: Record) -> list[str]:
        """Return the texts of a record, of a memory those of its versions, too."""
        found = texts_of(record)
        if isinstance(record, Memory):
            found += [text for each in self._store.versions(record) for text in texts_of(each)]
        return list(dict.fromkeys(found))


def _with_id(seen: Iterable[View], id: str) -> list[Record]:
    """Return the records with an id. Raises NotFound if there is none."""
    records = [record for view in seen for kind in ERASABLE if (record := view.get(kind, id))]
    if not records:
        raise NotFound(Kind.MEMORY, id)
    return records


def _records_saying(view: View, query: str) -> Iterator[Record]:
    """Yield the records that hold the words of a query in a row, a memory also if an earlier version does."""
    wanted = _words_test(query)

    def says(record: Record) -> bool:
        return any(map(wanted, texts_of(record)))

    memories = {each.memory for each in view.versions() if says(each)}
    for kind in _WITH_TEXTS:
        records: Iterator[Record] = view.each(kind)
        yield from (each for each in records if each.id in memories or says(each))


def _words_test(query: str) -> Callable[[str], bool]:
    """Return the test for texts with the words of a query in a row. Raises InvalidInput for a query without a word."""
    wanted = f" {' '.join(words(query))} "
    if not wanted.strip():
        raise InvalidInput("--query", "must hold a word")
    return lambda text: wanted in f" {' '.join(words(text))} "


def texts_of(record: Record) -> list[str]:
    """Return the texts of a record, without its earlier versions."""
    # The name of the model that made a summary is in log files, too: it is no text of the record.
    model = record.made_by if isinstance(record, Summary) else "\0"
    found = [
        part
        for name in _TEXTS.get(type(record), ())
        for text in strings_in(getattr(record, name))
        for part in text.split(model)
    ]
    return [text for text in found if text.strip()]


def texts_of_row(row: SideRow) -> Iterator[str]:
    """Yield each text in the words of a row, also those in its JSON documents."""
    for text in row.words.values():
        yield from strings_in(document_of(text))


def users_of_row(row: SideRow) -> Iterator[str]:
    """Yield the users of the records in the words of a row."""
    for text in row.words.values():
        yield from _users(document_of(text))


def strings_in(value: object) -> Iterator[str]:
    """Yield each text in a value; not the keys of mappings, which are names of columns."""
    match value:
        case str():
            yield value
        case Mapping():
            yield from (text for each in value.values() for text in strings_in(each))
        case list() | tuple():
            yield from (text for each in value for text in strings_in(each))


def _users(value: object) -> Iterator[str]:
    """Yield the values of each key `user` in a JSON document."""
    match value:
        case Mapping():
            if isinstance(user := value.get("user"), str):
                yield user
            yield from (user for each in value.values() for user in _users(each))
        case list():
            yield from (user for each in value for user in _users(each))
