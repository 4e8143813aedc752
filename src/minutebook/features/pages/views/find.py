"""The page *Find*: a search over memories, decisions, sessions and code, with the reasons for each hit."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlencode

from minutebook.features.pages.explained import Explained, ExplainedRecall
from minutebook.features.pages.frame.catalogue import Later, later
from minutebook.features.pages.frame.page import FindKind, Page, View, Visit
from minutebook.features.pages.frame.register import find_kinds, parts
from minutebook.features.pages.frame.wording import notes_said
from minutebook.memory.search.doubt import RELEVANCE
from minutebook.memory.search.recall import Selection
from minutebook.record import policy
from minutebook.record.caller import with_call
from minutebook.record.errors import InvalidInput
from minutebook.record.filters import MemoryQuery
from minutebook.record.instants import moment_of
from minutebook.record.reason import must_be_one_of
from minutebook.record.records import MemoryType, ScopeLevel, Status
from minutebook.record.sources import Source
from minutebook.text.answerability import Verdict

LIMIT = 10
"""Hits that are shown of each kind."""

LISTED = 20
"""Memories on a page of the list that is shown without a question."""

E = TypeVar("E", bound=StrEnum)


ALL, MEMORIES, SESSIONS = "all", "memories", "sessions"
"""The kinds of records to search, by their names in the address, without those of features."""


@dataclass(frozen=True, slots=True)
class FindQuery:
    """The query in an address: the question, the kinds to search, the conditions on memories, and the page of the list.

    `fields` are the filters that are set, as they were typed.
    """

    text: str
    kinds: str
    selection: Selection
    offset: int
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_narrowed(self) -> bool:
        """Whether a filter is set, which only memories have."""
        return bool(self.fields)

    def address(self, **changes: object) -> str:
        """Return the address of the same search with some of its parts changed."""
        parts = {"q": self.text, "in": self.kinds, **self.fields, "from": self.offset} | changes
        standard = {"in": ALL, "from": 0}
        parameters = {
            name: value
            for name, value in parts.items()
            if value not in ("", None) and value != standard.get(name)
        }
        return f"/find?{urlencode(parameters)}" if parameters else "/find"


def show(visit: Visit) -> Page:
    """Show the hits; without a question the newest memories."""
    query = find_query(visit.query)
    narrowed = policy.narrowed_to(visit.caller, repository=query.fields.get("project"))
    visit = replace(visit, caller=narrowed)
    facts: dict[str, Any] = {
        "query": query,
        "kinds": kinds(),
        "choices": CHOICES,
        "hits": [],
        "others": [],
        "beside": [],
        "count": 0,
        "begin": parts("find.empty", visit),
        "listed": None,
        "is_empty": False,
    }
    if query.text:
        facts |= _found(visit, query)
    elif query.kinds in (ALL, MEMORIES):
        page = visit.app.memories.page(
            visit.caller, LISTED, query.offset, query.selection.query, query.selection.at
        )
        # Memories of the system are everybody's: a store with nothing else is still an empty one.
        facts |= {"listed": page, "is_empty": not page.total and not query.is_narrowed}
    facts["notes"] = notes_said(visit.caller.call.notes)
    return Page("results.html" if visit.wants_part else "find.html", facts)


VIEWS: dict[tuple[str, str], tuple[str, View]] = {("GET", "/find"): ("find", show)}


def find_query(parameters: Mapping[str, str]) -> FindQuery:
    """Return the query in an address. Raises InvalidInput, which names the invalid field."""
    given = {name: parameters.get(name, "").strip() for name in FIELDS}
    where = MemoryQuery(
        type=_choice(MemoryType, "type", given["type"]),
        status=_choice(Status, "status", given["status"]),
        scope=_choice(ScopeLevel, "scope", given["scope"]),
        tags=(given["tag"],) if given["tag"] else (),
        author=given["by"] or None,
        client=given["client"] or None,
        since=day("since", given["since"]),
        until=day("until", given["until"], ends=True),
    )
    at = day("as_of", given["as_of"], ends=True)
    return FindQuery(
        parameters.get("q", "").strip(),
        _kind(parameters.get("in", "") or ALL),
        Selection(where, at),
        offset(parameters),
        {name: value for name, value in given.items() if value},
    )


def shown(query: Mapping[str, str], usual: int, most: int) -> int:
    """Return the number of entries to show, `usual` by default. Raises InvalidInput if it is not from 1 to `most`."""
    given = query.get("show", str(usual))
    if not given.isdecimal() or not 1 <= int(given[:9]) <= most:
        remedy = "must be a number from 1 to {most} (got {given!r})"
        raise InvalidInput("show", remedy, most=most, given=given[:50])
    return int(given)


def offset(query: Mapping[str, str]) -> int:
    """Return the number of entries to skip. Raises InvalidInput if it is not a number."""
    given = query.get("from", "0")
    if not given.isdecimal() or len(given) > 9:
        raise InvalidInput(
            "from", "must be a number of 0 or more (got {given!r})", given=given[:50]
        )
    return int(given)


def day(name: str, given: str, *, ends: bool = False) -> datetime | None:
    """Return the instant of a day or time in an address, with `ends` the end of a day. Raises InvalidInput."""
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


def kinds() -> Mapping[str, Later]:
    """Return the kinds of records to search by name, in order, with their labels."""
    own = [(0, ALL, later("Everything")), (10, MEMORIES, later("Memories"))]
    own.append((30, SESSIONS, later("Sessions")))
    found = [*own, *((each.place, each.name, each.label) for each in find_kinds())]
    return {name: label for _place, name, label in sorted(found, key=lambda each: each[0])}


def _kind(given: str) -> str:
    if given not in kinds():
        raise InvalidInput("in", must_be_one_of(kinds(), given))
    return given


def _found(visit: Visit, query: FindQuery) -> dict[str, Any]:
    """Return the facts of the page about hits: likely ones, other ones, those beside the ranking by template, and the count."""
    hits: list[Explained] = []
    beside: list[tuple[str, Sequence[Any]]] = []
    if query.kinds == MEMORIES or (
        query.kinds == ALL and query.fields.keys() - {"as_of", "project"}
    ):
        # Only memories have the other filters.
        hits = _recalled(visit, query, (Source.MEMORY,))
    elif query.kinds == SESSIONS:
        hits = _recalled(visit, query, (Source.SESSION,))
    elif query.kinds == ALL:
        hits = _recalled(visit, query, visit.app.recall_sources)
        if not query.is_narrowed:
            beside = [_beside_ranking(each, visit, query.text) for each in find_kinds()]
    else:
        chosen = next(each for each in find_kinds() if each.name == query.kinds)
        template, found = _search_kind(chosen, visit, query.text, LIMIT)
        if template:
            beside = [(template, found)]
        else:
            hits = list(found)
    beside = [(template, found) for template, found in beside if found]
    count = len(hits) + sum(len(found) for _template, found in beside)
    answers = [each for each in hits if each.verdict is not Verdict.UNLIKELY]
    others = [each for each in hits if each.verdict is Verdict.UNLIKELY] if answers else []
    return {"hits": answers or hits, "others": others, "beside": beside, "count": count}


def _beside_ranking(kind: FindKind, visit: Visit, text: str) -> tuple[str, Sequence[Any]]:
    """Return template and hits of a kind beside the ranking, without hits if they are in doubt."""
    own = with_call(visit.caller, notes={})
    found = _search_kind(kind, replace(visit, caller=own), text, kind.beside)
    return (kind.template, ()) if RELEVANCE in own.call.notes else found


def _search_kind(kind: FindKind, visit: Visit, text: str, limit: int) -> tuple[str, Sequence[Any]]:
    return kind.template, kind.search(visit, text, limit) if limit else ()


def _recalled(visit: Visit, query: FindQuery, sources: Collection[Source]) -> list[Explained]:
    explained = visit.app.get(ExplainedRecall)
    return explained.recall(visit.caller, query.text, LIMIT, sources, query.selection)[0]


FIELDS = ("project", "type", "status", "scope", "tag", "by", "client", "since", "until", "as_of")
"""The filters, as the address names them."""

CHOICES: dict[str, tuple[Later, tuple[str, ...]]] = {
    "type": (later("Type"), tuple(MemoryType)),
    "status": (later("Status"), tuple(Status)),
    "scope": (later("Holds for"), tuple(ScopeLevel)),
}
