"""Names and numbers of the protocol that are needed where its SDK is not imported.

Standard library only, for the thin proxy imports it.
"""

ENDLESS = "subscriptions/listen"
"""The request that is answered when the client has had enough."""

INVALID_REQUEST, INTERNAL_ERROR = -32600, -32603
"""Codes of errors, as JSON-RPC has them."""
