"""The `journal` contract: the work done in each session, and summaries of it."""

from functools import cache

from minutebook.contracts.contract import Contract
from minutebook.contracts.journal.adapter import OPERATIONS, UNOPENED
from minutebook.contracts.journal.gate import admit
from minutebook.contracts.journal.wording import word


@cache
def journal() -> Contract:
    """Return the contract, which is opened once: connections share its checks of arguments."""
    return Contract(__name__, OPERATIONS, word, gate=admit, unopened=UNOPENED)
