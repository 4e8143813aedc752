"""The operations of a server: each is one POST."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from minutebook.ask.connection import P, R, StoreConnection
from minutebook.ask.errors import ServerError, ServerRefused, ServerSilent, ServerUnreachable
from minutebook.ask.operation import Operation
from minutebook.record.errors import InvalidInput, MinutebookError, StoreClosed, Unidentified
from minutebook.record.origin import Origin
from minutebook.record.plain import error_of
from minutebook.record.reason import Reason

if TYPE_CHECKING:
    import httpx2

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SHOWN = 300


class OverHttp(StoreConnection):
    """Runs operations on a server, in the name of a token's bearer."""

    def __init__(self, url: str, token: str | None, timeout: float, origin: Origin) -> None:
        """`timeout` is in seconds, for one call. Raises InvalidInput if the URL or the token cannot be one."""
        import httpx2

        super().__init__()
        self._url = base_of(url)
        headers = {
            "Accept": "application/json",
            "User-Agent": f"{_product(origin.client)}/{_product(origin.version)}",
        }
        if token is not None:
            if not token.strip().isascii() or not token.strip().isprintable() or not token.strip():
                raise InvalidInput(
                    "token", "must be the secret that `minutebook token create` gave"
                )
            headers["Authorization"] = f"Bearer {token.strip()}"
        # Plain http is for this machine only, and loading certificates takes longer than a request.
        verify = self._url.startswith("https:")
        self._http = httpx2.Client(
            base_url=self._url, headers=headers, timeout=timeout, verify=verify
        )
        self._timeout = timeout

    def __repr__(self) -> str:
        """Return a representation without the token."""
        return f"OverHttp({self._url!r})"

    def _run(self, operation: Operation[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        """Run an operation on the server. Raises its error, ServerError if there is no usable answer."""
        given = operation.as_json(*arguments, **named)
        response = self._post(f"/operations/{operation.name}", given)
        match _json_of(response):
            case {"answer": answer, "notes": Mapping() as notes} if response.status_code == 200:
                self.notes |= notes
                try:
                    return operation.read(answer)
                except ValueError as error:
                    reason = Reason("it is of another version ({error})", error=error)
                    raise ServerError(self._url, reason) from error
            case {"facts": facts, "message": str(text)}:
                self._fail(facts, text)
            case {"message": str(text)}:
                raise self._refusal(response, Reason(text))
        raise self._refusal(response, _foreign(response))

    def close(self) -> None:
        """Close the connections to the server."""
        self._http.close()

    def _post(self, path: str, message: Mapping[str, Any]) -> "httpx2.Response":
        import httpx2

        if self._http.is_closed:
            raise StoreClosed("this memory was closed; open it again")
        body, headers = json.dumps(message).encode(), {"Content-Type": "application/json"}
        try:
            return self._http.post(path, content=body, headers=headers)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol) as error:
            raise ServerUnreachable(
                self._url,
                Reason("it cannot be reached ({error}); see that it is served there", error=error),
            ) from error
        except httpx2.TimeoutException as error:
            raise ServerSilent(
                self._url,
                Reason(
                    "no answer in {seconds:g} s; whether it was done is not known",
                    seconds=self._timeout,
                ),
            ) from error
        except httpx2.HTTPError as error:
            raise ServerSilent(
                self._url,
                Reason(
                    "the connection broke ({error}); whether it was done is not known", error=error
                ),
            ) from error

    def _refusal(self, response: "httpx2.Response", reason: Reason) -> MinutebookError:
        """Return the error for an answer that is not usable."""
        if response.status_code == 401:
            return Unidentified(
                "{url}: {cause}; name a token that is valid", url=self._url, cause=reason
            )
        after = _seconds(response.headers.get("retry-after"))
        return ServerRefused(self._url, reason, response.status_code, retry_after=after)

    def _fail(self, facts: object, text: str) -> None:
        """Raise the error that the server sent, as facts and as a sentence."""
        error = error_of(facts)
        if error is None:
            raise ServerError(self._url, Reason(text or "it failed and does not say why"))
        error.add_note(text)
        raise error


def _json_of(response: "httpx2.Response") -> Any:
    """Return the body as a JSON value; None if it is not JSON."""
    try:
        return json.loads(response.content)
    except ValueError:
        return None


def _foreign(response: "httpx2.Response") -> Reason:
    answer = response.text[:_SHOWN]
    return Reason("the answer is none of a Minutebook server: {answer!r}", answer=answer)


def base_of(url: str) -> str:
    """Return the address of a server without a path such as `/mcp/knowledge`, and without a slash at its end.

    Raises InvalidInput if the URL is not one of a server, or if a token would cross a network unencrypted.
    """
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or not url.isprintable() or " " in url:
        remedy = "must be such as https://memory.example.org (got {url!r})"
        raise InvalidInput("url", remedy, url=url[:100])
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidInput("url", "must have no user, query or fragment: the token is given apart")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        remedy = "must be https: over plain http what is asked and the token would cross the network in the open"
        raise InvalidInput("url", remedy)
    path = parts.path.rstrip("/")
    head, mcp, tail = path.rpartition("/mcp")
    if mcp and "/" not in tail.strip("/"):
        path = head
    return f"{parts.scheme}://{parts.netloc}{path}"


def _product(name: str) -> str:
    """Return a name spelled as a product of a User-Agent header (RFC 9110)."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-._") else "-" for c in name) or "-"


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdecimal() else None
