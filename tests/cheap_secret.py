"""A cheaper hash of the approval secret: each costs 0.1 s, and a run makes a hundred."""

from importlib import import_module
from typing import Final

from minutebook.feature import features

# None without the feature, which tests of others do not need.
_MODULES = [
    import_module("minutebook.features.ledger.keys.approval_secret")
    for each in features()
    if each.name == "ledger"
]

COSTS: Final = [each._N for each in _MODULES]
"""The cost (the N of scrypt) outside tests."""


def install() -> None:
    """Have this process, and those that are forked from it, make and compare cheaper hashes."""
    for each in _MODULES:
        each._N = 2  # type: ignore[attr-defined]
