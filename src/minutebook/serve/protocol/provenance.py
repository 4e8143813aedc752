"""The program that sent a request, as far as the request names it."""

import re
from dataclasses import replace
from typing import Any

from minutebook.record.caller import Caller, with_call
from minutebook.record.origin import Origin, as_client, tidied

_PRODUCT = re.compile(r"([^\s/()]+)(?:/(\S+))?")
"""The first product of a User-Agent header (RFC 9110): a name and, after a slash, a version."""


def client_of(context: Any) -> Origin:
    """Return name and version of the client of a request; `context` is the SDK's, or has its attributes.

    They are those of the handshake or of the request's `_meta`; else, over HTTP, those of the User-Agent header.
    """
    params = context.session.client_params
    if params is not None:
        info = params.client_info
        return Origin(client=as_client(info.name), version=as_client(info.version))
    headers = getattr(context.request, "headers", {})
    return client_of_header(headers.get("user-agent"))


def client_of_header(header: str | None) -> Origin:
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
