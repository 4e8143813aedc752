"""The built-in models, opened once and shared by every test that needs them."""

import pytest

from minutebook.features.models.built_in import builtin, model_files
from minutebook.features.models.built_in.builtin import BuiltInEmbedder
from minutebook.features.models.built_in.tokenizer import Tokenizer
from tests.features.models.oracle import Oracle
from tools.models.derive import ENGLISH, MULTILINGUAL
from tools.models.e5 import E5Weights
from tools.models.minilm import MiniLmWeights


@pytest.fixture(scope="session")
def embedder() -> BuiltInEmbedder:
    return builtin.open_model()


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer(model_files.FILES / model_files.TOKENIZER)


@pytest.fixture(scope="session")
def weights() -> E5Weights:
    path = MULTILINGUAL.find()
    if path is None:
        pytest.skip("the package with the weights is not made for this platform")
    return E5Weights(path)


@pytest.fixture(scope="session")
def oracle(weights: E5Weights) -> Oracle:
    return Oracle(weights)


@pytest.fixture(scope="session")
def english_oracle() -> Oracle:
    path = ENGLISH.find()
    if path is None:
        pytest.skip("the package with the weights is not installed on this platform")
    return Oracle(MiniLmWeights(path))
