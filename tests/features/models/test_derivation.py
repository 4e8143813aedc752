"""The models' files are derived alike wherever a wheel is built."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.models.built_in import model_files
from minutebook.features.models.built_in.model_files import dequantise
from minutebook.features.models.runtime import ModelSession
from tools.models.derive import SOURCES, derive
from tools.models.graph import OnnxGraph
from tools.models.minilm import packed


@pytest.fixture(scope="module")
def derived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("derived") / "files"
    if not derive(folder):
        pytest.skip("the packages with the weights are not made for this platform")
    return folder


def test_two_derivations_give_the_same_bytes(derived: Path) -> None:
    names = {path.name for path in derived.iterdir()}
    assert names == {path.name for path in model_files.FILES.iterdir()}
    for name in names - {model_files.MANIFEST}:
        assert (derived / name).read_bytes() == (model_files.FILES / name).read_bytes()


def test_files_are_derived_again_only_by_another_recipe(derived: Path) -> None:
    manifest, body = derived / model_files.MANIFEST, derived / "english-body.onnx"
    before = body.stat().st_mtime_ns
    assert derive(derived)
    assert body.stat().st_mtime_ns == before
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(told | {"recipe": "another"}))
    assert derive(derived)
    assert body.stat().st_mtime_ns > before
    assert json.loads(manifest.read_text()) == told


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.language)
def test_a_file_that_is_not_the_pinned_one_is_refused(
    source: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tools.models.derive.sha256_of", lambda path: "0" * 64)
    with pytest.raises(ValueError, match="is not the pinned weights file"):
        derive(tmp_path / "files")


def test_without_the_packages_nothing_is_derived(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tools.models.derive.Source.find", lambda source: None)
    assert not derive(tmp_path / "files")
    assert list(tmp_path.iterdir()) == []


@given(
    st.lists(st.lists(st.floats(-4, 4, width=16), min_size=64, max_size=64), min_size=1, max_size=4)
)
def test_rows_in_four_bits_are_within_half_a_level(rows: list[list[float]]) -> None:
    given = np.array(rows, np.float32)
    blocks = packed(given)
    assert blocks.shape == (len(rows), 2, 18)
    off = np.abs(dequantise(blocks) - given).reshape(len(rows), 2, 32)
    # The value opposite to the farthest has no level of its own: there are eight below zero, seven above.
    level = np.abs(given).reshape(len(rows), 2, 32).max(axis=-1) / 8
    assert (off.max(axis=-1) <= level * 1.01 + 1e-6).all()


def test_the_graphs_are_read_by_onnx(derived: Path) -> None:
    for source in SOURCES:
        model = onnx.load(derived / model_files.body_of(source.language).name)
        assert [each.name for each in model.graph.output] == ["vectors", "states"]
        assert len(model.graph.node) > 100


def test_a_graph_that_chooses_runs() -> None:
    graph = OnnxGraph()
    least = graph.add("ReduceMin", "mask", keepdims=0)
    full = graph.add("Cast", least, to=onnx.TensorProto.BOOL)
    two = graph.constant("two", np.array(2, np.float32))
    graph.show(graph.choose(full, "Mul", ["words", two], ["words", "words"]))
    words = np.full((1, 2, 3), 5, np.float32)
    session = ModelSession(graph.model(3))
    for mask, wanted in ((1, 10), (0, 25)):
        masks = np.full((1, 2), mask, np.int32)
        (made,) = session.run({"words": words, "mask": masks}).values()
        assert made == pytest.approx(np.full((1, 2, 3), wanted))
