"""Errors of a call to a server, besides the errors of the domain."""

from dataclasses import dataclass, field

from minutebook.record.errors import MinutebookError
from minutebook.record.reason import Reason


@dataclass(eq=False)
class ServerError(MinutebookError):
    """The server at `url` gave no answer of use, for this reason."""

    says = "{url}: {reason}"
    url: str
    reason: Reason


class ServerUnreachable(ServerError):
    """Nothing was sent: nobody listens there, or the name, the certificate or the proxy is wrong."""


class ServerSilent(ServerError):
    """The request was sent and no answer came in time; whether it was done is not known."""


@dataclass(eq=False)
class ServerRefused(ServerError):
    """The server refused the request with a status of HTTP; `retry_after` seconds later it may not."""

    status: int
    retry_after: float | None = field(default=None, kw_only=True)


@dataclass(eq=False)
class DaemonEnded(MinutebookError):
    """The daemon ended while it did an operation that writes; whether it was done is not known."""

    operation: str

    @property
    def sentence(self) -> Reason:
        """The sentence that the outcome is unknown, with the remedy."""
        return Reason(
            "the daemon ended while it ran `{operation}`, so it is not known whether it was done; "
            "look at what is stored before you run it again",
            operation=self.operation,
        )


@dataclass(eq=False)
class Told(MinutebookError):
    """An error raised elsewhere, in the words of its sender: one that is not known here."""

    reason: str

    @property
    def sentence(self) -> Reason:
        """The sender's sentence."""
        return Reason(self.reason)
