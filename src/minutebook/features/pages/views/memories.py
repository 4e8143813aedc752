"""The page of a memory: its text, origin, validity and versions, and the acts on it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from minutebook.features.pages.frame.catalogue import Later, texts_beside
from minutebook.features.pages.frame.catalogue import text as _
from minutebook.features.pages.frame.differences import Stretch, differences
from minutebook.features.pages.frame.markup import visible
from minutebook.features.pages.frame.page import Goto, Page, View, Visit
from minutebook.features.pages.frame.register import parts
from minutebook.features.pages.frame.wording import trouble_of
from minutebook.memory.screening.secrets import KINDS
from minutebook.memory.search.hit_notes import NO_NOTES
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import Conflict, InvalidInput, MinutebookError
from minutebook.record.listed import LinkedMemory
from minutebook.record.reason import must_be_one_of
from minutebook.record.records import Memory, Status, Version
from minutebook.record.rights.redaction import redacted_for
from minutebook.record.writing.drafts import Draft
from minutebook.record.writing.validity import holds_at

VERSIONS = 10
"""The latest versions, which are shown with their changes; of earlier ones only the date is shown."""

LONGEST_TEXT = 200_000
"""Characters of a field that a form may send."""

LONGEST_REASON = 2_000
"""Characters of a reason, which the trail keeps for good."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A version with its changes from the one before, None for the first and for early ones."""

    version: Version
    stretches: list[Stretch] | None


@dataclass(frozen=True, slots=True)
class MemoryAct:
    """An act on a memory: texts for its page, the fields of its form, and its function.

    `run` does the act and returns the address to go to. Each form also has a field for a reason, which the trail keeps.
    """

    title: Later
    says: Later
    button: Later
    run: Callable[[Visit, Memory, Mapping[str, str]], str]
    asks: tuple[str, ...] = ()
    needs_reason: bool = False
    is_final: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of its form."""
        return (*self.asks, "reason")

    @property
    def may_be_empty(self) -> frozenset[str]:
        """The fields that need not be filled in."""
        return frozenset({"title"} if self.needs_reason else {"title", "reason"})


def show(visit: Visit) -> Page:
    """Show a memory, also one that was removed and can be restored."""
    app, caller = visit.app, visit.caller
    memory = app.memories.read_any(caller, visit.path["id"])
    successor = app.browsing.successor(caller, memory)
    history = app.memories.history(caller, memory)
    now = app.clock()
    facts = {
        "memory": memory,
        "successor": None if successor is None else app.memories.read_any(caller, successor),
        "holds": holds_at(memory, now) and memory.deleted_at is None,
        "now": now,
        "entities": app.browsing.mentioned(caller, memory),
        "links": joined(memory, app.browsing.links(caller, memory)),
        "similar": [] if memory.deleted_at else app.similar.like(caller, memory),
        "turn": app.sessions.turn_of(caller, memory),
        "changes": changes(history.versions),
        "entries": list(reversed(history.entries)),
        "below": parts("memory.below", visit, memory),
        "line": time_line(memory, history.versions, now),
        "acts": {name: ACTS[name] for name in acts_on(memory) if name not in ENDS},
        "ends": {name: ACTS[name] for name in ENDS if name in acts_on(memory)},
        "done": DONE.get(visit.query.get("done", "")),
        "notes": app.hit_notes.notes_of(caller, [memory]).get(memory.key, NO_NOTES),
        "secrets": _secret_sentences(visit.query),
    }
    return Page("memory.html", facts)


def ask(visit: Visit) -> Page:
    """Show the effect of an act and its form, before anything is done."""
    memory = visit.app.memories.read_any(visit.caller, visit.path["id"])
    return _act_page(visit, memory, {"version": str(memory.version), **_field_values(memory)})


def do(visit: Visit) -> Page | Goto:
    """Do an act; if it fails, show its form again with the error and the typed fields."""
    memory = visit.app.memories.read_any(visit.caller, visit.path["id"])
    act = _act(visit)
    try:
        _check_fields(act, visit.form)
        return Goto(_with_secrets(act.run(with_reason(visit), memory, visit.form), visit.caller))
    except MinutebookError as error:
        trouble = trouble_of(redacted_for(visit.caller, error))
        return _act_page(visit, memory, visit.form, trouble)


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/memories/{id}"): ("memory", show),
    ("GET", "/memories/{id}/{act}"): ("ask", ask),
    ("POST", "/memories/{id}/{act}"): ("act", do),
}


def with_reason(visit: Visit) -> Visit:
    """Return the visit with the reason from its form in the caller's call, for the trail.

    Raises InvalidInput if the reason is too long.
    """
    reason = _lines(visit.form.get("reason", "")).strip()
    if len(reason) > LONGEST_REASON:
        raise InvalidInput(
            str(ASKS["reason"][0]), "must have at most {most:,} characters", most=LONGEST_REASON
        )
    return replace(visit, caller=with_call(visit.caller, reason=reason))


def acts_on(memory: Memory) -> list[str]:
    """Return the names of the acts that are possible in a memory's state, whether or not the caller may do them."""
    if memory.deleted_at is not None:
        return ["restore"]
    if memory.locked_by is not None:
        return ["unlock"]
    named = ["edit"]
    if memory.superseded_by is None:
        named += ["verify"] if memory.status is not Status.VERIFIED else []
        named += ["deprecate"] if memory.status is not Status.DEPRECATED else []
    if memory.valid_until is None:
        named += ["supersede", "invalidate"]
    else:
        named += ["reinstate"]
    return [*named, "lock", "forget"]


