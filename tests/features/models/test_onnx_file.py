"""The files that we write are those that the `onnx` package would write."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.models.built_in import builtin, onnx_file
from minutebook.features.models.built_in.onnx_graph import OnnxGraph
from minutebook.features.models.runtime import ModelSession


def test_the_model_is_read_by_onnx_and_written_by_it_the_same(prepared_folder: Path) -> None:
    body = (prepared_folder / builtin.BODY).read_bytes()
    model = onnx.load_model_from_string(body)
    assert model.SerializeToString() == body
    assert len(model.graph.node) > 100


@given(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(width=32, allow_nan=False),
    st.sampled_from(["float32", "uint8", "int8", "int32", "int64"]),
    st.lists(st.integers(0, 3), max_size=3),
)
def test_any_attribute_and_constant_is_written_as_onnx_does(
    whole: int, real: float, kind: str, shape: list[int]
) -> None:
    value = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
    node = onnx.helper.make_node("Op", ["a", ""], ["b"], domain="d", whole=whole, real=real)
    attributes: dict[str, onnx_file.Attribute] = {"whole": whole, "real": real}
    assert onnx_file.node("Op", ["a", ""], ["b"], "d", attributes) == node.SerializeToString()
    assert (
        onnx_file.constant("c", value)
        == onnx.numpy_helper.from_array(value, "c").SerializeToString()
    )


def test_a_graph_that_chooses_runs(tmp_path: Path) -> None:
    graph = OnnxGraph()
    least = graph.add("ReduceMin", "mask", keepdims=0)
    full = graph.add("Cast", least, to=onnx_file.BOOL)
    two = graph.constant("two", np.array(2, np.float32))
    graph.show(graph.choose(full, "Mul", ["words", two], ["words", "words"]))
    words = np.full((1, 2, 3), 5, np.float32)
    session = ModelSession(graph.model(3))
    for mask, wanted in ((1, 10), (0, 25)):
        masks = np.full((1, 2), mask, np.int32)
        (made,) = session.run({"words": words, "mask": masks}).values()
        assert made == pytest.approx(np.full((1, 2, 3), wanted))
