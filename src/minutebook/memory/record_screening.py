"""Finds secrets in records before they are stored, and masks or reports them."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from minutebook.memory.screening.secrets import Secret, find, mask
from minutebook.record.caller import Caller, Note
from minutebook.record.policy import Redact
from minutebook.record.records import (
    CodeChunk,
    Decision,
    Entity,
    Entry,
    Link,
    Memory,
    ProjectCommit,
    Proposal,
    Relation,
    Summary,
    Turn,
    Version,
)
from minutebook.record.writing.decision_drafts import DecisionDraft
from minutebook.record.writing.drafts import Draft
from minutebook.record.writing.source_drafts import (
    EntityDraft,
    MemoryDraft,
    ProposalDraft,
    RelationDraft,
    TurnDraft,
)

log = logging.getLogger(__name__)

R = TypeVar("R")

_TURN = ("prompt", "thought", "response")
_DECISION = ("title", "target", "rationale", "consequences")
TEXTS: Mapping[type, tuple[str, ...]] = {
    Memory: ("title", "content", "metadata", "reason"),
    Version: ("title", "content"),
    Entity: ("name", "type", "description", "aliases"),
    Relation: ("type",),
    Link: ("type",),
    Decision: _DECISION,
    Proposal: _DECISION,
    Turn: _TURN,
    Summary: ("title", "summary", "technologies", "reasons"),
    CodeChunk: ("signature", "content"),
    ProjectCommit: ("message", "changes"),
    Entry: ("subject", "reason"),
    Draft: ("title", "content", "metadata"),
    DecisionDraft: _DECISION,
    TurnDraft: _TURN,
    MemoryDraft: ("title", "content", "metadata"),
    EntityDraft: ("name", "type", "description"),
    RelationDraft: ("source", "target", "type"),
    ProposalDraft: _DECISION,
}
"""The fields with text that somebody wrote, by class of records and drafts."""

CAPTURED = frozenset({Turn, TurnDraft, Summary, CodeChunk, ProjectCommit})
"""Classes of records that nobody writes on purpose for others to read: captured turns, summaries and files."""

_NOTED = 20
"""The most findings that a note names."""


@dataclass(frozen=True, slots=True)
class FieldSecret:
    """A secret in a field of a record; `text` is the text around it."""

    field: str
    text: str
    secret: Secret


class Screening:
    """Finds secrets in texts before they are written; masks them or reports them.

    `redact` is their treatment; None means `warn` for texts written on purpose and `mask` for captured
    ones.
    """

    def __init__(self, redact: Redact | None = None) -> None:
        self._redact = redact

    def screened(self, caller: Caller, record: R, before: R | None = None) -> R:
        """Return a record, or a draft, as it may be stored, and add a note on its secrets to the call.

        `before` is the record as it was: then only fields that changed are searched.
        """
        action = self._action(type(record))
        masked, found = ({}, []) if action is Redact.OFF else masked_fields(record, before)
        if not found:
            return record
        _note(caller, found, action)
        return replace(record, **masked) if action is Redact.MASK else record  # type: ignore[type-var]

    def screened_text(self, caller: Caller, field: str, text: str) -> str:
        """Return a text written on purpose as it may be stored, and add a note on its secrets to the call."""
        action = self._action(str)
        secrets = [] if action is Redact.OFF else find(text)
        if not secrets:
            return text
        _note(caller, [FieldSecret(field, text, secret) for secret in secrets], action)
        return mask(text, secrets) if action is Redact.MASK else text

    def captured_text(self, text: str) -> str:
        """Return a text that was captured in the background as it may be stored."""
        secrets = find(text) if self._action(Turn) is Redact.MASK else []
        if not secrets:
            return text
        log.info("masked %s before it was kept", ", ".join(sorted({each.kind for each in secrets})))
        return mask(text, secrets)

    def captured(self, record: R) -> R:
        """Return a record that was captured in the background as it may be stored."""
        if self._action(type(record)) is not Redact.MASK:
            return record
        masked, found = masked_fields(record)
        if not found:
            return record
        log.info("masked %s before it was kept", ", ".join(sorted(_kinds(found))))
        return replace(record, **masked)  # type: ignore[type-var]

    def note_secrets(self, caller: Caller, record: object) -> None:
        """Add a note to the call on the secrets of a record that must be stored unchanged."""
        if self._redact is not Redact.OFF and type(record) in TEXTS:
            _, found = masked_fields(record)
            if found:
                _note(caller, found, Redact.WARN)

    def _action(self, of: type) -> Redact:
        if self._redact is not None:
            return self._redact
        return Redact.MASK if of in CAPTURED else Redact.WARN


def masked_fields(
    record: object, before: object = None
) -> tuple[dict[str, Any], list[FieldSecret]]:
    """Return the values, with secrets masked, of those fields of a record that hold any, by name; and the secrets."""
    masked, found = dict[str, Any](), list[FieldSecret]()
    for name in TEXTS[type(record)]:
        value = getattr(record, name)
        if not value or (before is not None and getattr(before, name) == value):
            continue
        count = len(found)
        shown = masked_value(name, value, found)
        if len(found) > count:
            masked[name] = shown
    return masked, found


def masked_value(field: str, value: Any, found: list[FieldSecret], name: str = "") -> Any:
    """Return a value with its secrets masked, and add them to `found`. `name` is its key in an object, if it has one."""
    match value:
        case str():
            # Searched as `name="value"`, because the key may show that the value is a secret.
            lead = f'{name}="' if name else ""
            text = f'{lead}{value}"' if name else value
            own = [
                replace(
                    each, start=each.start - len(lead), end=min(each.end, len(text) - 1) - len(lead)
                )
                if name
                else each
                for each in find(text)
                if each.start >= len(lead)
            ]
            found += (FieldSecret(field, value, each) for each in own)
            return mask(value, own) if own else value
        case Mapping():
            shown = dict[Any, Any]()
            for key, each in value.items():
                name = masked_value(field, key, found)
                # Two keys that are masked alike must stay different.
                while name in shown:
                    name += "'"
                shown[name] = masked_value(field, each, found, key if isinstance(key, str) else "")
            return shown
        case list() | tuple():
            return type(value)(masked_value(field, each, found, name) for each in value)
        case _:
            return value


def _kinds(found: list[FieldSecret]) -> set[str]:
    return {each.secret.kind for each in found}


def _note(caller: Caller, found: list[FieldSecret], action: Redact) -> None:
    """Add secrets to the call's note about them, each kind in a field once."""
    done = "masked" if action is Redact.MASK else "kept"
    earlier = caller.call.notes.get("secrets")
    listed: list[object] = list(earlier.facts["found"]) if earlier else []  # type: ignore[call-overload]
    for each in found:
        fact = {"kind": each.secret.kind, "field": each.field, "action": done}
        if fact not in listed and len(listed) < _NOTED:
            listed.append(fact)
    facts = {"found": listed}
    caller.call.notes["secrets"] = Note(facts, _sentence(listed))


def _sentence(listed: list[Any]) -> str:
    parts = []
    for done, advice in _ADVICE.items():
        named = [f"{each['kind']} in {each['field']}" for each in listed if each["action"] == done]
        if named:
            parts.append(f"{advice[0]}: {', '.join(named)}. {advice[1]}")
    return " ".join(parts)


_ADVICE = {
    "masked": (
        "Secrets were found and masked before anything was kept",
        "Write where a secret is kept instead, and revoke it if others may have seen it.",
    ),
    "kept": (
        "Secrets were found and are kept as they stand, for all who may read this",
        "Write where a secret is kept instead; `minutebook scan --mask` replaces what is there, and "
        "the setting `redact = mask` what is written from now on.",
    ),
}
