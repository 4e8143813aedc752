"""Ids as a person types them: whole, or by a beginning or ending that only one has; with completion."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from minutebook.cli.opening import opened, settings_of
from minutebook.cli.printing import short, warn
from minutebook.domain.control_characters import escaped
from minutebook.domain.errors import InvalidInput, MinutebookError
from minutebook.domain.ids import id_of, ledger_id_of
from minutebook.domain.reason import Word
from minutebook.domain.records import Decision, Kind, Memory, Proposal, Token
from minutebook.operations.memories import MOST_SHOWN, named_by_part
from minutebook.operations.memories import NamedRecord as NamedRecord

if TYPE_CHECKING:
    from minutebook.api.connection import Operating

_MOST_COMPLETED = 50
_DECIDED = (Kind.DECISION, Kind.PROPOSAL)

Named = Memory | Token | Decision | Proposal
"""What a person may name by a part of its id."""

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def memory_id(api: "Operating", text: str) -> str:
    """Return the id of the memory that a person named, by its UUID or by either end of its id.

    Raises InvalidInput if more than one memory fits.
    """
    return id_of(text) or _only(api, (Kind.MEMORY,), text)


def decision_id(api: "Operating", text: str) -> str:
    """Return the id of the decision or proposal that a person named, with or without `.md`.

    Raises InvalidInput if more than one fits.
    """
    return ledger_id_of(text) or _only(api, _DECIDED, text.removesuffix(".md"))


def any_id(api: "Operating", text: str) -> str:
    """Return the id of the memory, decision or proposal that a person named.

    Raises InvalidInput if more than one fits.
    """
    whole = ledger_id_of(text) or id_of(text)
    return whole or _only(api, (Kind.MEMORY, *_DECIDED), text.removesuffix(".md"))


def name_meant(kind: str, names: Iterable[str], text: str) -> str:
    """Return the name that equals the text, or else the only one that begins with it.

    Returns the text itself if none does. Raises InvalidInput if several do.
    """
    known = list(names)
    if text in known:
        return text
    found = [name for name in known if name.startswith(text)]
    if len(found) > 1:
        _refuse(kind, text, found, len(found) > MOST_SHOWN)
    return found[0] if found else text


def _only(api: "Operating", kinds: tuple[Kind, ...], text: str) -> str:
    """Return the only id that begins, or else ends, with the text; the text if none does."""
    return one_meant(kinds[0], api.run(named_by_part, kinds, text) if text else [], text)


def one_meant(kind: str, found: Sequence[NamedRecord], text: str) -> str:
    """Return the id of the only record that was found for a text; the text if none was.

    Raises InvalidInput if several were.
    """
    if len(found) > 1:
        lines = [f"{each.id}  {short(' '.join(each.label.split()), 60)}" for each in found]
        _refuse(kind, text, lines, len(found) > MOST_SHOWN)
    return found[0].id if found else text


def _refuse(kind: str, text: str, lines: Sequence[str], more: bool) -> None:  # noqa: FBT001
    warn(*lines[:MOST_SHOWN], *(["…"] if more else []))
    remedy = "could be any of {count}, shown above; type more of the {kind}"
    if more:
        remedy = "could be any of more than {count}, shown above; type more of the {kind}"
    raise InvalidInput(text, remedy, count=min(len(lines), MOST_SHOWN), kind=Word(kind))


def _described(record: Named) -> str:
    """Return the text by which a person recognizes a record."""
    match record:
        case Token():
            text = record.name
        case Memory():
            text = record.title or record.content
        case _:
            text = record.title
    return short(" ".join(text.split()), 60)


def completing(*classes: type[Named]) -> Complete:
    """Return a completer of the ids of some classes of records, newest first."""

    def complete(
        context: click.Context, _: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        # The store alone, without the app: a person waits for each key.
        from minutebook.services.access.visibility import Records
        from minutebook.services.knowledge.id_lookup import IdLookup
        from minutebook.stores import open_store

        try:
            settings = settings_of(context.find_object(dict) or {})
            if settings.store is None and not _is_begun(settings.database):
                return []
            with closing(open_store(settings)) as store:
                caller, lookup = settings.caller(), IdLookup(Records(store))
                found = [
                    each
                    for of in classes
                    for each in lookup.begin_with(caller, of, incomplete, _MOST_COMPLETED)
                ]
        except MinutebookError:
            return []
        return [
            CompletionItem(_as_begun(each, incomplete), help=escaped(_described(each)))
            for each in found
        ]

    return complete


def _as_begun(record: Named, text: str) -> str:
    """Return the form of a record's id that begins with the text."""
    if not isinstance(record, Memory) or record.id.startswith(text.lower()):
        return str(record.id)
    return str(record.uuid)


def _is_begun(database: Path) -> bool:
    """Tell whether a store was begun; an empty file is one that was lost."""
    try:
        return database.stat().st_size > 0
    except OSError:
        return False


def completing_values(choices: type[StrEnum]) -> Complete:
    """Return a completer of the values of an enumeration."""
    return lambda context, parameter, incomplete: [
        CompletionItem(each.value) for each in choices if each.startswith(incomplete)
    ]


def completing_names(names: Callable[["Operating"], Iterable[tuple[str, str]]]) -> Complete:
    """Return the completer of names, each with its description, that operations give."""

    def complete(
        context: click.Context, _: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        # A shell that completes is no place for errors, nor for half a line.
        try:
            with context, opened(context.find_object(dict) or {}) as api:
                return [
                    CompletionItem(value, help=escaped(text))
                    for value, text in names(api)
                    if value.startswith(incomplete) and escaped(value) == value
                ]
        except MinutebookError:
            return []

    return complete


def _sessions(api: "Operating") -> Iterable[tuple[str, str]]:
    from minutebook.operations.journal import sessions

    found = api.run(sessions, _MOST_COMPLETED).sessions
    return ((each.session.name, each.title or "") for each in found)


completing_sessions = completing_names(_sessions)
