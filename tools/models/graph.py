"""The transformer as an ONNX graph, in float32 to observe or in int8 to run.

Each linear step reads activations quantised with fixed steps, so that a text's vector does not
depend on its neighbours in a batch, as steps taken from the batch would make it. The difficulty of
outlying channels moves into the weights first (SmoothQuant, Xiao et al. 2023, equation 4). Weights
keep 7 bits: a sum of two products of 8 and 7 bits fits the 16 bits in which processors without VNNI
add them, so every processor gives the same sums.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from minutebook.features.models.built_in.model_files import Blocks, Floats
from minutebook.features.models.runtime import MASK, STATES, VECTORS, WORDS

WEIGHT_LIMIT = 63
IR_VERSION, OPERATORS = 9, 18

_MICROSOFT = "com.microsoft"


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a transformer."""

    width: int
    layers: int
    heads: int
    inner: int
    epsilon: float


class Weights(Protocol):
    """The weights of a model: `emb.pos`, `emb.type`, `emb.ln`, and of each layer `q`, `k`, `v`, `ao`, `aln`, `fi`, `fo`, `oln`."""

    @property
    def shape(self) -> Shape:
        """The sizes of the model."""

    def tensor(self, name: str) -> Floats:
        """Return a tensor, flat."""

    def matrix(self, name: str, columns: int) -> Floats:
        """Return a matrix, shape (outputs, inputs)."""

    def words(self) -> Blocks:
        """Return the word vectors, packed in four bits."""


