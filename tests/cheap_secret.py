"""A cheaper hash of the approval secret: each costs 0.1 s, and a run makes a hundred."""

from typing import Final

from minutebook.features.ledger.keys import approval_secret

COST: Final = approval_secret._N
"""The cost (the N of scrypt) outside tests."""


def install() -> None:
    """Have this process, and those that are forked from it, make and compare cheaper hashes."""
    approval_secret._N = 2
