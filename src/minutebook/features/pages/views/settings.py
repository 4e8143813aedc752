"""Settings: tokens and their rights, the rules that hold for all, the clients that are set up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from minutebook.domain import policy
from minutebook.domain.caller import Caller
from minutebook.domain.errors import InvalidInput, MinutebookError, NotFound, Refused
from minutebook.domain.filters import MemoryQuery, default_organization
from minutebook.domain.policy import Policy
from minutebook.domain.reason import must_be_one_of
from minutebook.domain.records import Kind, MemoryType, Role, ScopeLevel, Token
from minutebook.domain.rights.grants import Grant, NewToken, is_live
from minutebook.domain.rights.redaction import redacted_for
from minutebook.domain.writing import decision_drafts
from minutebook.features.pages.frame.catalogue import LANGUAGES, Later, later, texts_beside
from minutebook.features.pages.frame.catalogue import text as _
from minutebook.features.pages.frame.page import Goto, Page, View, Visit
from minutebook.features.pages.frame.register import parts
from minutebook.features.pages.frame.wording import Trouble, trouble_of

RULES_SHOWN = 5
"""Rules of each type that are shown; a link leads to all of them."""

ENDS: dict[str, tuple[Later, timedelta | None]] = {
    "30d": (later("in 30 days"), timedelta(days=30)),
    "90d": (later("in 90 days"), timedelta(days=90)),
    "365d": (later("in a year"), timedelta(days=365)),
    "never": (later("never"), None),
}
"""When a new secret may end, as the form names it."""


@dataclass(frozen=True, slots=True)
class TokenAct:
    """An act on a token: words for its page, and whether it asks for an end."""

    title: Later
    says: Later
    button: Later
    asks_end: bool = False
    is_final: bool = False


def show(visit: Visit) -> Page:
    """Show the person's identity and rights, the tokens if they are theirs to make, rules and clients."""
    return _shown(visit, {})


def create(visit: Visit) -> Page:
    """Make a token and show its secret, this once; a refusal shows the form again."""
    try:
        issued = visit.app.tokens.create(visit.caller, _grant(visit))
    except MinutebookError as error:
        policy.check_may_issue(visit.caller)
        return _shown(visit, visit.form, _trouble(visit, error))
    return _issued(issued)


def ask(visit: Visit) -> Page:
    """Show the effect of an act on a token. Raises Forbidden to all but the owner, NotFound."""
    return _asked(visit)


def do(visit: Visit) -> Page | Goto:
    """Revoke a token, or give it another secret; if it is refused, show the page again and why."""
    app, caller, id = visit.app, visit.caller, visit.path["id"]
    try:
        if visit.path["act"] == "revoke":
            app.tokens.revoke(caller, id)
            return Goto("/settings?done=revoke")
        _act(visit)
        return _issued(app.tokens.rotate(caller, id, _end(visit)))
    except MinutebookError as error:
        # Who may not see tokens is told no more than that.
        policy.check_may_issue(caller)
        return _asked(visit, _trouble(visit, error))


def speak(visit: Visit) -> Goto:
    """Keep the choice of a language in the browser. Raises InvalidInput if there is no such language."""
    choice = visit.form.get("language", "")
    if choice and choice not in LANGUAGES:
        raise InvalidInput("language", must_be_one_of(LANGUAGES, choice))
    return Goto("/settings?done=language", choice)


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/settings"): ("settings", show),
    ("POST", "/settings/language"): ("choose language", speak),
    ("POST", "/settings/tokens"): ("create token", create),
    ("GET", "/settings/tokens/{id}/{act}"): ("ask about token", ask),
    ("POST", "/settings/tokens/{id}/{act}"): ("change token", do),
}


