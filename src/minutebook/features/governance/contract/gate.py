"""The context of every call: it is checked first, and each refusal is audited.

The context can only narrow the caller of the start-up identity.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from minutebook.app import App
from minutebook.features.governance.contract.wording import CONTEXT, CONTEXT_RULES, claims
from minutebook.memory.access.audit import EVERYTHING
from minutebook.memory.access.visibility import repository_with
from minutebook.record import policy
from minutebook.record.caller import ANYBODY, Caller, with_call
from minutebook.record.errors import Conflict, InvalidInput, NotFound, ScopeViolation
from minutebook.record.ids import id_of, uuid_in
from minutebook.serve.contracts.arguments import Arguments
from minutebook.serve.contracts.contract import Tool

ACTS: Mapping[str, str] = {
    "memory-write": "write",
    "memory-search": "read",
    "memory.read": "read",
    "memory.lock": "lock",
    "memory.deprecate": "deprecate",
}
"""The act of each tool, for the audit of calls that are refused before a service is called."""

_FIELDS = Arguments(CONTEXT, CONTEXT_RULES, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class GateContext:
    """The context of a call: agent, organization, repository and request."""

    agent: str
    organization: UUID
    repository: UUID
    request: str


@contextmanager
def admit(
    app: App, caller: Caller, tool: Tool, arguments: Mapping[str, Any]
) -> Iterator[tuple[Caller, Mapping[str, Any]]]:
    """Yield the caller narrowed to the call's context, and the other arguments.

    Raises InvalidInput if the context does not fit, ScopeViolation if it names a scope that the caller
    may not use; both are audited for the organization of the start-up identity. Services audit
    what they refuse themselves.
    """
    claimed = claims(arguments)
    name = claimed.get("agent_id", caller.name) if caller.name == ANYBODY else caller.name
    request = claimed.get("request_id", caller.call.request)
    known = with_call(replace(caller, name=name), request=request)
    act, subject = ACTS[tool.name], _subject(arguments)
    with app.trail.audit_errors(known, act, subject, (InvalidInput, ScopeViolation)):
        narrowed = _narrowed(app, known, _checked(tool, arguments))
    others = {name: value for name, value in arguments.items() if name != "context"}
    with app.trail.audit_errors(narrowed, act, subject, (Conflict, InvalidInput, NotFound)):
        yield narrowed, others


def _narrowed(app: App, caller: Caller, context: GateContext) -> Caller:
    """Return the caller narrowed to the organization and repository of the context.

    Raises ScopeViolation if the context names another agent, or a place that is not the caller's.
    """
    if caller.name != context.agent:
        raise ScopeViolation(
            f"act as {context.agent!r}", "this connection belongs to {name!r}", name=caller.name
        )
    narrowed = policy.narrowed_to(
        caller,
        organization=app.overview.organization_with(caller, context.organization),
        repository=repository_with(caller, context.repository),
    )
    return replace(narrowed, governed=True, writes_system=False)


def _checked(tool: Tool, arguments: Mapping[str, Any]) -> GateContext:
    """Return the context of a call.

    Raises InvalidInput if it is incomplete or does not fit the tool.
    """
    match arguments.get("context"):
        case None:
            raise InvalidInput("context", "is required")
        case Mapping() as context:
            pass
        case other:
            raise InvalidInput(
                "context", "must be a JSON object (got {given})", given=json.dumps(other)[:60]
            )
    try:
        fields = _FIELDS.check(context)
    except InvalidInput as error:
        raise InvalidInput(f"context.{error.argument}", error.remedy) from error
    for name in ("agent_id", "request_id"):
        if not fields[name].strip():
            raise InvalidInput(f"context.{name}", "must not be blank")
    if fields["intent"] not in tool.promise["intents"]:
        fitting = " or ".join(tool.promise["intents"])
        remedy = "must be {fitting} for {name} (got {given})"
        raise InvalidInput(
            "context.intent", remedy, fitting=fitting, name=tool.name, given=fields["intent"]
        )
    return GateContext(
        agent=fields["agent_id"],
        organization=_uuid(fields, "organization_id"),
        repository=_uuid(fields, "repository_id"),
        request=fields["request_id"],
    )


def _uuid(fields: Mapping[str, str], name: str) -> UUID:
    found = uuid_in(fields[name])
    if found is None:
        raise InvalidInput(
            f"context.{name}", "must be a UUID such as 550e8400-e29b-41d4-a716-446655440000"
        )
    return found


def _subject(arguments: Mapping[str, Any]) -> str:
    """Return the id of the memory that a call is about; empty if it names none."""
    memory_id = arguments.get("memory_id")
    return (id_of(memory_id) if isinstance(memory_id, str) else None) or EVERYTHING
