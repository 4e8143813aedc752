"""Permissions: one table for every contract, over caller, act and record."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from minutebook.record.caller import ANYBODY, Caller
from minutebook.record.errors import Forbidden, Locked, ScopeViolation
from minutebook.record.origin import responsible_author
from minutebook.record.reason import Reason, Word
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Memory,
    MemoryType,
    Role,
    ScopeLevel,
    Status,
    Summary,
    Turn,
)

PROTECTED_TYPES = frozenset({MemoryType.BUSINESS_RULE, MemoryType.SYSTEM_CONSTRAINT})
"""The types of memories that an agent may not write in a governed store."""

_RANK = {role: rank for rank, role in enumerate(Role)}
_STEWARDS = frozenset({Role.MANAGER, Role.ARCHITECT, Role.ADMIN})


class Policy(StrEnum):
    """How strictly a store is kept: `open` for one person, `governed` for a team."""

    OPEN = "open"
    GOVERNED = "governed"


class Redact(StrEnum):
    """The treatment of a secret in a text before it is stored."""

    OFF = "off"
    WARN = "warn"
    MASK = "mask"


Rules = Callable[[], Policy]
"""Tells how strictly the store is kept at this moment."""


def may_read_metrics(caller: Caller) -> bool:
    """Tell whether a caller may read the metrics of all organizations together."""
    # Who has no token is the owner of the machine: once tokens exist, nobody else is let in without one.
    return not caller.token or (caller.role is Role.ADMIN and not _is_bound(caller))


class Owned(Protocol):
    """A record that concerns a whole organization or, of it, one repository or one user."""

    @property
    def organization(self) -> str:
        """The organization that it belongs to."""

    @property
    def repository(self) -> str | None:
        """The one repository that it concerns, if it is not for all of them."""

    @property
    def user(self) -> str | None:
        """The one user that it concerns, if it is not for everyone."""


@dataclass(frozen=True, slots=True)
class Scope:
    """An organization, a repository of it, a user in it; None stands for all of them."""

    organization: str
    repository: str | None = None
    user: str | None = None


def scope_between(one: Owned, other: Owned) -> Scope:
    """Return the scope of an edge between two records: visible only where both ends are."""
    repository = one.repository if one.repository is not None else other.repository
    user = one.user if one.user is not None else other.user
    return Scope(one.organization, repository, user)


def rules_of(chosen: Policy | None, *, is_shared: bool) -> Policy:
    """Return a store's policy: the one that is set, else governed if the store is shared."""
    if chosen is not None:
        return chosen
    return Policy.GOVERNED if is_shared else Policy.OPEN


def with_field_writes(caller: Caller, rules: Policy) -> Caller:
    """Return the caller with the right to write scope and status as plain fields, in open stores."""
    is_open = rules is Policy.OPEN
    return replace(caller, writes_system=is_open, sets_status=is_open)


def narrowed_to(
    caller: Caller,
    *,
    organization: str | None = None,
    repository: str | None = None,
    user: str | None = None,
) -> Caller:
    """Narrow a caller to the scopes that a request names; None leaves one as it is.

    Raises ScopeViolation for a scope that the caller is not free to choose: it never widens.
    """
    if organization is not None:
        if organization == SYSTEM_ORGANIZATION or organization != (
            caller.organization or organization
        ):
            reason = "the organization {name!r} is not the caller's"
            raise ScopeViolation("use", reason, name=organization)
        caller = replace(caller, organization=organization)
    if repository is not None:
        if caller.repositories is not None and repository not in caller.repositories:
            raise ScopeViolation(
                "use", "the repository {name!r} is not the caller's", name=repository
            )
        caller = replace(caller, repositories=frozenset({repository}))
    if user is not None:
        if user != (caller.user or user):
            raise ScopeViolation("use", "the user {name!r} is not the caller", name=user)
        caller = replace(caller, user=user)
    return caller


