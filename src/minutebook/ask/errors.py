"""Errors of a call to a server, besides the errors of the domain."""

from dataclasses import dataclass, field

from minutebook.record.errors import MinutebookError
from minutebook.record.reason import Reason


@dataclass(eq=False)
class ServerError(MinutebookError):
    """The server at `url` gave no usable answer; `reason` says why."""

    says = "{url}: {reason}"
    url: str
    reason: Reason


class ServerUnreachable(ServerError):
    """Nothing was sent: no server listens there, or its name, its certificate or the proxy is wrong."""


class ServerSilent(ServerError):
    """The request was sent and no answer came in time; whether it was done is not known."""


@dataclass(eq=False)
class ServerRefused(ServerError):
    """The server refused the request with an HTTP status; `retry_after` are the seconds that it asks to wait."""

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
class RemoteError(MinutebookError):
    """An error of another process that is of a kind unknown here, in that process's words."""

    reason: str

    @property
    def sentence(self) -> Reason:
        """The sentence of the other process."""
        return Reason(self.reason)
