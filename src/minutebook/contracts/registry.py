"""Which contracts there are, and which can be served together."""

from collections.abc import Callable, Iterable, Mapping

from minutebook.contracts.catalog import catalog
from minutebook.contracts.contract import Contract
from minutebook.contracts.governance import governance
from minutebook.contracts.journal import journal
from minutebook.contracts.knowledge import knowledge
from minutebook.contracts.ledger import ledger
from minutebook.domain.errors import InvalidInput

CONTRACTS: Mapping[str, Callable[[], Contract]] = {
    "knowledge": knowledge,
    "catalog": catalog,
    "governance": governance,
    "ledger": ledger,
    "journal": journal,
}


def opened(names: Iterable[str]) -> list[Contract]:
    """Open contracts to be served on one connection.

    Raises InvalidInput if a name is unknown, or two contracts share a tool's name.
    """
    contracts: list[Contract] = []
    for name in dict.fromkeys(names):
        if name not in CONTRACTS:
            known = ", ".join(CONTRACTS)
            raise InvalidInput("CONTRACT", f"must be one of {known} (got {name!r})")
        contract = CONTRACTS[name]()
        for other in contracts:
            if shared := sorted(contract.names & other.names):
                raise InvalidInput(
                    "CONTRACT",
                    f"must not name both {other.name} and {name}: both have {', '.join(shared)}. "
                    "Serve each on a connection of its own, or over HTTP, each at its own path",
                )
        contracts.append(contract)
    return contracts
