"""Requests to a model's service over HTTP, as to those of OpenAI."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from minutebook.record.errors import ModelUnavailable
from minutebook.record.reason import Reason

if TYPE_CHECKING:
    import httpx2

_RETRIED = frozenset({429, 500, 502, 503, 504})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_SHOWN = 300


@dataclass(frozen=True, kw_only=True)
class Service:
    """The service at a URL, and how often requests are tried; safe to use from several threads.

    After an answer of _RETRIED or a failed connection the request is tried again, after `Retry-After` (at most
    30 s), or else after 0.5 s, 1 s, 2 s…
    """

    url: str
    key: str | None
    timeout: float
    tries: int
    pause: Callable[[float], None] = time.sleep

    def __repr__(self) -> str:
        """Return a representation without the key and without a password in the URL."""
        return f"Service(url={shown_url(self.url)!r})"

    @cached_property
    def _client(self) -> "httpx2.Client":
        import httpx2

        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return httpx2.Client(timeout=self.timeout, headers=headers)

    def post(self, request: dict[str, Any]) -> Any:
        """Send a request, up to `tries` times; return the JSON of the answer, None if it is not JSON.

        Raises ModelUnavailable.
        """
        import httpx2

        for attempt in range(1, self.tries + 1):
            pause = min(_FIRST_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE)
            try:
                answer = self._client.post(self.url, json=request)
            except (httpx2.TransportError, httpx2.InvalidURL) as error:
                kind = type(error).__name__
                failure = self.refusal("cannot be reached: {name}: {error}", name=kind, error=error)
            else:
                if answer.is_success:
                    return _json(answer.content)
                status, words = answer.status_code, _message(answer.content)
                failure = self.refusal("answered {status}: {words}", status=status, words=words)
                if status not in _RETRIED:
                    raise failure
                pause = _retry_after(answer.headers.get("Retry-After"), pause)
            if attempt < self.tries:
                self.pause(pause)
        raise failure

    def refusal(self, reason: str, **values: object) -> ModelUnavailable:
        """Return the error for an unusable answer of the service, without its key."""
        where = shown_url(self.url)
        if self.key:
            where = where.replace(self.key, "(key)")
            values = {name: str(each).replace(self.key, "(key)") for name, each in values.items()}
        remedy, cause = "check the endpoint's URL, model name and key", Reason(reason, **values)
        return ModelUnavailable("{where} {cause}", remedy, where=where, cause=cause)


def shown_url(url: str) -> str:
    """Return the URL without its password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _message(content: bytes) -> str:
    """Return the message in an error's body."""
    body = _json(content)
    if isinstance(body, dict):
        error = body.get("error", body.get("detail", body.get("message")))
        body = error.get("message") if isinstance(error, dict) else error
    text = body if isinstance(body, str) else content.decode("utf-8", "replace")
    return " ".join(text.split())[:_SHOWN]


def _retry_after(value: str | None, default: float) -> float:
    """Return the seconds of a `Retry-After`, seconds or a date (RFC 9110, 10.2.3), at most _LONGEST_PAUSE."""
    if value is None:
        return default
    try:
        seconds = float(value)
    except ValueError:
        try:
            until = parsedate_to_datetime(value)
        except ValueError:
            return default
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        seconds = (until - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), _LONGEST_PAUSE) if seconds == seconds else default
