"""The `governance` contract: who may read and write what, locks, and a trail of every act."""

from minutebook.contracts.contract import Contract
from minutebook.contracts.governance.adapter import OPERATIONS
from minutebook.contracts.governance.gate import admit
from minutebook.contracts.governance.wording import word


def governance() -> Contract:
    """Open the contract."""
    return Contract(__name__, OPERATIONS, word, gate=admit)