def check_may_write_to(caller: Caller, act: str, owned: Owned) -> None:
    """Check a write of any kind, by any act, to a scope.

    Raises Forbidden if the caller is a viewer, ScopeViolation if the scope is the system's without
    `writes_system`, or a whole organization's and the caller's token names repositories.
    """
    check_not_viewer(caller, act)
    if owned.organization == SYSTEM_ORGANIZATION:
        _check_system_scope(caller, act)
    if caller.repository_bound and owned.repository is None and owned.user is None:
        reason = "this token is limited to repositories; writing for the whole organization needs one that is not"
        raise ScopeViolation(act, reason)


def may_write_to(caller: Caller, owned: Owned) -> bool:
    """Tell whether `check_may_write_to` lets the caller write to the scope of a record."""
    try:
        check_may_write_to(caller, "write", owned)
    except (Forbidden, ScopeViolation):
        return False
    return True


def outranks(role: Role, other: Role) -> bool:
    """Tell whether a role is trusted with more than another; the three stewards are peers."""
    if role in _STEWARDS and other in _STEWARDS:
        return False
    return _RANK[role] > _RANK[other]


def check_may_write(caller: Caller, rules: Policy, type: MemoryType, scope: ScopeLevel) -> None:
    """Refuse a new memory, or a new type or scope of one, that the caller may not set."""
    check_not_viewer(caller, "write")
    _check_unprotected(caller, rules, "write", type, scope)


def check_may_change(caller: Caller, rules: Policy, memory: Memory) -> None:
    """Refuse a change, an end, a return or a new link of a memory that is locked or protected."""
    check_not_viewer(caller, "change")
    _check_unlocked("change", memory)
    _check_unprotected(caller, rules, "change", memory.type, memory.scope)
    check_may_write_to(caller, "change", memory)


def check_may_delete(caller: Caller, rules: Policy, memory: Memory) -> None:
    """Refuse to hard-delete a memory that is locked or protected or, to an agent, written by another."""
    check_not_viewer(caller, "delete")
    _check_unlocked("delete", memory)
    _check_unprotected(caller, rules, "delete", memory.type, memory.scope)
    check_may_write_to(caller, "delete", memory)
    check_may_remove_work_of(caller, responsible_author(memory.author, memory.origin))


def check_may_mask(caller: Caller) -> None:
    """Raise Forbidden to viewers and agents: masking replaces an author's text, its history too."""
    check_not_viewer(caller, "mask")
    if caller.role is Role.AGENT:
        raise Forbidden("mask", "a person replaces the secrets in what others wrote")


def check_may_erase(caller: Caller) -> None:
    """Raise Forbidden to viewers and agents: erasure cannot be undone."""
    check_not_viewer(caller, "erase")
    if caller.role is Role.AGENT:
        raise Forbidden("erase", "the role agent may not erase; a person may", needs=Role.HUMAN)


def check_may_act(caller: Caller, act: str, organization: str | None = None) -> None:
    """Check an act that is on no single record.

    Raises Forbidden if the caller is a viewer, ScopeViolation if the organization is the system's and
    the caller may not write there.
    """
    check_not_viewer(caller, act)
    if organization == SYSTEM_ORGANIZATION:
        _check_system_scope(caller, act)


def check_may_name_folder(caller: Caller, *, roots_named: bool) -> None:
    """Raise Forbidden if only the bearer of a token named the folder.

    The owner of the machine says which folders may be read.
    """
    if caller.token and not roots_named:
        raise Forbidden(
            "index",
            "over a token only folders that the setting index_roots names for its organization are "
            "indexed, and none is named for this one",
        )


def survives_reset(caller: Caller, rules: Policy, memory: Memory) -> bool:
    """Tell whether a reset by this caller keeps the memory: if they may not delete it."""
    try:
        check_may_delete(caller, rules, memory)
    except (Forbidden, Locked, ScopeViolation):
        return True
    return False


def is_locked_above(caller: Caller, memory: Memory) -> bool:
    """Tell whether someone of a higher role than the caller's locked the memory."""
    return memory.locked_by is not None and outranks(memory.locked_by, caller.role)


