"""An issuer's documents: fetched within bounds, kept for a while, used on while the issuer is down."""

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
"""Seconds after which it is read again."""

READ_AGAIN_AFTER = 30.0
"""Seconds between two readings, whatever is asked for."""

OUTLIVES = 86_400.0
"""Seconds for which what was read is used while it cannot be read again."""

_LONGEST_WAIT = 5.0
_MOST_BYTES = 256 * 1024
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Published(Generic[T]):
    """A document of an issuer, kept for a while.

    `read` gives it or raises KeysUnavailable; `now` gives seconds that only grow.
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
        """Return the document, read again if it is old, or not enough for the caller.

        Raises KeysUnavailable if it cannot be read, and none is known that is younger than a day.
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
        # Who asks for what nobody publishes must not keep others waiting for a slow issuer.
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
    """Tell whether nobody can change the content of a URL: https, or http on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


def fetch(url: str, setting: str) -> bytes:
    """Return the content of a URL. Raises KeysUnavailable, naming the setting that leads there, if there is none."""
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
    """Ask a URL: no redirects, no more bytes and no more time than the answer of an issuer needs.

    Returns the status and the body. Raises KeysUnavailable if there is no answer within the bounds.
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
