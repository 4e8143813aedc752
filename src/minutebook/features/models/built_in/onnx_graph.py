"""The transformer as an ONNX graph, in float32 to observe or in int8 to run.

Each linear step reads activations quantised with fixed steps, so that a text's vector does not
depend on its neighbours in a batch, as steps taken from the batch would make it. The difficulty of
outlying channels moves into the weights first (SmoothQuant, Xiao et al. 2023, equation 4):
`s_j = max|X_j|^a / max|W_j|^(1-a)`. Weights keep 7 bits: a sum of two products of 8 and 7 bits fits
the 16 bits in which processors without VNNI add them, so every processor gives the same sums.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minutebook.features.models.built_in import onnx_file
from minutebook.features.models.built_in.weights import Floats, Weights
from minutebook.features.models.runtime import MASK, STATES, VECTORS, WORDS

SMOOTHING = 0.65
"""How much of the difficulty moves into the weights; 0.6 to 0.7 are about equally good."""
LEVELS = 255
WEIGHT_LIMIT = 63

_MICROSOFT = "com.microsoft"


@dataclass(frozen=True, slots=True)
class Range:
    """Least and greatest value of each channel of a linear step's input."""

    least: Floats
    greatest: Floats

    def joined(self, other: "Range") -> "Range":
        """Return the range that covers both."""
        return Range(np.minimum(self.least, other.least), np.maximum(self.greatest, other.greatest))


class OnnxGraph:
    """Collects nodes and constants."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}
        self._outputs: list[str] = []

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        """Add a constant; give its name."""
        self._constants[name] = onnx_file.constant(name, np.ascontiguousarray(value))
        return name

    def add(
        self, operator: str, *inputs: str, name: str = "", **attributes: onnx_file.Attribute
    ) -> str:
        """Add a node with one output; return the output's name."""
        return self.add_several(1, operator, *inputs, name=name, **attributes)[0]

    def add_several(
        self,
        outputs: int,
        operator: str,
        *inputs: str,
        name: str = "",
        **attributes: onnx_file.Attribute,
    ) -> list[str]:
        """Add a node with several outputs; return their names."""
        name = name or f"{operator}.{len(self._nodes)}"
        names = [name] if outputs == 1 else [f"{name}.{index}" for index in range(outputs)]
        self._nodes.append(onnx_file.node(operator, inputs, names, _domain(operator), attributes))
        return names

    def choose(
        self,
        condition: str,
        operator: str,
        inputs: Sequence[str],
        otherwise: Sequence[str],
        **attributes: onnx_file.Attribute,
    ) -> str:
        """Add a node that takes the first inputs where a condition holds, else the others; give its output."""
        name = f"{operator}.{len(self._nodes)}"

        def branch(taken: Sequence[str], way: str) -> bytes:
            output = f"{name}.{way}"
            node = onnx_file.node(operator, taken, [output], _domain(operator), attributes)
            described = onnx_file.described(output, onnx_file.FLOAT, None)
            return onnx_file.graph(output, [node], [], [], [described])

        branches = {"then_branch": branch(inputs, "then"), "else_branch": branch(otherwise, "else")}
        self._nodes.append(onnx_file.node("If", [condition], [name], None, branches))
        return name

    def show(self, name: str) -> None:
        """Make a value one of the graph's outputs."""
        self._outputs.append(name)

    def model(self, width: int) -> bytes:
        """Return the graph as an ONNX file over word vectors (b, s, width) and a mask (b, s)."""
        shape = ["batch", "positions"]
        inputs = [
            onnx_file.described(WORDS, onnx_file.FLOAT, [*shape, width]),
            onnx_file.described(MASK, onnx_file.INT32, shape),
        ]
        outputs = [onnx_file.described(name, onnx_file.FLOAT, None) for name in self._outputs]
        graph = onnx_file.graph(
            "transformer", self._nodes, self._constants.values(), inputs, outputs
        )
        return onnx_file.model(graph, {"": 18, _MICROSOFT: 1})


_CONTRIBUTED = {"MatMulIntegerToFloat", "MultiHeadAttention", "QAttention", "Gelu"}


def _domain(operator: str) -> str:
    return _MICROSOFT if operator in _CONTRIBUTED else ""


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
    graph.add("Cast", least, name=FULL, to=onnx_file.BOOL)
    state = _embeddings(graph, weights)
    for layer in range(shape.layers):
        state = _layer(graph, weights, arithmetic, layer, state)
    graph.add("Identity", state, name=STATES)
    mask = graph.add("Cast", MASK, to=onnx_file.FLOAT)
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


class Observed:
    """Float32, in a graph that also shows the range of each step's input (see `ranges`)."""

    def linear(self, graph: OnnxGraph, name: str, value: str, matrix: Floats, bias: Floats) -> str:
        """Add a linear step."""
        axes = graph.constant("rows", np.array([0, 1]))
        for operator, shown in zip(("ReduceMin", "ReduceMax"), _shown(name), strict=True):
            graph.show(graph.add(operator, value, axes, name=shown, keepdims=0))
        product = graph.add("MatMul", value, graph.constant(f"{name}.w", matrix.T))
        return graph.add("Add", product, graph.constant(f"{name}.b", bias))

    def attention(
        self, graph: OnnxGraph, name: str, value: str, matrix: Floats, bias: Floats, heads: int
    ) -> str:
        """Add attention."""
        joined = self.linear(graph, name, value, matrix, bias)
        query, key, value = graph.add_several(3, "Split", joined, axis=-1, num_outputs=3)
        return graph.add("MultiHeadAttention", query, key, value, "", MASK, num_heads=heads)


def ranges(outputs: Mapping[str, Floats]) -> dict[str, Range]:
    """Read the ranges out of an observed graph's outputs, by the step's name."""
    names = [name.removesuffix(".least") for name in outputs if name.endswith(".least")]
    return {name: Range(*(outputs[shown] for shown in _shown(name))) for name in names}


def _shown(name: str) -> tuple[str, str]:
    return f"{name}.least", f"{name}.greatest"


class Quantised:
    """Int8, fitted to the ranges that were seen."""

    def __init__(self, seen: Mapping[str, Range]) -> None:
        self._seen = seen

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
        step, zero = _steps(self._seen[name], matrix)
        absorbed = matrix * step
        scale = np.abs(absorbed).max(axis=1) / WEIGHT_LIMIT
        levels = np.rint(absorbed / scale[:, None]).astype(np.int8)
        one = graph.constant("one", np.array(1, np.float32))
        offset = graph.constant(f"{name}.zero", np.array(zero, np.uint8))
        inverse = graph.constant(f"{name}.inverse", (1 / step).astype(np.float32))
        integers = graph.add("QuantizeLinear", graph.add("Mul", value, inverse), one, offset)
        weights = graph.constant(f"{name}.w", levels.T)
        return (
            integers,
            weights,
            one,
            graph.constant(f"{name}.scale", scale.astype(np.float32)),
            offset,
        )


def _steps(seen: Range, matrix: Floats) -> tuple[Floats, int]:
    """Choose the size of one level for each input channel, and the level that stands for zero."""
    tiny = np.float32(1e-5)
    reach = np.maximum(np.maximum(-seen.least, seen.greatest), tiny)
    heaviest = np.maximum(np.abs(matrix).max(axis=0), tiny)
    smooth = reach**SMOOTHING / heaviest ** (1 - SMOOTHING)
    least, greatest = float((seen.least / smooth).min()), float((seen.greatest / smooth).max())
    level = (greatest - least) / LEVELS
    return (smooth * level).astype(np.float32), round(-least / level)
