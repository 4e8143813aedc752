"""The `journal` contract: what was done in each session, and summaries of it."""

from minutebook.contracts.contract import Contract
from minutebook.contracts.journal.adapter import OPERATIONS, PREOPEN
from minutebook.contracts.journal.gate import admit
from minutebook.contracts.journal.wording import word


def journal() -> Contract:
    """Open the contract."""
    return Contract(__name__, OPERATIONS, word, gate=admit, preopen=PREOPEN)
