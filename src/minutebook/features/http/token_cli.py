"""Make tokens for callers over HTTP, list them, change them and take them back."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from minutebook.cli.filters import parsed_instant, parsed_span
from minutebook.cli.ids import only_id
from minutebook.cli.opening import opened, opened_or_made
from minutebook.cli.printing import echo, say, style, warn
from minutebook.cli.terminal import Commands, as_json, home_option, one_of
from minutebook.config import load
from minutebook.features.http import operations
from minutebook.record.ids import id_of
from minutebook.record.records import DEFAULT_ORGANIZATION, Role, Token
from minutebook.record.rights.grants import SIGNED_WITH_ID, Grant, NewToken, is_signed_revocation

if TYPE_CHECKING:
    from minutebook.ask.connection import StoreConnection

NEVER = "never"

_expires = click.option(
    "--expires",
    default="90d",
    show_default=True,
    help=f"When it ends: 12h, 30d, 2027-01-31, 2027-01-31T12:00, or {NEVER}.",
)


@click.group(cls=Commands, short_help="Let others in over HTTP, by tokens.")
def token() -> None:
    """Let others in over HTTP, each with a role and within scopes, by tokens."""


@token.command(short_help="Make a token and print its secret, this once.")
@click.option("--name", required=True, help="Under which name its bearer's acts are recorded.")
@click.option("--role", default="agent", show_default=True, help=f"One of {', '.join(Role)}.")
@click.option("--organization", help="Hold it to this organization.  [default: the settings']")
@click.option("--all-organizations", is_flag=True, help="Hold it to no organization.")
@click.option(
    "--repository", "repositories", multiple=True, help="Hold it to this one; may be repeated."
)
@click.option("--user", help="Hold it to this user's and shared memories.  [default: every user's]")
@_expires
@home_option
@as_json
def create(
    options: dict[str, str],
    name: str,
    role: str,
    organization: str | None,
    all_organizations: bool,  # noqa: FBT001
    repositories: tuple[str, ...],
    user: str | None,
    expires: str,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Make a token and print its secret, this once; what it allows goes to stderr."""
    if all_organizations and organization is not None:
        raise click.UsageError("--organization and --all-organizations exclude each other")
    own = load(options).organization or DEFAULT_ORGANIZATION
    grant = Grant(
        name=name,
        role=one_of(Role, "--role", role),
        organization=None if all_organizations else organization or own,
        repositories=repositories or None,
        user=user,
        expires_at=_expiry(expires),
    )
    with opened_or_made(options) as api:
        issued = api.run(operations.create_token, grant)
    _show_issued(issued, as_json=as_json)


@token.command("list", short_help="List every token that was made.")
@home_option
@as_json
def list_tokens(options: dict[str, str], as_json: bool) -> None:  # noqa: FBT001
    """List every token that was made, newest first; never a secret."""
    with opened(options) as api:
        found = api.run(operations.tokens)
    now = datetime.now(UTC)
    lines = [
        f"{style(each.token.id, dim=True)}  {_token_line(each.token, now)}; {_last_use(each.used_at)}"
        for each in found
    ]
    none = "No tokens; `minutebook token create --name NAME` makes one."
    say(found, lines or none, as_json)


@token.command(short_help="Take a token back for good.")
@click.argument("id", required=False)
@click.option(
    "--subject", help="Instead of ID: the tokens that an issuer signed for this name until now."
)
@click.option("--jti", help="Instead of ID: the one signed token with this id.")
@home_option
def revoke(options: dict[str, str], id: str | None, subject: str | None, jti: str | None) -> Token:
    """Take the token ID back for good; it lets nobody in from now on, through no process.

    Sign-ins to the pages by a signed token that is revoked end, too.
    """
    if sum(each is not None for each in (id, subject, jti)) != 1:
        raise click.UsageError("one of ID, --subject and --jti is needed")
    with opened(options) as api:
        if id is not None:
            revoked = api.run(operations.revoke_token, _token_id(api, id))
        else:
            name = subject if subject is not None else jti or ""
            revoked = api.run(operations.revoke_signed, name, subject is None)
    is_signed = is_signed_revocation(revoked)
    echo(f"Revoked {_signed_tokens(revoked) if is_signed else f'{revoked.id} of {revoked.name}'}.")
    return revoked


@token.command(short_help="Replace the secret of a token.")
@click.argument("id")
@_expires
@home_option
@as_json
def rotate(options: dict[str, str], id: str, expires: str, as_json: bool) -> None:  # noqa: FBT001
    """Replace the secret of the token ID and print the new one; the old one is invalid."""
    ends = _expiry(expires)
    with opened(options) as api:
        issued = api.run(operations.rotate_token, _token_id(api, id), ends)
    _show_issued(issued, as_json=as_json)


def _token_id(api: "StoreConnection", text: str) -> str:
    """Return the id of the token that a person named. Raises InvalidInput if more than one fits."""
    found = api.run(operations.token_by_part, text) if text else []
    return id_of(text) or only_id("token", found, text)


def _expiry(text: str) -> datetime | None:
    if text == NEVER:
        return None
    span = parsed_span(text)
    return parsed_instant("--expires", text) if span is None else datetime.now(UTC) + span


def _show_issued(issued: NewToken, *, as_json: bool) -> None:
    # Only the secret goes to stdout, so that a script can read it.
    say({"secret": issued.secret, "token": issued.token}, issued.secret, as_json)
    warn(
        f"Token {issued.token.id}: {_token_line(issued.token, datetime.now(UTC))}.",
        "The secret is shown this once; keep it where its bearer does.",
    )


def _signed_tokens(token: Token) -> str:
    """Return words for the signed tokens that a record revokes."""
    if token.digest == SIGNED_WITH_ID:
        return f"the signed token with the id {token.name}"
    return f"the signed tokens of {token.name} until {token.revoked_at:%F %H:%M}"


def _token_line(token: Token, now: datetime) -> str:
    if is_signed_revocation(token):
        return f"{_signed_tokens(token)}: revoked"
    bound = token.bound_repositories
    parts = [
        f"{token.name} as {token.role}",
        f"organization {token.bound_organization or '(any)'}",
        f"repository {'(any)' if bound is None else ', '.join(bound)}",
        f"user {token.bound_user or '(any)'}",
        _validity(token, now),
    ]
    return "; ".join(parts)


def _last_use(at: datetime | None) -> str:
    return "never used" if at is None else f"used {at:%F %H:00}"


def _validity(token: Token, now: datetime) -> str:
    if token.revoked_at is not None:
        return f"revoked {token.revoked_at:%F %H:%M}"
    if token.expires_at is None:
        return "ends never"
    verb = "ended" if token.expires_at <= now else "ends"
    return f"{verb} {token.expires_at:%F %H:%M}"


COMMANDS = (token,)
