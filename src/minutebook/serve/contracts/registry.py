"""Which contracts there are, and which can be served together."""

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from minutebook.feature import entries_of
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import must_be_one_of
from minutebook.serve.contracts.announced import safe_name
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.contracts.knowledge import knowledge

CONTRACTS: Mapping[str, Callable[[], Contract]] = {
    "knowledge": knowledge,
    **{each.__name__: each for each in entries_of("contract")},
}
"""The functions that open the contracts, by name; those of features come last."""


def open_contracts(
    names: Iterable[str],
    *,
    read_only: bool = False,
    tools: Collection[str] = (),
    answers: str = "json",
) -> list[Contract]:
    """Open contracts for one connection, restricted as by `narrowed`.

    Raises InvalidInput if a name is unknown, two contracts share a tool's name, or no tool is left.
    """
    served: list[Contract] = []
    for name in dict.fromkeys(names):
        if name not in CONTRACTS:
            raise InvalidInput("CONTRACT", must_be_one_of(CONTRACTS, name))
        contract = CONTRACTS[name]()
        for other in served:
            if shared := sorted(contract.names & other.names):
                raise InvalidInput(
                    "CONTRACT",
                    "must not name both {name} and {other}: both have {names}. Serve each on a connection of its own, or "
                    "over HTTP, each at its own path",
                    name=other.name,
                    other=name,
                    names=", ".join(shared),
                )
        served.append(contract)
    return narrowed(served, read_only=read_only, tools=tools, answers=answers)


def narrowed(
    contracts: Sequence[Contract], *, read_only: bool, tools: Collection[str], answers: str = "json"
) -> list[Contract]:
    """Return contracts with fewer tools, as `announced.narrowed` chooses them, answering in `answers`: `json` or `lines`.

    Raises InvalidInput if `tools` names an unknown tool, or with `read_only` one that writes.
    """
    if answers == "lines":
        contracts = [contract.in_lines() for contract in contracts]
    if not read_only and not tools:
        return list(contracts)
    known = {safe_name(name): name for contract in contracts for name in contract.listed}
    chosen = [contract.narrowed(read_only=read_only, tools=tools) for contract in contracts]
    served = {safe_name(name) for contract in chosen for name in contract.listed}
    for name in tools:
        if safe_name(name) not in known:
            near = difflib.get_close_matches(safe_name(name), known, n=1)
            every = ", ".join(known.values())
            if near:
                remedy = "must name tools (got {name!r}; the nearest is {near}); there are {every}"
                raise InvalidInput("tools", remedy, name=name, near=known[near[0]], every=every)
            remedy = "must name tools (got {name!r}); there are {every}"
            raise InvalidInput("tools", remedy, name=name, every=every)
        if safe_name(name) not in served:
            raise InvalidInput(
                "tools", "must not name {name}, which writes, with read_only", name=name
            )
    return chosen
