"""How clients are served over HTTP."""

from dataclasses import dataclass
from typing import ClassVar

from minutebook.config import Settings
from minutebook.config.kinds import TEXT, URL, at_least, client_setting, separated
from minutebook.record.reason import Reason


@dataclass(frozen=True, kw_only=True)
class HttpSettings(Settings):
    """How clients are served over HTTP."""

    FORMER: ClassVar[tuple[str, ...]] = ("http_body", "http_calls", "http_timeout", "metrics")

    public_url: str | None = client_setting(
        None,
        URL,
        "URL under which clients reach this server over HTTP, such as https://memory.example.org.",
    )
    http_hosts: tuple[str, ...] = client_setting(
        (),
        separated(",", Reason("a list of names")),
        "Names by which clients may call the HTTP server, besides numbers and localhost.",
    )
    http_origins: tuple[str, ...] = client_setting(
        (),
        separated(",", Reason("a list of origins")),
        "Origins, such as https://app.example.com, whose pages may call the HTTP server.",
    )
    rate_limit: float = client_setting(
        50.0,
        at_least(0.0),
        "Requests a second that one token may make of one server, over ten seconds on average; 0: any. Each "
        "server over a database counts for itself.",
    )
    traces_url: str | None = client_setting(
        None,
        TEXT,
        "Where the HTTP server sends OpenTelemetry traces: http://localhost:4318/v1/traces; needs "
        "`minutebook[traces]`.",
    )
