"""Names and numbers of the protocol that are needed where its SDK is not imported.

Standard library only, since the thin proxy imports it.
"""

ENDLESS = "subscriptions/listen"
"""The request that is not answered before the client ends it."""

INVALID_REQUEST, INTERNAL_ERROR = -32600, -32603
"""Error codes of JSON-RPC."""
