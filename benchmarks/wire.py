"""The bytes that an agent's client is sent before anything is asked: `tools/list` and the instructions.

`python -m benchmarks wire`. As the protocol writes them without spaces, of each contract and of what
`minutebook install` enters; tokens are bytes / 4.
"""

import json

from benchmarks.measure import Table, asked, publish
from minutebook.features.install.served import agent_tools, default_options
from minutebook.serve.contracts.announced import MODERN_VERSION, Announced, announced
from minutebook.serve.contracts.registry import CONTRACTS

OLDER = "2025-03-26"
"""A revision that has no schemas of outputs."""


def sizes(server: Announced | None) -> tuple[int, int, int, int]:
    """Return the number of tools, and bytes of their list now, of that at OLDER, and of the instructions."""
    assert server is not None
    listed = server.tools(MODERN_VERSION)
    return (
        len(listed["tools"]),
        _bytes(listed),
        _bytes(server.tools(OLDER)),
        _bytes(server.discover()["instructions"]),
    )


def _bytes(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def main() -> None:
    """Measure what is served by default and each contract, and publish."""
    quick = asked("Measure what a client is sent before it asks.").parse_args().quick
    tools = default_options("claude-code")["tools"].split(",")
    agent = announced(agent_tools(), "contract", tools=tools, answers="lines")
    rows = [
        ("what `install` enters", *sizes(agent)),
        *((name, *sizes(announced([name], "contract"))) for name in CONTRACTS),
    ]
    columns = ("served", "tools", "tools/list", f"at {OLDER}", "instructions")
    publish("wire", {}, [Table("Bytes before anything is asked", columns, rows)], quick=quick)


if __name__ == "__main__":
    main()