class OnnxGraph:
    """Collects nodes and constants."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._outputs: list[str] = []

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        """Add a constant; return its name."""
        self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: float) -> str:
        """Add a node with one output; return the output's name."""
        return self.add_several(1, operator, *inputs, name=name, **attributes)[0]

    def add_several(
        self, outputs: int, operator: str, *inputs: str, name: str = "", **attributes: float
    ) -> list[str]:
        """Add a node with several outputs; return their names."""
        name = name or f"{operator}.{len(self._nodes)}"
        names = [name] if outputs == 1 else [f"{name}.{index}" for index in range(outputs)]
        self._nodes.append(_node(operator, inputs, names, **attributes))
        return names

    def choose(
        self,
        condition: str,
        operator: str,
        inputs: list[str],
        otherwise: list[str],
        **attributes: float,
    ) -> str:
        """Add a node that takes the first inputs where a condition holds, else the others; return its output."""
        name = f"{operator}.{len(self._nodes)}"

        def branch(taken: list[str], way: str) -> Any:
            output = f"{name}.{way}"
            node = _node(operator, taken, [output], **attributes)
            return helper.make_graph([node], output, [], [_float(output)])

        branches = {"then_branch": branch(inputs, "then"), "else_branch": branch(otherwise, "else")}
        self._nodes.append(helper.make_node("If", [condition], [name], **branches))
        return name

    def show(self, name: str) -> None:
        """Make a value one of the graph's outputs."""
        self._outputs.append(name)

    def model(self, width: int) -> bytes:
        """Return the graph as an ONNX file over word vectors (b, s, width) and a mask (b, s)."""
        shape: list[str | int] = ["batch", "positions"]
        inputs = [
            _float(WORDS, [*shape, width]),
            helper.make_tensor_value_info(MASK, TensorProto.INT32, shape),
        ]
        outputs = [_float(name) for name in self._outputs]
        graph = helper.make_graph(
            self._nodes, "transformer", inputs, outputs, list(self._constants.values())
        )
        versions = [helper.make_opsetid("", OPERATORS), helper.make_opsetid(_MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=versions, ir_version=IR_VERSION)
        written: bytes = model.SerializeToString(deterministic=True)
        return written


_CONTRIBUTED = {"MatMulIntegerToFloat", "MultiHeadAttention", "QAttention", "Gelu"}


def _node(operator: str, inputs: Any, outputs: list[str], **attributes: Any) -> Any:
    domain = _MICROSOFT if operator in _CONTRIBUTED else ""
    return helper.make_node(operator, list(inputs), outputs, domain=domain, **attributes)


def _float(name: str, shape: list[str | int] | None = None) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


FULL = "full"
"""A value of the graph: whether no position of any text is padding."""


class Arithmetic(Protocol):
    """How the steps with weights are computed; each gives the name of its output."""

    def linear(self, graph: OnnxGraph, name: str, value: str, matrix: Floats, bias: Floats) -> str:
        """Add `x W^T + b` for the step of a name, given x, W (outputs, inputs) and b."""

    def attention(
        self, graph: OnnxGraph, name: str, value: str, matrix: Floats, bias: Floats, heads: int
    ) -> str:
        """Add attention of x to itself; the rows of W and b give queries, then keys, then values."""


def transformer(weights: Weights, arithmetic: Arithmetic) -> bytes:
    """Return the body as an ONNX file: word vectors in, one unit vector a text and each token's last state out."""
    graph, shape = OnnxGraph(), weights.shape
    least = graph.add("ReduceMin", MASK, keepdims=0)
    graph.add("Cast", least, name=FULL, to=TensorProto.BOOL)
    state = _embeddings(graph, weights)
    for layer in range(shape.layers):
        state = _layer(graph, weights, arithmetic, layer, state)
    graph.add("Identity", state, name=STATES)
    mask = graph.add("Cast", MASK, to=TensorProto.FLOAT)
    axis = graph.constant("axis", np.array([1]))
    total = graph.add("MatMul", graph.add("Unsqueeze", mask, axis), state)
    # The mean points where the sum does.
    graph.add("LpNormalization", graph.add("Squeeze", total, axis), name=VECTORS, axis=-1, p=2)
    graph.show(VECTORS)
    graph.show(STATES)
    return graph.model(shape.width)


def _embeddings(graph: OnnxGraph, weights: Weights) -> str:
    width = weights.shape.width
    places = weights.tensor("emb.pos").reshape(-1, width) + weights.tensor("emb.type")[:width]
    length = graph.add("Shape", WORDS, start=1, end=2)
    zero = graph.constant("zero", np.array([0]))
    used = graph.add("Slice", graph.constant("places", places), zero, length)
    return _normalised(graph, weights, "emb.ln", WORDS, used)


def _normalised(graph: OnnxGraph, weights: Weights, name: str, value: str, onto: str) -> str:
    """Add two values and normalise the sum (LayerNormalization), in steps that onnxruntime vectorises.

    Its own LayerNormalization and SkipLayerNormalization take 2.7 times as long.
    """
    scale, shift = (
        graph.constant(f"{name}.{part}", weights.tensor(f"{name}.{part}")) for part in "wb"
    )
    total = graph.add("Add", onto, value)
    last = graph.constant("last", np.array([-1]))
    centred = graph.add("Sub", total, graph.add("ReduceMean", total, last))
    epsilon = weights.shape.epsilon
    scaled = graph.add("SimplifiedLayerNormalization", centred, scale, axis=-1, epsilon=epsilon)
    return graph.add("Add", scaled, shift)


def _layer(
    graph: OnnxGraph, weights: Weights, arithmetic: Arithmetic, layer: int, state: str
) -> str:
    width, inner = weights.shape.width, weights.shape.inner

    def step(name: str, columns: int, value: str) -> str:
        matrix = weights.matrix(f"l{layer}.{name}.w", columns)
        bias = weights.tensor(f"l{layer}.{name}.b")
        return arithmetic.linear(graph, f"l{layer}.{name}", value, matrix, bias)

    matrix = np.concatenate([weights.matrix(f"l{layer}.{part}.w", width) for part in "qkv"])
    bias = np.concatenate([weights.tensor(f"l{layer}.{part}.b") for part in "qkv"])
    heads = weights.shape.heads
    context = arithmetic.attention(graph, f"l{layer}.qkv", state, matrix, bias, heads)
    attended = step("ao", width, context)
    state = _normalised(graph, weights, f"l{layer}.aln", attended, state)
    output = step("fo", inner, graph.add("Gelu", step("fi", width, state)))
    return _normalised(graph, weights, f"l{layer}.oln", output, state)


@dataclass(frozen=True, slots=True)
class Step:
    """How the input of a linear step becomes levels of eight bits."""

    sizes: Floats
    """The size of one level for each channel."""
    zero: int
    """The level that stands for zero."""


class Quantised:
    """Int8, by the steps that were fitted to what was seen."""

    def __init__(self, steps: Mapping[str, Step]) -> None:
        self._steps = steps

    def linear(self, graph: OnnxGraph, name: str, value: str, matrix: Floats, bias: Floats) -> str:
        """Add a linear step."""
        integers, levels, one, scale, offset = self._levels(graph, name, value, matrix)
        added = graph.constant(f"{name}.b", bias)
        return graph.add("MatMulIntegerToFloat", integers, levels, one, scale, offset, "", added)

    def attention(
        self, graph: OnnxGraph, name: str, value: str, matrix: Floats, bias: Floats, heads: int
    ) -> str:
        """Add attention in one node, which needs no mask where no text is padded."""
        integers, levels, one, scale, offset = self._levels(graph, name, value, matrix)
        added = graph.constant(f"{name}.b", bias)
        zero = graph.constant("no_offset", np.array(0, np.int8))
        masked, unmasked = (
            [integers, levels, added, one, scale, mask, offset, zero] for mask in (MASK, "")
        )
        return graph.choose(FULL, "QAttention", unmasked, masked, num_heads=heads)

    def _levels(
        self, graph: OnnxGraph, name: str, value: str, matrix: Floats
    ) -> tuple[str, str, str, str, str]:
        """Name the quantized input and weights, the scale of each, and the input's zero point."""
        step = self._steps[name]
        absorbed = matrix * step.sizes
        scale = np.abs(absorbed).max(axis=1) / WEIGHT_LIMIT
        levels = np.rint(absorbed / scale[:, None]).astype(np.int8)
        one = graph.constant("one", np.array(1, np.float32))
        offset = graph.constant(f"{name}.zero", np.array(step.zero, np.uint8))
        inverse = graph.constant(f"{name}.inverse", (1 / step.sizes).astype(np.float32))
        integers = graph.add("QuantizeLinear", graph.add("Mul", value, inverse), one, offset)
        weights = graph.constant(f"{name}.w", levels.T)
        return (
            integers,
            weights,
            one,
            graph.constant(f"{name}.scale", scale.astype(np.float32)),
            offset,
        )
