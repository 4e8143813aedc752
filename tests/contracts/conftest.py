"""Which tests of the contracts `make test-server ARGS="-m on_server"` runs; `make test-all` runs all there.

A third, which writes, reads back and searches every kind of record through every contract.
"""

from pathlib import Path

import pytest

ON_SERVER = {
    "test_catalog_searching",
    "test_governance_memories",
    "test_journal_summaries",
    "test_journal_turns",
    "test_knowledge_graph",
    "test_knowledge_memories",
    "test_knowledge_search",
    "test_ledger_proposals",
    "test_ledger_writing",
    "test_token_callers",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in ON_SERVER and item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.on_server)
