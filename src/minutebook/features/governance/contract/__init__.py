"""The `governance` contract: rights to read and write, locks, and a trail of every act."""

from functools import cache

from minutebook.features.governance.contract.adapter import OPERATIONS
from minutebook.features.governance.contract.gate import admit
from minutebook.features.governance.contract.wording import word
from minutebook.serve.contracts.contract import Contract


@cache
def governance() -> Contract:
    """Return the contract, which is opened once: connections share its checks of arguments."""
    return Contract(__name__, OPERATIONS, word, gate=admit)