def _shown(visit: Visit, given: Mapping[str, str], trouble: Trouble | None = None) -> Page:
    app, caller, now = visit.app, visit.caller, visit.app.clock()
    may_issue = _permits(lambda: policy.check_may_issue(caller))
    tokens = app.tokens.list(caller) if may_issue else []
    uses = app.tokens.last_uses(caller) if may_issue else {}
    home = default_organization(caller)
    facts: dict[str, Any] = {
        "may_issue": may_issue,
        "tokens": [(each, *_state(each, now), uses.get(each.id)) for each in tokens],
        "given": given or {"role": Role.HUMAN, "organization": home, "end": "90d"},
        "ends": {name: label for name, (label, _span) in ENDS.items()},
        "roles": list(Role),
        "rights": _rights(),
        "policy": app.rules(),
        "rules": _rules(visit, now),
        "in_rules": parts("settings.rules", visit, may_issue),
        "below": parts("settings.below", visit, visit.folder),
        "languages": list(LANGUAGES.values()),
        "trouble": trouble,
        "done": DONE.get(visit.query.get("done", "")),
    }
    return Page("settings.html", facts, 200 if trouble is None else trouble.status)


def _issued(issued: NewToken) -> Page:
    return Page("issued.html", {"token": issued.token, "secret": issued.secret})


def _asked(visit: Visit, trouble: Trouble | None = None) -> Page:
    act = _act(visit)
    found = [t for t in visit.app.tokens.list(visit.caller) if t.id == visit.path["id"]]
    if not found:
        raise NotFound(Kind.TOKEN, visit.path["id"])
    facts = {
        "token": found[0],
        "state": _state(found[0], visit.app.clock()),
        "act": act,
        "name": visit.path["act"],
        "ends": {name: label for name, (label, _span) in ENDS.items()},
        "trouble": trouble,
    }
    return Page("token.html", facts, 200 if trouble is None else trouble.status)


def _act(visit: Visit) -> TokenAct:
    name = visit.path["act"]
    if name not in TOKEN_ACTS:
        raise InvalidInput(_("the act"), must_be_one_of(TOKEN_ACTS, name))
    return TOKEN_ACTS[name]


def _grant(visit: Visit) -> Grant:
    """Read the grant of a new token. Raises InvalidInput, which names the field that is not fit."""
    form = {name: value.strip() for name, value in visit.form.items()}
    named = tuple(part.strip() for part in form.get("repositories", "").split(",") if part.strip())
    role = form.get("role", "")
    if role not in set(Role):
        raise InvalidInput("role", must_be_one_of(Role, role))
    return Grant(
        name=form.get("name", ""),
        role=Role(role),
        organization=form.get("organization") or None,
        repositories=named or None,
        user=form.get("user") or None,
        expires_at=_end(visit),
    )


def _end(visit: Visit) -> datetime | None:
    chosen = visit.form.get("end", "")
    if chosen not in ENDS:
        raise InvalidInput("end", must_be_one_of(ENDS, chosen))
    span = ENDS[chosen][1]
    return None if span is None else visit.app.clock() + span


def _state(token: Token, now: datetime) -> tuple[str, datetime | None, bool]:
    """Return the state of a token: a word, the instant that it concerns, whether the token is accepted."""
    if token.revoked_at is not None:
        return _("revoked"), token.revoked_at, False
    if token.expires_at is None:
        return _("ends never"), None, True
    return (_("ends") if is_live(token, now) else _("ended")), token.expires_at, is_live(token, now)


def _rights() -> list[tuple[Later, list[bool]]]:
    """Say of each act which roles may do it, as the policy answers for a caller of each."""
    callers = [Caller(name="anybody", role=role, organization="any") for role in Role]
    return [
        (label, [_permits(partial(check, each)) for each in callers])
        for label, check in RIGHTS.items()
    ]


def _rules(visit: Visit, now: datetime) -> list[tuple[MemoryType, Any]]:
    """Return the first of the memories that rule, by type, as far as the caller sees them."""
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


def _trouble(visit: Visit, error: MinutebookError) -> Trouble:
    return trouble_of(redacted_for(visit.caller, error))


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
"""What a role may do, each with the policy's own check."""

_TEXTS = texts_beside(__file__)
DONE: Mapping[str, Later] = _TEXTS["done"]
TOKEN_ACTS: dict[str, TokenAct] = {
    "revoke": TokenAct(**_TEXTS["acts"]["revoke"], is_final=True),
    "rotate": TokenAct(**_TEXTS["acts"]["rotate"], asks_end=True),
}