def changes(versions: list[Version]) -> list[Changed]:
    """Return each version with its changes, the last first."""
    shown = []
    for number, version in enumerate(versions):
        is_early = number == 0 or number < len(versions) - VERSIONS
        stretches = None
        if not is_early:
            before = versions[number - 1]
            stretches = differences(_title_and_text(before), _title_and_text(version))
        shown.append(Changed(version, stretches))
    return shown[::-1]


def joined(memory: Memory, links: list[LinkedMemory]) -> list[tuple[str, str, Memory]]:
    """Return each link once: an arrow, its type, the memory at the other end."""
    ways: dict[tuple[str, str], tuple[str, str, Memory]] = {}
    for link in links:
        arrow = "→" if link.edge.source == memory.id else "←"
        key = (link.edge.type, link.memory.id)
        if key in ways and ways[key][0] != arrow:
            arrow = "↔"
        ways[key] = (arrow, link.edge.type, link.memory)
    return list(ways.values())


def time_line(memory: Memory, versions: list[Version], now: datetime) -> dict[str, Any]:
    """Return the events of a memory with their places on a line from 0 to 100, and the span in which it held."""
    marks = [(memory.valid_from, _("holds from")), (memory.ingestion_time, _("kept"))]
    if memory.event_time not in (memory.ingestion_time, memory.valid_from):
        marks.append((memory.event_time, _("happened")))
    marks += [(each.changed_at, _("version {number}", number=each.number)) for each in versions[1:]]
    if memory.valid_until is not None:
        marks.append((memory.valid_until, _("held until")))
    if memory.deleted_at is not None:
        marks.append((memory.deleted_at, _("removed")))
    marks.sort()
    first, last = min(marks[0][0], now), max(marks[-1][0], now)
    span = (last - first).total_seconds() or 1.0

    def place(instant: datetime) -> float:
        return round(100 * (instant - first).total_seconds() / span, 2)

    return {
        "marks": [(place(at), at, label) for at, label in marks],
        "begin": place(memory.valid_from),
        "end": 100.0 if memory.valid_until is None else place(memory.valid_until),
        "now": place(now),
    }


def address(id: str, done: str = "") -> str:
    """Return the address of a memory's page, which reports the act `done`."""
    return f"/memories/{quote(id, safe='')}" + (f"?done={done}" if done else "")


def _with_secrets(path: str, caller: Caller) -> str:
    """Return an address with the kinds of secrets that were found in an act's text."""
    note = caller.call.notes.get("secrets")
    if note is None:
        return path
    kinds: dict[str, dict[str, None]] = {}
    for each in note.facts["found"]:  # type: ignore[attr-defined]
        kinds.setdefault(each["action"], {})[each["kind"]] = None
    listed = {action: ",".join(named) for action, named in kinds.items()}
    return path + ("&" if "?" in path else "?") + urlencode(listed)


def _secret_sentences(query: Mapping[str, str]) -> list[str]:
    """Return the sentences on the known kinds of secrets in an address."""
    sentences = []
    for action, sentence in SECRETS.items():
        kinds = [each for each in query.get(action, "").split(",") if each in KINDS]
        if kinds:
            sentences.append(_(sentence.message, kinds=", ".join(kinds)))
    return sentences


def _title_and_text(version: Version) -> str:
    return version.content if version.title is None else f"{version.title}\n\n{version.content}"


def _field_values(memory: Memory) -> dict[str, str]:
    """Return the initial values of an act's form."""
    return {"title": memory.title or "", "text": memory.content}


def _act(visit: Visit) -> MemoryAct:
    name = visit.path["act"]
    if name not in ACTS:
        raise InvalidInput(_("the act"), must_be_one_of(ACTS, name))
    return ACTS[name]


def _check_fields(act: MemoryAct, form: Mapping[str, str]) -> None:
    """Raise InvalidInput if a field that an act asks for is empty or too long."""
    for name in act.fields:
        if not form.get(name, "").strip() and name not in act.may_be_empty:
            raise InvalidInput(str(ASKS[name][0]), "must not be empty")
        if len(form.get(name, "")) > LONGEST_TEXT:
            raise InvalidInput(
                str(ASKS[name][0]), "must have at most {most:,} characters", most=LONGEST_TEXT
            )


def _act_page(
    visit: Visit, memory: Memory, given: Mapping[str, str], trouble: Any | None = None
) -> Page:
    act = _act(visit)
    facts = {
        "memory": memory,
        "act": act,
        "name": visit.path["act"],
        "fields": {name: ASKS[name] for name in act.fields},
        "given": given,
        "trouble": trouble,
        "has_unseen": visible(memory.content) != memory.content.replace("\r\n", "\n"),
        "number": visit.query.get("version", given.get("number", "")),
    }
    return Page("act.html", facts, 200 if trouble is None else trouble.status)


