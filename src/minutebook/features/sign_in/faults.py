"""The faults of a sign-in at a provider, and their words on a page."""

from enum import StrEnum
from http import HTTPStatus

from minutebook.features.pages.frame.catalogue import text as _
from minutebook.features.pages.frame.wording import Trouble


class ProviderFault(StrEnum):
    """Why a sign-in at a provider failed."""

    DECLINED = "declined"
    STATE = "state"
    LATE = "late"
    CODE = "code"
    MIXED_UP = "mixed up"
    SETTINGS = "settings"
    DOWN = "down"
    BUSY = "busy"


class ProviderError(Exception):
    """A sign-in at a provider failed: the kind of fault, and its details."""

    def __init__(self, fault: ProviderFault, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault
        self.detail = detail


def provider_trouble(error: ProviderError) -> Trouble:
    """Return a failed sign-in as the trouble that a page shows."""
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
