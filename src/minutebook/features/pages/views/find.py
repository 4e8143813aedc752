"""Find: one field over memories, decisions, sessions and code; each hit says why it was found."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlencode

from minutebook.domain.errors import InvalidInput
from minutebook.domain.filters import MemoryQuery
from minutebook.domain.instants import moment_of
from minutebook.domain.reason import must_be_one_of
from minutebook.domain.records import MemoryType, ScopeLevel, Status
from minutebook.domain.sources import TEXTS, Source
from minutebook.features.code.pages.source import CodeHit, code_hits
from minutebook.features.code.services import CodeServices
from minutebook.features.explain.explained import Explained
from minutebook.features.explain.services import ExplainServices
from minutebook.features.ledger.search import Mode
from minutebook.features.ledger.services import LedgerServices
from minutebook.features.pages.frame.catalogue import Later, later
from minutebook.features.pages.frame.pages import Page, View, Visit
from minutebook.features.pages.frame.wording import notes_said
from minutebook.services.search.recall import Selection

LIMIT = 10
"""Hits of the ranking that are shown."""

BESIDE = 3
"""Pieces of code that are shown below it."""

CODE_LINES = 6
"""Lines of a piece of code that are shown."""

LISTED = 20
"""Memories on a page of the list that stands where nothing is asked."""

E = TypeVar("E", bound=StrEnum)


class Kinds(StrEnum):
    """The kinds of records to search."""

    ALL = "all"
    MEMORIES = "memories"
    DECISIONS = "decisions"
    SESSIONS = "sessions"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class FindQuery:
    """The query in an address: the question, the kinds to search, and which memories."""

    text: str
    kinds: Kinds
    selection: Selection
    offset: int
    fields: Mapping[str, str] = field(default_factory=dict)
    """The filters as they were typed, those that are not empty."""

    @property
    def is_narrowed(self) -> bool:
        """Whether a filter is set, which only memories have."""
        return bool(self.fields)

    def address(self, **changes: object) -> str:
        """Return the address of the same search with some of its parts changed."""
        parts = {"q": self.text, "in": self.kinds, **self.fields, "from": self.offset} | changes
        standard = {"in": Kinds.ALL, "from": 0}
        parameters = {
            name: value
            for name, value in parts.items()
            if value not in ("", None) and value != standard.get(name)
        }
        return f"/?{urlencode(parameters)}" if parameters else "/"


def show(visit: Visit) -> Page:
    """Show the hits; without a question the memories kept last."""
    query = find_query(visit.query)
    facts: dict[str, Any] = {
        "query": query,
        "kinds": KINDS,
        "choices": CHOICES,
        "hits": [],
        "code": [],
        "listed": None,
        "is_empty": False,
    }
    if query.text:
        facts |= _found(visit, query)
    elif query.kinds in (Kinds.ALL, Kinds.MEMORIES):
        page = visit.app.memories.page(
            visit.caller, LISTED, query.offset, query.selection.query, query.selection.at
        )
        # Memories of the system are everybody's: a store with nothing else is still an empty one.
        facts |= {"listed": page, "is_empty": not page.total and not query.is_narrowed}
    facts["notes"] = notes_said(visit.caller.call.notes)
    return Page("results.html" if visit.wants_part else "find.html", facts)


VIEWS: dict[tuple[str, str], tuple[str, View]] = {("GET", "/"): ("find", show)}


def find_query(parameters: Mapping[str, str]) -> FindQuery:
    """Read the query in an address. Raises InvalidInput, which names the field that is not fit."""
    given = {name: parameters.get(name, "").strip() for name in FIELDS}
    where = MemoryQuery(
        type=_choice(MemoryType, "type", given["type"]),
        status=_choice(Status, "status", given["status"]),
        scope=_choice(ScopeLevel, "scope", given["scope"]),
        author=given["by"] or None,
        client=given["client"] or None,
        since=day("since", given["since"]),
        until=day("until", given["until"], ends=True),
    )
    at = day("as_of", given["as_of"], ends=True)
    return FindQuery(
        parameters.get("q", "").strip(),
        _choice(Kinds, "in", parameters.get("in", "")) or Kinds.ALL,
        Selection(where, at),
        offset(parameters),
        {name: value for name, value in given.items() if value},
    )


def shown(query: Mapping[str, str], usual: int, most: int) -> int:
    """Read how many to show. Raises InvalidInput if it is no number from 1 to `most`."""
    given = query.get("show", str(usual))
    if not given.isdecimal() or not 1 <= int(given[:9]) <= most:
        remedy = "must be a number from 1 to {most} (got {given!r})"
        raise InvalidInput("show", remedy, most=most, given=given[:50])
    return int(given)


def offset(query: Mapping[str, str]) -> int:
    """Read how many to leave out first. Raises InvalidInput if it is no number."""
    given = query.get("from", "0")
    if not given.isdecimal() or len(given) > 9:
        raise InvalidInput(
            "from", "must be a number of 0 or more (got {given!r})", given=given[:50]
        )
    return int(given)


def day(name: str, given: str, *, ends: bool = False) -> datetime | None:
    """Read a day or an instant, in UTC; `ends` gives the end of a day. Raises InvalidInput."""
    if not given:
        return None
    try:
        return moment_of(given, ends=ends)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            name, "must be a day or a time, such as 2026-01-31 (got {given!r})", given=given[:50]
        ) from error


def _choice(of: type[E], name: str, given: str) -> E | None:
    if not given:
        return None
    try:
        return of(given)
    except ValueError as error:
        raise InvalidInput(name, must_be_one_of(of, given)) from error


def _found(visit: Visit, query: FindQuery) -> dict[str, Any]:
    app, caller = visit.app, visit.caller
    match query.kinds:
        case Kinds.MEMORIES:
            return {"hits": _recalled(visit, query, (Source.MEMORY,))}
        case Kinds.DECISIONS:
            found = app.get(LedgerServices).decision_search.search(
                caller, query.text, Mode.AUDIT, LIMIT
            )
            return {"hits": app.get(ExplainServices).explained.decisions(query.text, found)}
        case Kinds.SESSIONS:
            return {"hits": _recalled(visit, query, (Source.SESSION,))}
        case Kinds.CODE:
            return {"code": _code(visit, query.text, LIMIT)}
        case _:
            # Only memories have the other filters.
            if query.fields.keys() - {"as_of"}:
                return {"hits": _recalled(visit, query, (Source.MEMORY,))}
            return {
                "hits": _recalled(visit, query, TEXTS),
                "code": [] if query.is_narrowed else _code(visit, query.text, BESIDE),
            }


def _recalled(visit: Visit, query: FindQuery, sources: Collection[Source]) -> list[Explained]:
    explained = visit.app.get(ExplainServices).explained
    return explained.recall(visit.caller, query.text, LIMIT, sources, query.selection)[0]


def _code(visit: Visit, text: str, limit: int) -> list[CodeHit]:
    return code_hits(
        visit.app.get(CodeServices).code_search.search(visit.caller, text, limit), text, CODE_LINES
    )


FIELDS = ("type", "status", "scope", "by", "client", "since", "until", "as_of")
"""The filters, as the address names them."""

KINDS = {
    Kinds.ALL: later("Everything"),
    Kinds.MEMORIES: later("Memories"),
    Kinds.DECISIONS: later("Decisions"),
    Kinds.SESSIONS: later("Sessions"),
    Kinds.CODE: later("Code"),
}

CHOICES: dict[str, tuple[Later, tuple[str, ...]]] = {
    "type": (later("Type"), tuple(MemoryType)),
    "status": (later("Status"), tuple(Status)),
    "scope": (later("Scope"), tuple(ScopeLevel)),
}
