"""What `store/protocol.py` promises, as tests that every engine inherits.

A further engine joins by an `Engine` (tests/store/engine.py) and a file of tests that inherits from
`StoreConformance`, `ProcessPromises` (promises_of_processes.py) and `StoreMachine` (machine.py).
"""

from tests.store.promises_of_records import RecordPromises
from tests.store.promises_of_search import SearchPromises


class StoreConformance(RecordPromises, SearchPromises):
    """Inherit it and say which engine it is."""
