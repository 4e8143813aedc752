"""The oracle is held to the protocol like every engine."""

from pathlib import Path

from minutebook.store.protocol import Store
from tests.store.conformance import StoreConformance
from tests.store.dict_engine import DictStore


class TestDict(StoreConformance):
    def make(self, folder: Path) -> Store:
        return DictStore()
