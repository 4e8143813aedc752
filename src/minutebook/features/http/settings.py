"""How clients are served over HTTP."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from minutebook.config import Settings
from minutebook.config.kinds import COUNT, TEXT, URL, at_least, one_of, separated, setting
from minutebook.domain.reason import Reason

Metrics = Literal["admin", "all-organizations", "off"]


@dataclass(frozen=True, kw_only=True)
class HttpSettings(Settings):
    """How clients are served over HTTP."""

    FORMER: ClassVar[tuple[str, ...]] = ("http_body", "http_timeout")

    public_url: str | None = setting(
        None,
        URL,
        "URL under which clients reach this server over HTTP, such as https://memory.example.org.",
    )
    http_hosts: tuple[str, ...] = setting(
        (),
        separated(",", Reason("a list of names")),
        "Names by which clients may call the HTTP server, besides numbers and localhost.",
    )
    http_origins: tuple[str, ...] = setting(
        (),
        separated(",", Reason("a list of origins")),
        "Origins, such as https://app.example.com, whose pages may call the HTTP server.",
    )
    http_calls: int = setting(
        64, COUNT, "Calls over HTTP that are taken on at once; those beyond are told to come again."
    )
    rate_limit: float = setting(
        50.0,
        at_least(0.0),
        "Requests a second that one token may make of one server, over ten seconds on average; 0: any. Each "
        "server over a database counts for itself.",
    )
    metrics: Metrics = setting(
        "admin",
        one_of(Metrics),
        "Whose token reads `/metrics`, which counts for all organizations together: `admin`, an "
        "admin's that is held to no organization, repository or user; `all-organizations`, any that "
        "is held to none; `off`, nobody's.",
    )
    traces_url: str | None = setting(
        None,
        TEXT,
        "Where the HTTP server sends OpenTelemetry traces: http://localhost:4318/v1/traces; needs "
        "`minutebook[traces]`.",
    )
