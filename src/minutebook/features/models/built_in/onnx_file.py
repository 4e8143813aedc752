"""Writes the parts of an ONNX file that a graph needs, as bytes of the protobuf encoding.

Field numbers are those of onnx.proto (ONNX IR version 9), in rising order as protobuf writes them;
a test reads the file with the `onnx` package and compares. https://protobuf.dev/programming-guides/encoding/
"""

import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

IR_VERSION = 9

FLOAT, INT32, BOOL = 1, 6, 9
"""Types of elements."""
_TYPES = {"float32": FLOAT, "uint8": 2, "int8": 3, "int32": INT32, "int64": 7}

Attribute = int | float | bytes
"""A value of a node's attribute; bytes are a graph's."""

_NUMBER, _BYTES, _SINGLE = 0, 2, 5
"""Wire types."""


def model(graph: bytes, operator_sets: Mapping[str, int]) -> bytes:
    """Return a model: a graph and the versions of the operators that it uses, by their domain."""
    sets = (_bytes(8, _text(1, name) + _number(2, each)) for name, each in operator_sets.items())
    return b"".join([_number(1, IR_VERSION), _bytes(7, graph), *sets])


def graph(
    name: str,
    nodes: Iterable[bytes],
    constants: Iterable[bytes],
    inputs: Iterable[bytes],
    outputs: Iterable[bytes],
) -> bytes:
    """Return a graph of nodes, constants, and described inputs and outputs."""
    return b"".join(
        [
            *(_bytes(1, each) for each in nodes),
            _text(2, name),
            *(_bytes(5, each) for each in constants),
            *(_bytes(11, each) for each in inputs),
            *(_bytes(12, each) for each in outputs),
        ]
    )


def node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    domain: str | None,
    attributes: Mapping[str, Attribute],
) -> bytes:
    """Return a node."""
    return b"".join(
        [
            *(_text(1, each) for each in inputs),
            *(_text(2, each) for each in outputs),
            _text(4, operator),
            *(_bytes(5, _attribute(name, attributes[name])) for name in sorted(attributes)),
            _text(7, domain) if domain is not None else b"",
        ]
    )


def constant(name: str, value: NDArray[np.generic]) -> bytes:
    """Return a tensor of a name, of one of the types of elements that are known here."""
    little = value.astype(value.dtype.newbyteorder("<"), order="C")
    return b"".join(
        [
            *(_number(1, size) for size in value.shape),
            _number(2, _TYPES[value.dtype.name]),
            _text(8, name),
            _bytes(9, little.tobytes()),
        ]
    )


def described(name: str, type: int, shape: Sequence[str | int] | None) -> bytes:
    """Return the description of a tensor: a dimension is a number, or a name for any; None is any shape."""
    tensor = _number(1, type)
    if shape is not None:
        dimensions = (
            _bytes(1, _number(1, each) if isinstance(each, int) else _text(2, each))
            for each in shape
        )
        tensor += _bytes(2, b"".join(dimensions))
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, bytes):
        content, kind = _bytes(6, value), 5
    elif isinstance(value, float):
        content, kind = _tag(2, _SINGLE) + struct.pack("<f", value), 1
    else:
        content, kind = _number(3, value), 2
    return _text(1, name) + content + _number(20, kind)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _tag(field, _BYTES) + _varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    return _tag(field, _NUMBER) + _varint(value)


def _tag(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(value: int) -> bytes:
    """Write a number in groups of seven bits, the lowest first; a negative one as 64 bits."""
    rest, written = value & (1 << 64) - 1, bytearray()
    while rest > 127:
        written.append(rest & 127 | 128)
        rest >>= 7
    written.append(rest)
    return bytes(written)
