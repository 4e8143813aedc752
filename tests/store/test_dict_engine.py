"""The oracle is held to the protocol like every engine."""

import pytest

from tests.store.conformance import StoreConformance
from tests.store.dict_engine import DictEngine


@pytest.mark.thorough
class TestDict(StoreConformance):
    engine = DictEngine()
