"""Ids as a person types them: whole, or by a beginning or ending that only one has."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from minutebook.ask.memories import MOST_SHOWN, named_by_part
from minutebook.ask.memories import NamedRecord as NamedRecord
from minutebook.cli.printing import short, warn
from minutebook.record.errors import InvalidInput
from minutebook.record.ids import id_of, ledger_id_of
from minutebook.record.reason import Word
from minutebook.record.records import Kind

if TYPE_CHECKING:
    from minutebook.ask.connection import StoreConnection

_DECIDED = (Kind.DECISION, Kind.PROPOSAL)


def memory_id(api: "StoreConnection", text: str) -> str:
    """Return the id of the memory that a person named, by its UUID or by either end of its id.

    Raises InvalidInput if more than one memory fits.
    """
    return id_of(text) or _complete_id(api, (Kind.MEMORY,), text)


def decision_id(api: "StoreConnection", text: str) -> str:
    """Return the id of the decision or proposal that a person named, with or without `.md`.

    Raises InvalidInput if more than one fits.
    """
    return ledger_id_of(text) or _complete_id(api, _DECIDED, text.removesuffix(".md"))


def any_id(api: "StoreConnection", text: str) -> str:
    """Return the id of the memory, decision or proposal that a person named.

    Raises InvalidInput if more than one fits.
    """
    whole = ledger_id_of(text) or id_of(text)
    return whole or _complete_id(api, (Kind.MEMORY, *_DECIDED), text.removesuffix(".md"))


def complete_name(kind: str, names: Iterable[str], text: str) -> str:
    """Return the name that equals a text, or else the only one that begins with it; the text itself if none does.

    Raises InvalidInput, which names the `kind`, if several do.
    """
    known = list(names)
    if text in known:
        return text
    found = [name for name in known if name.startswith(text)]
    if len(found) > 1:
        _refuse(kind, text, found, len(found) > MOST_SHOWN)
    return found[0] if found else text


def _complete_id(api: "StoreConnection", kinds: tuple[Kind, ...], text: str) -> str:
    """Return the only id that begins with the text, or else ends with it; the text if none does."""
    return only_id(kinds[0], api.run(named_by_part, kinds, text) if text else [], text)


def only_id(kind: str, found: Sequence[NamedRecord], text: str) -> str:
    """Return the id of the only record in `found`, the text by which it was searched if that is empty.

    Raises InvalidInput if there are several.
    """
    if len(found) > 1:
        lines = [f"{each.id}  {short(' '.join(each.label.split()), 60)}" for each in found]
        _refuse(kind, text, lines, len(found) > MOST_SHOWN)
    return found[0].id if found else text


def _refuse(kind: str, text: str, lines: Sequence[str], more: bool) -> None:  # noqa: FBT001
    """Print the candidates, with `more` also an ellipsis. Raises InvalidInput, since the text fits several."""
    warn(*lines[:MOST_SHOWN], *(["…"] if more else []))
    remedy = "could be any of {count}, shown above; type more of the {kind}"
    if more:
        remedy = "could be any of more than {count}, shown above; type more of the {kind}"
    raise InvalidInput(text, remedy, count=min(len(lines), MOST_SHOWN), kind=Word(kind))
