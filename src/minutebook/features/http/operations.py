"""Operations on tokens of callers over HTTP."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from minutebook.ask.memories import NamedRecord, find_by_part
from minutebook.ask.operation import operation
from minutebook.record.caller import Caller
from minutebook.record.records import Kind, Token
from minutebook.record.rights.grants import Grant, NewToken

if TYPE_CHECKING:
    from minutebook.app import App


@dataclass(frozen=True, slots=True)
class UsedToken:
    """A token, and when it was used last."""

    token: Token
    used_at: datetime | None


@operation()
def token_by_part(app: "App", caller: Caller, part: str) -> list[NamedRecord]:
    """Find the tokens with ids that begin with a part, else those with ids that end with it."""
    return list(find_by_part(app, caller, (Kind.TOKEN,), part))


@operation()
def tokens(app: "App", caller: Caller) -> list[UsedToken]:
    """List every token, the newest first."""
    found, uses = app.tokens.list(caller), app.tokens.last_uses(caller)
    return [UsedToken(each, uses.get(each.id)) for each in found]


@operation(writes=True)
def create_token(app: "App", caller: Caller, grant: Grant) -> NewToken:
    """Make a token."""
    return app.tokens.create(caller, grant)


@operation(writes=True)
def revoke_token(app: "App", caller: Caller, id: str) -> Token:
    """Revoke a token for good."""
    return app.tokens.revoke(caller, id)


@operation(writes=True)
def revoke_signed(app: "App", caller: Caller, name: str, is_id: bool) -> Token:  # noqa: FBT001
    """Revoke the tokens that an issuer signed for a name until now, or with `is_id` the one with this id."""
    return app.tokens.revoke_signed(caller, name, is_id=is_id)


@operation(writes=True)
def rotate_token(app: "App", caller: Caller, id: str, expires_at: datetime | None) -> NewToken:
    """Replace the secret of a token."""
    return app.tokens.rotate(caller, id, expires_at)


OPERATIONS = (*(token_by_part, tokens, create_token), *(revoke_token, revoke_signed, rotate_token))
