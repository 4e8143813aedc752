"""The oracle is held to the protocol like every engine."""

from tests.store.conformance import StoreConformance
from tests.store.dict_engine import DictEngine


class TestDict(StoreConformance):
    engine = DictEngine()
