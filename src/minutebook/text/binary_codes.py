"""Codes of vectors, a few bits each, compared by the number of different bits.

A vector is centred, turned by a fixed random rotation and reduced to the signs of its coordinates.
The share of signs in which two vectors differ is their angle over π (Charikar 2002, "Similarity
estimation techniques from rounding algorithms"); the rotation spreads the information of a few
strong coordinates over all (Gong and Lazebnik 2011, "Iterative quantization").
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

WORD = 64
"""The number of signs in one word of a code."""

_SEED = 20_240_817
_BLOCK = 1 << 15
_ENCODED_AT_ONCE = 1 << 13
_WORDS_IN_A_BYTE = 3  # 3 × 64 differing signs still count within eight bits.


def centre_of(vectors: NDArray[np.float16]) -> NDArray[np.float32]:
    """Return the mean of vectors (n, d), shape (d,), taken over some 8,000 evenly spaced ones at most."""
    step = max(1, len(vectors) // _ENCODED_AT_ONCE)
    mean: NDArray[np.float32] = vectors[::step].mean(axis=0, dtype=np.float32)
    return mean


def encode(
    vectors: NDArray[np.float16] | NDArray[np.float32], centre: NDArray[np.float32]
) -> NDArray[np.uint64]:
    """Return the signs of vectors (n, d) around a centre (d,), as planes (⌈d / 64⌉, n).

    Plane i holds the i-th word of each code, so that distances read memory in order.
    """
    count, dimensions = vectors.shape
    planes = np.empty((-(-dimensions // WORD), count), np.uint64)
    for start in range(0, count, _ENCODED_AT_ONCE):
        part = slice(start, start + _ENCODED_AT_ONCE)
        signs = rotated(vectors[part].astype(np.float32) - centre) >= 0
        planes[:, part] = np.packbits(signs, axis=1).view(np.uint64).T
    return planes


def rotated(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn vectors (n, d) by the fixed rotation of the next multiple of WORD dimensions, (n, w)."""
    dimensions = vectors.shape[1]
    turn = _rotation(-(-dimensions // WORD) * WORD)[:dimensions]
    turned: NDArray[np.float32] = vectors @ turn
    return turned


def distances(planes: NDArray[np.uint64], code: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Count the signs in which each of the codes in planes (w, n) differs from one code (w,)."""
    total = np.zeros(planes.shape[1], np.uint16)
    for start in range(0, len(total), _BLOCK):
        block = planes[:, start : start + _BLOCK]
        counted = total[start : start + _BLOCK]
        for first in range(0, len(code), _WORDS_IN_A_BYTE):
            few = slice(first, first + _WORDS_IN_A_BYTE)
            counted += np.bitwise_count(block[few] ^ code[few, None]).sum(axis=0, dtype=np.uint8)
    return total


@lru_cache(maxsize=4)
def _rotation(dimensions: int) -> NDArray[np.float32]:
    """Return a random orthogonal matrix (d, d), the same on every machine.

    The Q of a Gaussian matrix, signs chosen so that R has a positive diagonal, which makes it
    unique. `RandomState` is used because its stream is frozen for good, unlike `Generator`'s.
    """
    gaussian = np.random.RandomState(_SEED).standard_normal((dimensions, dimensions))
    orthogonal, triangular = np.linalg.qr(gaussian)
    rotation: NDArray[np.float32] = (orthogonal * np.sign(np.diag(triangular))).astype(np.float32)
    rotation.setflags(write=False)
    return rotation
