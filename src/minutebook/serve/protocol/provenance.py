"""The sending program of a request, as far as it tells."""

import re
from dataclasses import replace
from typing import Any

from minutebook.record.caller import Caller, with_call
from minutebook.record.origin import Origin, as_client, tidied

_PRODUCT = re.compile(r"([^\s/()]+)(?:/(\S+))?")
"""The first product of a User-Agent header (RFC 9110): a name and, after a slash, a version."""


def client_of(context: Any) -> Origin:
    """Return the name and version of the client of a request, of which `context` is the SDK's context or like it.

    From the handshake, or from the request's `_meta` at 2026-07-28; else, over HTTP, from the
    User-Agent header.
    """
    params = context.session.client_params
    if params is not None:
        info = params.client_info
        return Origin(client=as_client(info.name), version=as_client(info.version))
    headers = getattr(context.request, "headers", {})
    return agent_of(headers.get("user-agent"))


def agent_of(header: str | None) -> Origin:
    """Return the first product that a User-Agent header names."""
    found = _PRODUCT.match((header or "").strip())
    if found is None:
        return Origin()
    return Origin(client=as_client(found[1]), version=as_client(found[2] or ""))


def with_origin(caller: Caller, contract: str) -> Caller:
    """Return the caller with the contract and the session in the call's origin."""
    origin = caller.call.origin or Origin()
    session = tidied(caller.call.session)
    return with_call(caller, origin=replace(origin, contract=contract, session=session))
