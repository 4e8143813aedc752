"""The `journal` contract: the work done in each session, and summaries of it."""

from functools import cache

from minutebook.features.journal.contract.adapter import OPERATIONS, UNOPENED, admit
from minutebook.features.journal.contract.wording import word
from minutebook.serve.contracts.contract import Contract


@cache
def journal() -> Contract:
    """Return the contract, which is opened once: connections share its checks of arguments."""
    return Contract(__name__, OPERATIONS, word, gate=admit, unopened=UNOPENED)
