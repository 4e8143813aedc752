"""Ids as a person types them: whole, or by a beginning or ending that only one has; with completion."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from minutebook.cli.printing import warn
from minutebook.cli.terminal import opened, settings_of, short
from minutebook.domain.caller import Caller
from minutebook.domain.control_characters import escaped
from minutebook.domain.errors import InvalidInput, MinutebookError
from minutebook.domain.ids import id_of, ledger_id_of
from minutebook.domain.reason import Word
from minutebook.domain.records import Decision, Memory, Proposal, Token
from minutebook.features.code.services import CodeServices

if TYPE_CHECKING:
    from minutebook.app import App

MOST_SHOWN = 10
"""How many candidates are shown of a part that several ids have."""

_MOST_COMPLETED = 50

Named = Memory | Token | Decision | Proposal
"""What a person may name by a part of its id."""

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def memory_id(app: "App", caller: Caller, text: str) -> str:
    """Return the id of the memory that a person named, by its UUID or by either end of its id.

    Raises InvalidInput if more than one memory fits.
    """
    return id_of(text) or _only(app, caller, (Memory,), text)


def token_id(app: "App", caller: Caller, text: str) -> str:
    """Return the id of the token that a person named. Raises InvalidInput if more than one fits."""
    return id_of(text) or _only(app, caller, (Token,), text)


def decision_id(app: "App", caller: Caller, text: str) -> str:
    """Return the id of the decision or proposal that a person named, with or without `.md`.

    Raises InvalidInput if more than one fits.
    """
    classes = (Decision, Proposal)
    return ledger_id_of(text) or _only(app, caller, classes, text.removesuffix(".md"))


def any_id(app: "App", caller: Caller, text: str) -> str:
    """Return the id of the memory, decision or proposal that a person named.

    Raises InvalidInput if more than one fits.
    """
    whole = ledger_id_of(text) or id_of(text)
    classes = (Memory, Decision, Proposal)
    return whole or _only(app, caller, classes, text.removesuffix(".md"))


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


def _only(app: "App", caller: Caller, classes: Sequence[type[Named]], text: str) -> str:
    """Return the only id that begins, or else ends, with the text; the text if none does."""
    for look in (app.id_lookup.begin_with, app.id_lookup.end_with) if text else ():
        found = [each for of in classes for each in look(caller, of, text, MOST_SHOWN + 1)]
        if len(found) == 1:
            return found[0].id
        if found:
            lines = [f"{each.id}  {_described(each)}" for each in found]
            _refuse(classes[0].kind, text, lines, len(found) > MOST_SHOWN)
    return text


def _refuse(kind: str, text: str, lines: Sequence[str], more: bool) -> None:  # noqa: FBT001
    warn(*lines[:MOST_SHOWN], *(["…"] if more else []))
    remedy = "could be any of {count}, shown above; type more of the {kind}"
    if more:
        remedy = "could be any of more than {count}, shown above; type more of the {kind}"
    raise InvalidInput(text, remedy, count=min(len(lines), MOST_SHOWN), kind=Word(kind))


def _described(record: Named) -> str:
    """Return what a person recognizes a record by."""
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


def _completing_names(names: Callable[["App", Caller], Iterable[tuple[str, str]]]) -> Complete:
    """Return what completes names, each with its description, that an open store gives."""

    def complete(
        context: click.Context, _: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        # A shell that completes is no place for errors, nor for half a line.
        try:
            with opened(context.find_object(dict) or {}) as (app, caller):
                return [
                    CompletionItem(value, help=escaped(text))
                    for value, text in names(app, caller)
                    if value.startswith(incomplete) and escaped(value) == value
                ]
        except MinutebookError:
            return []

    return complete


def _session_names(app: "App", caller: Caller) -> Iterator[tuple[str, str]]:
    """Yield the names and titles of the sessions written last, the latest first."""
    for each in app.sessions.overview(caller, _MOST_COMPLETED, 0).sessions:
        summary = app.summaries.of(each)
        yield each.name, summary.title if summary else ""


completing_sessions = _completing_names(_session_names)
completing_projects = _completing_names(
    lambda app, caller: (
        (each.id, each.path) for each in app.get(CodeServices).projects.all(caller)
    )
)
