"""Methods of the protocol that the server treats in a way of their own.

Standard library only, for the thin proxy imports it.
"""

ENDLESS = "subscriptions/listen"
"""The request that is answered when the client has had enough."""