def may_remove_work_of(caller: Caller, author: str) -> bool:
    """Tell whether the caller may remove for good the author's work: an agent only its own.

    The work of agents without a name belongs to every agent without a token.
    """
    is_of_unnamed = author == ANYBODY and not caller.token
    return caller.role is not Role.AGENT or author == caller.name or is_of_unnamed


def check_may_remove_work_of(caller: Caller, author: str) -> None:
    """Raise Forbidden if an agent would delete for good another author's work."""
    if not may_remove_work_of(caller, author):
        raise Forbidden("delete", "written by {name!r}; an agent deletes only its own", name=author)


def check_may_lock(caller: Caller) -> None:
    """Refuse a lock to everyone but a manager, an architect or an admin."""
    _check_steward(caller, "lock")


def check_may_unlock(caller: Caller, memory: Memory) -> None:
    """Raise Forbidden if the caller may not unlock, or a higher role locked the memory."""
    _check_steward(caller, "unlock")
    if is_locked_above(caller, memory):
        role = memory.locked_by
        reason = "locked by the role {role}, which outranks {own}"
        raise Forbidden("unlock", reason, needs=role, role=role, own=caller.role)
    check_may_write_to(caller, "unlock", memory)


def may_verify(caller: Caller) -> bool:
    """Tell whether the caller's writing may count as verified."""
    return caller.sets_status or _RANK[caller.role] > _RANK[Role.AGENT]


def check_may_verify(caller: Caller) -> None:
    """Raise Forbidden if the caller may not verify: an agent's word is not a person's."""
    check_not_viewer(caller, "verify")
    if not may_verify(caller):
        raise Forbidden("verify", "the role agent may not verify; a human may", needs=Role.HUMAN)


def may_settle(caller: Caller) -> bool:
    """Tell whether `check_may_settle` lets the caller settle suggestions."""
    return caller.role is not Role.VIEWER and may_verify(caller)


def check_may_settle(caller: Caller, act: str) -> None:
    """Raise Forbidden to viewers and agents: only a person settles a suggestion."""
    check_not_viewer(caller, act)
    if not may_verify(caller):
        reason = "the role agent may not {what} suggestions; a human may"
        raise Forbidden(act, reason, needs=Role.HUMAN, what=Word(act))


def check_may_set_status(caller: Caller, before: Status, after: Status) -> None:
    """Refuse a status that only an act of its own gives: `locked`, and `verified` to an agent."""
    if after is before:
        return
    if after is Status.LOCKED:
        check_may_lock(caller)
    elif after is Status.VERIFIED:
        check_may_verify(caller)


def check_may_issue(caller: Caller) -> None:
    """Raise Forbidden to all but the owner of the data directory, the only one to make and list tokens."""
    if not caller.writes_system:
        raise Forbidden(
            "issue", "tokens are made where the data directory is; `minutebook token create` does"
        )


def may_audit(caller: Caller) -> bool:
    """Tell whether the caller may read audit trails: if they see whole organizations, not one repository or user."""
    return caller.repositories is None and caller.user is None


def may_read_questions(caller: Caller) -> bool:
    """Tell whether the caller may read the questions that others asked: if they may read trails and are no viewer."""
    return may_audit(caller) and caller.role is not Role.VIEWER


def check_may_audit(caller: Caller) -> None:
    """Raise Forbidden if the caller may not read audit trails."""
    if may_audit(caller):
        return
    if caller.token:
        raise Forbidden(
            "audit",
            "the trail is of a whole organization, and this caller is held to a repository or a "
            "user; ask its owner for a token that is held to neither",
        )
    raise Forbidden(
        "audit",
        "the trail is of a whole organization, and this caller is held to a repository or a "
        "user; leave out --repository and --user",
    )


def check_may_export(caller: Caller, *, whole: bool) -> None:
    """Raise Forbidden to a viewer, and for a `whole` export to callers bound to a part of the store."""
    check_not_viewer(caller, "export")
    if whole and _is_bound(caller):
        reason = (
            "all kinds are taken out of the whole store, and this caller is held to a part of it"
        )
        raise Forbidden("export", reason)


