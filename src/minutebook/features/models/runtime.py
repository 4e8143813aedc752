"""Run ONNX graphs by onnxruntime, in batches that limit the memory."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutebook.record.errors import ModelUnavailable

WORDS, MASK = "words", "mask"
"""The inputs of the built-in graphs, of shapes (batch, sequence, width) and (batch, sequence)."""
VECTORS, STATES = "vectors", "states"
"""Their outputs, of shapes (batch, width) and (batch, sequence, width)."""

PADDED_TOKENS = 256
"""Tokens of one run, padding included; with more than 150 to 400 the time for each text grows again."""


class ModelSession:
    """One loaded graph; `run` may be called from several threads."""

    def __init__(self, graph: Path | bytes) -> None:
        # onnxruntime 1.29 and later report usage unless this is set before they are imported.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as state

        options = onnxruntime.SessionOptions()
        # One takes a fifth less CPU, and more memory while long texts wait; docs/decisions/0003-built-in-model.md.
        options.intra_op_num_threads, options.inter_op_num_threads = min(2, os.cpu_count() or 1), 1
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 4  # what it would log it also raises
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        source = graph if isinstance(graph, bytes) else str(graph)
        refusals = (
            state.Fail,
            state.InvalidArgument,
            state.InvalidGraph,
            state.InvalidProtobuf,
            state.NoModel,
            state.NoSuchFile,
            state.NotImplemented,
            state.RuntimeException,
        )
        try:
            self._session = onnxruntime.InferenceSession(
                source, options, providers=["CPUExecutionProvider"]
            )
        except refusals as error:
            remedy = "put a whole ONNX model that onnxruntime can run in its place"
            raise ModelUnavailable(
                "the model cannot be loaded: {error}", remedy, error=error
            ) from error
        self.inputs = [each.name for each in self._session.get_inputs()]
        self.outputs = {each.name: len(each.shape or ()) for each in self._session.get_outputs()}

    def run(
        self, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str] | None = None
    ) -> dict[str, NDArray[np.float32]]:
        """Run the graph; return the named outputs, or all."""
        names = list(outputs or self.outputs)
        return dict(zip(names, self._session.run(names, dict(inputs)), strict=True))


def batches(lengths: Sequence[int], budget: int = PADDED_TOKENS) -> list[list[int]]:
    """Return the indices of sequences in groups of similar lengths, the longest last, so that padding stays small.

    A group has one sequence, or as many as fit into `budget` tokens if each is padded to the longest.
    """
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if groups and lengths[index] * (len(groups[-1]) + 1) <= budget:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups
