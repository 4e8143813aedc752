"""What a token's bearer hears of a store and ledgers that fail: that they do, and no path."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.record.records import Role
from tests.constants import with_constants
from tests.features.http.speaking import Server, call, served, token
from tests.features.ledger.contract.ledgered import WHY
from tests.world import wait_until

FACT = {
    "organization": "acme",
    "scope_type": "organization",
    "memory_type": "fact",
    "current_content": "Tea at five",
}
DECISION = {"title": "Use files", "target": "store", "rationale": WHY}
TURN = {"prompt": "p", "thought": "t", "response": "r"}
WRITES = [
    pytest.param(
        f"/mcp/{contract}", tool, said, marks=pytest.mark.needs(*({contract} - {"knowledge"}))
    )
    for contract, tool, said in (
        ("catalog", "memory-write", FACT),
        ("catalog", "memory-batch-write", {"items": [FACT]}),
        ("knowledge", "store_memory", {"content": "Tea at five"}),
        ("knowledge", "create_entity", {"name": "Ana"}),
        ("ledger", "record_decision", DECISION),
        ("journal", "add_memory", TURN),
        ("journal", "delete_all_summaries", {}),
    )
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("failing").resolve()
    token(home, "first")
    constants = with_constants(tmp_path_factory.mktemp("constants"), stores__WRITER_WAIT=0.1)
    with served(home, **constants) as one:
        yield one


@pytest.fixture(scope="module")
def secret(server: Server) -> str:
    return str(token(server.home, "bearer", Role.HUMAN, organization="acme").secret)


def refused(server: Server, secret: str, path: str, tool: str, said: dict[str, Any]) -> str:
    """Call a tool that must fail; all that comes back."""
    answer = server.post(path, call(tool, **said), Authorization=f"Bearer {secret}")
    told = answer.json()
    assert "error" in told or told["result"]["isError"], told
    return answer.text


def paths_in(text: str, home: Path) -> list[str]:
    return [part for part in (*home.parts[1:], "minutebook.db", "ledgers") if part in text]


@pytest.mark.parametrize(("path", "tool", "said"), WRITES, ids=str)
def test_a_store_that_is_busy(
    server: Server, secret: str, path: str, tool: str, said: dict[str, Any]
) -> None:
    app = open_app(settings_with(home=server.home, embedder="none"))
    try:
        with app.infrastructure.store.transaction("default"):
            text = refused(server, secret, path, tool, said)
    finally:
        app.close()
    assert "the log of the server tells why" in text
    assert not paths_in(text, server.home)


@pytest.mark.needs("journal")
def test_archives_that_cannot_be_written(server: Server, secret: str) -> None:
    (server.home / "backups").write_text("no folder")
    text = refused(server, secret, "/mcp/journal", "export_database", {})
    assert "the log of the server tells why" in text
    assert not paths_in(text, server.home)


def test_a_ledger_that_is_gone(server: Server, secret: str) -> None:
    def is_recorded() -> bool:
        # This server gives a write up after a tenth of a second: its own work may hold it up that long.
        request = call("record_decision", **DECISION)
        answer = server.post("/mcp/ledger", request, Authorization=f"Bearer {secret}").json()
        return not answer["result"]["isError"]

    wait_until(is_recorded)
    (ledger,) = (server.home / "ledgers").iterdir()
    shutil.rmtree(ledger)
    ledger.write_text("no repository")
    text = refused(server, secret, "/mcp/ledger", "record_decision", {**DECISION, "target": "wire"})
    assert not paths_in(text, server.home)
    assert "the log of the server tells why" in text
