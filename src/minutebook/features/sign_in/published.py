"""Documents that an issuer publishes: fetched within limits, cached, and used on while the issuer is down."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from minutebook.record.errors import KeysUnavailable

log = logging.getLogger(__name__)

T = TypeVar("T")

FRESH = 600.0
"""Seconds after which a document is read again."""

READ_AGAIN_AFTER = 30.0
"""Seconds between two readings, at least."""

OUTLIVES = 86_400.0
"""Seconds for which a document is used while it cannot be read again."""

_LONGEST_WAIT = 5.0
_MOST_BYTES = 256 * 1024
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Published(Generic[T]):
    """A cached document of an issuer; `what` names it in the log.

    `read` returns it or raises KeysUnavailable; `now` is a monotonic clock, in seconds.
    """

    def __init__(
        self, what: str, read: Callable[[], T], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._what = what
        self._read = read
        self._now = now
        self._lock = threading.Lock()
        self._known: T | None = None
        self._read_at = self._tried_at = -OUTLIVES
        self._failure: KeysUnavailable | None = None

    def get(self, is_enough: Callable[[T], bool] | None = None) -> T:
        """Return the document; it is read again if it is older than FRESH, or if `is_enough` returns False for it.

        Raises KeysUnavailable if it cannot be read, and the cached one is older than OUTLIVES.
        """
        known = self._known
        is_lacking = known is None or (is_enough is not None and not is_enough(known))
        if is_lacking or self._now() - self._read_at > FRESH:
            self._refresh()
        if self._known is None:
            assert self._failure is not None
            raise self._failure
        return self._known

    def _refresh(self) -> None:
        # While a document is known, only one thread waits for a slow issuer.
        if not self._lock.acquire(blocking=self._known is None):
            return
        try:
            now = self._now()
            if now - self._tried_at >= READ_AGAIN_AFTER:
                self._tried_at = now
                try:
                    self._known, self._read_at, self._failure = self._read(), now, None
                except KeysUnavailable as error:
                    log.warning("%s: %s; %s", self._what, error.reason, error.remedy)
                    self._failure = error
            if self._failure is not None and now - self._read_at >= OUTLIVES:
                self._known = None
        finally:
            self._lock.release()


def is_protected(url: str) -> bool:
    """Tell whether a URL is https, or http on this machine: nobody can change its content on the way."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


def fetch(url: str, setting: str) -> bytes:
    """Return the content of a URL. Raises KeysUnavailable, which names the URL's setting, if it cannot be read."""
    status, data = exchange("GET", url, setting)
    if status != 200:
        remedy = "see that {setting} is right"
        raise KeysUnavailable(
            "{url}: it answers {status}", remedy, url=url, status=status, setting=setting
        )
    return data


def exchange(
    method: str,
    url: str,
    setting: str,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """Send a request, without following redirects; return status and body.

    Raises KeysUnavailable, which names `setting`, if there is no answer, or it is too long or too slow.
    """
    import httpx2

    ends, data = time.monotonic() + _LONGEST_WAIT, b""
    try:
        with httpx2.stream(
            method, url, data=form, headers=headers, timeout=_LONGEST_WAIT, follow_redirects=False
        ) as answer:
            for part in answer.iter_bytes():
                data += part
                if len(data) > _MOST_BYTES or time.monotonic() > ends:
                    raise KeysUnavailable(
                        "{url}: too long or too slow", "look at that server", url=url
                    )
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        remedy = "see that {setting} is right and up"
        raise KeysUnavailable(
            "{url}: {error}", remedy, url=url, error=error, setting=setting
        ) from error
    return answer.status_code, data
