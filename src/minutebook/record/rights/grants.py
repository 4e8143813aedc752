"""The rights that a token grants: its bearer's identity, scopes and expiry."""

from dataclasses import dataclass, field
from datetime import datetime

from minutebook.record.caller import ANYBODY, Caller
from minutebook.record.errors import InvalidInput
from minutebook.record.records import SYSTEM_ORGANIZATION, Role, Token

LONGEST_NAME = 200
"""Characters that the name of a caller or of a scope has at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The identity that a token gives its bearer; None means bound to no scope, or without an end."""

    name: str
    role: Role
    organization: str | None = None
    repositories: tuple[str, ...] | None = None
    user: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token, and its secret, which is shown this once."""

    token: Token
    secret: str = field(repr=False)


def grant_of(token: Token) -> Grant:
    """Return the grant of a token."""
    return Grant(
        name=token.name,
        role=token.role,
        organization=token.bound_organization,
        repositories=token.bound_repositories,
        user=token.bound_user,
        expires_at=token.expires_at,
    )


def caller_with(grant: Grant, token: str) -> Caller:
    """Return the caller with the rights of a grant, authenticated by the token of that id."""
    bound = grant.repositories
    return Caller(
        name=grant.name,
        role=grant.role,
        organization=grant.organization,
        repositories=None if bound is None else frozenset(bound),
        user=grant.user,
        token=token,
        repository_bound=bound is not None,
    )


def home_of(token: Token) -> str:
    """Return the organization that keeps the trail of a token: the one that it is bound to, else the system's."""
    return token.bound_organization or SYSTEM_ORGANIZATION


SIGNED_BEFORE, SIGNED_WITH_ID = "sub", "jti"
"""Values in place of a digest that mark a revocation of signed tokens: of all those of a name, or of the one of an id."""


def is_signed_revocation(token: Token) -> bool:
    """Tell whether a record is no token of ours, but the revocation of tokens that an issuer signed."""
    return token.digest in (SIGNED_BEFORE, SIGNED_WITH_ID)


def is_live(token: Token, now: datetime) -> bool:
    """Tell whether a token is valid: neither revoked nor expired."""
    return token.revoked_at is None and (token.expires_at is None or now < token.expires_at)


def check_grant(grant: Grant) -> None:
    """Raise InvalidInput, naming the argument, if a grant's names are unfit or reserved."""
    _check_name("name", grant.name)
    if grant.name == ANYBODY:
        # A caller of this name may give itself another; a token fixes its bearer's name.
        raise InvalidInput("name", "must not be {name!r}, which stands for anybody", name=ANYBODY)
    if grant.organization is not None:
        _check_name("organization", grant.organization)
        if grant.organization == SYSTEM_ORGANIZATION:
            remedy = "must not be {name}, nobody's home"
            raise InvalidInput("organization", remedy, name=SYSTEM_ORGANIZATION)
    if grant.repositories is not None and not grant.repositories:
        raise InvalidInput("repository", "must name one at least, or be left out for any")
    for name in grant.repositories or ():
        _check_name("repository", name)
    if grant.user is not None:
        _check_name("user", grant.user)


def check_expiry(expires_at: datetime | None, now: datetime) -> None:
    """Raise InvalidInput if the expiry is not in the future."""
    if expires_at is not None and expires_at <= now:
        raise InvalidInput("expires", "must lie in the future")


def _check_name(argument: str, name: str) -> None:
    if not name.isprintable() or name != name.strip() or not 0 < len(name) <= LONGEST_NAME:
        remedy = "must have 1 to {most} printable characters, no space at its ends"
        raise InvalidInput(argument, remedy, most=LONGEST_NAME)