def _edit(visit: Visit, memory: Memory, form: Mapping[str, str]) -> str:
    if form.get("version") != str(memory.version):
        reason = "it was changed meanwhile; copy your text, reload and edit it again"
        raise Conflict(memory.id, reason)
    # Compared with the shown text, so that invisible characters stay if the field was not edited.
    after = {"content": _lines(form["text"]), "title": _lines(form.get("title", "")).strip()}
    before = {"content": _lines(visible(memory.content)), "title": visible(memory.title or "")}
    changes = {name: value or None for name, value in after.items() if value != before[name]}
    if not changes:
        return address(memory.id, "unchanged")
    visit.app.memories.update(visit.caller, memory.id, changes)
    return address(memory.id, "edit")


def _verify(visit: Visit, memory: Memory, form: Mapping[str, str]) -> str:
    visit.app.status.verify(visit.caller, memory.id)
    return address(memory.id, "verify")


def _deprecate(visit: Visit, memory: Memory, form: Mapping[str, str]) -> str:
    visit.app.status.deprecate(visit.caller, memory.id, form["reason"].strip())
    return address(memory.id, "deprecate")


def _supersede(visit: Visit, memory: Memory, form: Mapping[str, str]) -> str:
    draft = Draft(
        content=_lines(form["text"]),
        title=_lines(form.get("title", "")).strip() or None,
        type=memory.type,
        scope=memory.scope,
        repository=memory.repository,
        user=memory.user,
        importance=memory.importance,
        metadata=memory.metadata,
    )
    caller = replace(visit.caller, organization=visit.caller.organization or memory.organization)
    reason = form["reason"].strip()
    after = visit.app.memories.store_joined(caller, draft, [], [memory.id], reason)
    return address(after.id, "supersede")


def _invalidate(visit: Visit, memory: Memory, form: Mapping[str, str]) -> str:
    visit.app.memories.invalidate(visit.caller, memory.id, form["reason"].strip(), None)
    return address(memory.id, "invalidate")


def _reinstate(visit: Visit, memory: Memory, form: Mapping[str, str]) -> str:
    visit.app.memories.reinstate(visit.caller, memory.id)
    return address(memory.id, "reinstate")


def _lock(visit: Visit, memory: Memory, form: Mapping[str, str]) -> str:
    visit.app.status.lock(visit.caller, memory.id)
    return address(memory.id, "lock")


def _unlock(visit: Visit, memory: Memory, form: Mapping[str, str]) -> str:
    visit.app.status.unlock(visit.caller, memory.id)
    return address(memory.id, "unlock")


def _restore(visit: Visit, memory: Memory, form: Mapping[str, str]) -> str:
    number = form.get("number", "")
    if number and not (number.isdecimal() and len(number) < 10):
        raise InvalidInput(_("the version"), "must be a number")
    visit.app.memories.restore(visit.caller, memory.id, int(number) if number else None)
    return address(memory.id, "restore")


def _forget(visit: Visit, memory: Memory, form: Mapping[str, str]) -> str:
    if form.get("sure") != "yes":
        raise InvalidInput(_("the box"), "must be ticked: what is removed does not come back")
    visit.app.memories.delete(visit.caller, memory.id)
    return "/find?done=forget"


def _lines(text: str) -> str:
    """Return a text from a form with line feeds as line ends, and without line ends at its end."""
    return text.replace("\r\n", "\n").rstrip("\n")


_TEXTS = texts_beside(__file__)
SECRETS: Mapping[str, Later] = _TEXTS["secrets"]
ASKS: Mapping[str, Sequence[Later]] = _TEXTS["asks"]
"""The fields of acts' forms, each with its label and help."""
DONE: Mapping[str, Later] = _TEXTS["done"]

ENDS = ("supersede", "invalidate", "deprecate", "forget")
"""The acts by which a memory ends, the mildest first; the page explains them."""

ACTS: dict[str, MemoryAct] = {
    "edit": MemoryAct(**_TEXTS["acts"]["edit"], run=_edit, asks=("title", "text")),
    "verify": MemoryAct(**_TEXTS["acts"]["verify"], run=_verify),
    "deprecate": MemoryAct(**_TEXTS["acts"]["deprecate"], run=_deprecate, needs_reason=True),
    "supersede": MemoryAct(
        **_TEXTS["acts"]["supersede"], run=_supersede, asks=("title", "text"), needs_reason=True
    ),
    "invalidate": MemoryAct(**_TEXTS["acts"]["invalidate"], run=_invalidate, needs_reason=True),
    "reinstate": MemoryAct(**_TEXTS["acts"]["reinstate"], run=_reinstate),
    "lock": MemoryAct(**_TEXTS["acts"]["lock"], run=_lock),
    "unlock": MemoryAct(**_TEXTS["acts"]["unlock"], run=_unlock),
    "restore": MemoryAct(**_TEXTS["acts"]["restore"], run=_restore),
    "forget": MemoryAct(**_TEXTS["acts"]["forget"], run=_forget, is_final=True),
}
