"""What `store/protocol.py` promises, as tests that every engine inherits."""

from tests.store.promises_of_records import RecordPromises
from tests.store.promises_of_search import SearchPromises


class StoreConformance(RecordPromises, SearchPromises):
    """Inherit it and say, in `make`, how a fresh store is made in a folder."""
