"""Errors as a person reads them on a page: a status, a headline, what happened, what to do."""

from dataclasses import dataclass
from http import HTTPStatus

from minutebook.domain.errors import (
    Conflict,
    Decided,
    EmbeddingNotReady,
    Fault,
    Forbidden,
    GuessedTooOften,
    InvalidInput,
    KeysUnavailable,
    LedgerError,
    Locked,
    MinutebookError,
    ModelUnavailable,
    NotFound,
    Refused,
    StoreBusy,
    StoreError,
    UnderReview,
    Unidentified,
)
from minutebook.search.verdict import Verdict
from minutebook.web.catalogue import Later, later
from minutebook.web.catalogue import text as _
from minutebook.web.host import ProviderError, ProviderFault
from minutebook.web.reasons import said
from minutebook.web.words import word

VERDICTS: dict[Verdict, Later] = {
    Verdict.LIKELY: later("likely"),
    Verdict.POSSIBLE: later("possible"),
    Verdict.UNLIKELY: later("unlikely"),
    Verdict.UNMEASURED: later("by its words"),
}
"""How well a hit answers, in words."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong, for a page: its HTTP status, a headline, what happened, what to do."""

    status: int
    title: str
    reason: str
    remedy: str = ""


def trouble_of(error: MinutebookError) -> Trouble:
    """Word an error."""
    match error:
        case NotFound(kind=kind, id=id):
            return Trouble(
                HTTPStatus.NOT_FOUND,
                _("Not here"),
                _("There is no {kind} {id}, or none that you may see.", kind=word(kind), id=id),
                _("It may have been removed since the link was made. Search for it."),
            )
        case Refused():
            return _refusal(error)
        case Decided(target=target, id=id):
            return Trouble(
                HTTPStatus.CONFLICT,
                _("Decided already"),
                _("{target} has an active decision already: {id}.", target=target, id=id),
                _("Supersede that one."),
            )
        case Conflict(id=id, reason=reason):
            return Trouble(
                HTTPStatus.CONFLICT, _("It is not as it was"), _sentence(f"{id}: {said(reason)}")
            )
        case InvalidInput(argument=argument, remedy=remedy):
            reason = _sentence(f"{argument} {said(remedy)}")
            return Trouble(HTTPStatus.BAD_REQUEST, _("That cannot be read"), reason)
        case Unidentified(reason=reason):
            return Trouble(HTTPStatus.UNAUTHORIZED, _("Sign in again"), _sentence(said(reason)))
        case Fault():
            return Trouble(
                HTTPStatus.INTERNAL_SERVER_ERROR, _("A mistake of Minutebook's"), str(error)
            )
        case _:
            return _unavailable(error)


def provider_trouble(error: ProviderError) -> Trouble:
    """Word why a sign-in at a provider came to nothing."""
    again = _("Sign in again.")
    match error.fault:
        case ProviderFault.DECLINED:
            title, reason = _("You were not signed in"), _("The provider let nobody in.")
            return Trouble(HTTPStatus.FORBIDDEN, title, f"{reason} ({error.detail})", again)
        case ProviderFault.STATE:
            reason = _("This answer belongs to no sign-in that this browser began last.")
            return Trouble(HTTPStatus.BAD_REQUEST, _("Not your sign-in"), reason, again)
        case ProviderFault.LATE:
            title, reason = _("The sign-in has ended"), _("Its ten minutes are over.")
            return Trouble(HTTPStatus.BAD_REQUEST, title, reason, again)
        case ProviderFault.CODE:
            title = _("The sign-in has ended")
            reason = _("The provider’s answer was used already, or came too late.")
            return Trouble(HTTPStatus.BAD_REQUEST, title, reason, again)
        case ProviderFault.MIXED_UP:
            title = _("Not your sign-in")
            reason = _("The answer does not come from the provider of this server.")
            return Trouble(HTTPStatus.BAD_REQUEST, title, reason, again)
        case ProviderFault.SETTINGS:
            title = _("The provider does not know this server")
            reason = _("It refuses the client that this server is to it.")
            remedy = _(
                "Whoever keeps this server compares `oidc_client` and `oidc_secret` with it."
            )
            return Trouble(HTTPStatus.BAD_GATEWAY, title, reason, remedy)
        case ProviderFault.DOWN:
            title = _("The provider does not answer")
            reason = _("Nobody can sign in there now; the log of this server tells why.")
            remedy = _("Try again in a moment, or sign in with a token.")
            return Trouble(HTTPStatus.BAD_GATEWAY, title, reason, remedy)
        case ProviderFault.BUSY:
            title, reason = _("Not now"), _("Many people sign in at this moment.")
            return Trouble(
                HTTPStatus.SERVICE_UNAVAILABLE, title, reason, _("Try again in a moment.")
            )


def _refusal(error: Refused) -> Trouble:
    role = _("Someone with the role {role} may.", role=word(error.needs)) if error.needs else ""
    match error:
        case UnderReview(opens=opens):
            when = f"{opens:%Y-%m-%d %H:%M:%S}"
            return Trouble(
                HTTPStatus.CONFLICT,
                _("Still under review"),
                _sentence(said(error.reason)),
                _("It can be accepted from {when} UTC on.", when=when),
            )
        case GuessedTooOften(opens=opens):
            when = f"{opens:%Y-%m-%d %H:%M:%S}"
            return Trouble(
                HTTPStatus.TOO_MANY_REQUESTS,
                _("Too many wrong secrets"),
                _sentence(said(error.reason)),
                _("The next is looked at from {when} UTC on.", when=when),
            )
        case Locked(id=id, reason=reason):
            return Trouble(
                HTTPStatus.FORBIDDEN,
                _("Locked"),
                _("{id} stays as it is: {reason}.", id=id, reason=said(reason)),
                _(
                    "Someone with the role {role} may unlock it.",
                    role=word(error.needs or "manager"),
                ),
            )
        case Forbidden():
            title = _("Your role may not")
        case _:
            title = _("Not in your scope")
    message = _("Not allowed to {act}: {reason}.", act=word(error.act), reason=said(error.reason))
    return Trouble(HTTPStatus.FORBIDDEN, title, message, role)


def _unavailable(error: MinutebookError) -> Trouble:
    """Word what stands in the way for now, or until somebody mends it."""
    match error:
        case StoreBusy():
            title, remedy = (
                _("Others are writing"),
                _("Nothing was changed. Try again in a moment."),
            )
        case StoreError():
            title = _("The store cannot be used")
            remedy = _("`minutebook doctor` tells what is wrong and how to mend it.")
        case EmbeddingNotReady(state="loading"):
            title = _("The model is loading")
            remedy = _("Nothing was changed. Try again in some seconds.")
        case EmbeddingNotReady() | ModelUnavailable():
            title = _("The model cannot be used")
            remedy = _("`minutebook doctor` tells what is wrong and how to mend it.")
        case KeysUnavailable():
            title = _("Nobody can be identified now")
            remedy = _("The log of the server tells why.")
        case LedgerError(remedy=said):
            title, remedy = _("The decisions cannot be read or written"), _sentence(said)
            return Trouble(HTTPStatus.SERVICE_UNAVAILABLE, title, _sentence(error.reason), remedy)
        case _:
            title, remedy = _("That did not work"), ""
    return Trouble(HTTPStatus.SERVICE_UNAVAILABLE, title, _sentence(str(error)), remedy)


def _sentence(words: str) -> str:
    """Return words as a sentence: a capital first, a full stop last."""
    words = words.strip()
    if not words:
        return words
    return words[0].upper() + words[1:] + ("" if words[-1] in ".!?…" else ".")
