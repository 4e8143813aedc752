"""The page *Settings*: the rights of roles, rules, clients, the language."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from minutebook.features.pages.frame.catalogue import LANGUAGES, Later, later, texts_beside
from minutebook.features.pages.frame.page import Goto, Page, View, Visit
from minutebook.features.pages.frame.register import parts
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, Refused
from minutebook.record.filters import MemoryQuery
from minutebook.record.policy import Policy
from minutebook.record.reason import must_be_one_of
from minutebook.record.records import MemoryType, Role, ScopeLevel
from minutebook.record.writing import decision_drafts

RULES_SHOWN = 5
"""Rules of each type that are shown, with a link to all of them."""


def show(visit: Visit) -> Page:
    """Show the person's identity, the rights of roles, rules and clients."""
    app = visit.app
    facts: dict[str, Any] = {
        "roles": list(Role),
        "rights": _rights(),
        "policy": app.rules(),
        "rules": _rules(visit, app.clock()),
        "in_rules": parts(
            "settings.rules", visit, _permits(lambda: policy.check_may_issue(visit.caller))
        ),
        "below": parts("settings.below", visit, visit.folder),
        "languages": list(LANGUAGES.values()),
        "done": DONE.get(visit.query.get("done", "")),
    }
    return Page("settings.html", facts)


def choose_language(visit: Visit) -> Goto:
    """Have the browser keep the chosen language. Raises InvalidInput if there is no such language."""
    choice = visit.form.get("language", "")
    if choice and choice not in LANGUAGES:
        raise InvalidInput("language", must_be_one_of(LANGUAGES, choice))
    return Goto("/settings?done=language", choice)


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/settings"): ("settings", show),
    ("POST", "/settings/language"): ("choose language", choose_language),
}


def _rights() -> list[tuple[Later, list[bool]]]:
    """Return each act with whether each role may do it, as the policy decides for a caller of the role."""
    callers = [Caller(name="anybody", role=role, organization="any") for role in Role]
    return [
        (label, [_permits(partial(check, each)) for each in callers])
        for label, check in RIGHTS.items()
    ]


def _rules(visit: Visit, now: datetime) -> list[tuple[MemoryType, Any]]:
    """Return the first page of the rules that the caller sees, by type."""
    return [
        (type, visit.app.memories.page(visit.caller, RULES_SHOWN, 0, MemoryQuery(type=type), now))
        for type in sorted(policy.PROTECTED_TYPES)
    ]


def _permits(check: Callable[[], object]) -> bool:
    try:
        check()
    except Refused:
        return False
    return True


def _may_remove(caller: Caller) -> None:
    policy.check_may_act(caller, "delete")
    policy.check_may_remove_work_of(caller, "another")


def _may_write(type: MemoryType, scope: ScopeLevel) -> Callable[[Caller], object]:
    return lambda caller: policy.check_may_write(caller, Policy.GOVERNED, type, scope)


RIGHTS: dict[Later, Callable[[Caller], object]] = {
    later("Write memories and change them"): _may_write(MemoryType.FACT, ScopeLevel.REPOSITORY),
    later("Write rules, where a team shares the store"): _may_write(
        MemoryType.BUSINESS_RULE, ScopeLevel.REPOSITORY
    ),
    later("Remove for good what others wrote"): _may_remove,
    later("Verify"): policy.check_may_verify,
    later("Lock and unlock"): policy.check_may_lock,
    later("Accept and decline proposals"): decision_drafts.check_may_accept,
}
"""The acts that depend on the role, each with the policy's check."""

DONE: Mapping[str, Later] = texts_beside(__file__)["done"]