def check_may_import(caller: Caller, rules: Policy, *, whole: bool) -> None:
    """Raise Forbidden to a viewer and, for a `whole` import, to all but the owner or an admin.

    Both act at the command line. The owner of an open store is the person there, never an agent.
    """
    check_not_viewer(caller, "import")
    if not whole:
        return
    if not caller.writes_system:
        reason = "what holds more than turns and summaries is brought in at the command line"
        raise Forbidden("import", reason)
    if _is_bound(caller):
        reason = (
            "a whole store is brought in by a caller who is held to no part of it; leave out "
            "--organization, --repository and --user"
        )
        raise Forbidden("import", reason)
    is_owner = rules is Policy.OPEN and caller.role is not Role.AGENT
    if caller.role is not Role.ADMIN and not is_owner:
        reason = "into a governed store only an admin may bring every kind of record"
        if rules is Policy.OPEN:
            reason = "an agent may not bring in every kind of record; a person may"
        raise Forbidden("import", reason, needs=Role.ADMIN)


def is_in_own_scope(caller: Caller, record: Turn | Summary) -> bool:
    """Tell whether a turn or summary is in a scope that the caller may write to."""
    if caller.organization is None:
        in_organization = record.organization != SYSTEM_ORGANIZATION or caller.writes_system
    else:
        in_organization = record.organization == caller.organization
    return (
        in_organization
        and (caller.repositories is None or record.repository in caller.repositories)
        and (caller.user is None or record.user == caller.user)
    )


def may_replace(caller: Caller, record: Turn | Summary) -> bool:
    """Tell whether an import by the caller may remove or change a turn or summary."""
    return is_in_own_scope(caller, record) and may_remove_work_of(
        caller, responsible_author(record.author, record.origin)
    )


def _is_bound(caller: Caller) -> bool:
    """Tell whether the caller is bound to an organization, to repositories or to a user."""
    return (caller.organization, caller.repositories, caller.user) != (None, None, None)


def _check_unprotected(
    caller: Caller, rules: Policy, act: str, type: MemoryType, scope: ScopeLevel
) -> None:
    is_governed = caller.governed or rules is Policy.GOVERNED
    if is_governed and type in PROTECTED_TYPES and caller.role is Role.AGENT:
        reason = Reason("the type {type} is kept from agents; a person may", type=type)
        raise Forbidden(act, reason, needs=Role.HUMAN)
    if caller.governed and scope is ScopeLevel.ORGANIZATION and caller.role is Role.AGENT:
        reason = Reason("the scope {scope} is kept from agents; a person may", scope=scope)
        raise ScopeViolation(act, reason, needs=Role.HUMAN)
    if scope is ScopeLevel.SYSTEM:
        _check_system_scope(caller, act)
        if rules is Policy.GOVERNED and caller.role not in _STEWARDS:
            reason = Reason(
                "the role {role} may not write system scope here; a manager may", role=caller.role
            )
            raise Forbidden(act, reason, needs=Role.MANAGER)


def _check_system_scope(caller: Caller, act: str) -> None:
    if not caller.writes_system:
        reason = "system scope is written where the store is, by `minutebook remember --system`"
        raise ScopeViolation(act, reason)


def _check_steward(caller: Caller, act: str) -> None:
    if caller.role not in _STEWARDS and not (caller.sets_status and caller.role is not Role.VIEWER):
        reason = "the role {role} may not {what}; a manager may"
        raise Forbidden(act, reason, needs=Role.MANAGER, role=caller.role, what=Word(act))


def _check_unlocked(act: str, memory: Memory) -> None:
    if memory.locked_by is not None:
        reason = Reason("locked by the role {role}", role=memory.locked_by)
        opener = memory.locked_by if memory.locked_by in _STEWARDS else Role.MANAGER
        raise Locked(act, reason, memory.id, needs=opener)


def check_not_viewer(caller: Caller, act: str) -> None:
    """Raise Forbidden to a viewer, naming the act."""
    if caller.role is Role.VIEWER:
        raise Forbidden(act, "the role viewer may only read", needs=Role.HUMAN)
