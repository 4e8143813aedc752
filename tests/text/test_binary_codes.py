"""Codes keep the order of angles, near enough, and count differing signs exactly."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.text import binary_codes

widths = st.integers(1, 200)
counts = st.integers(1, 40)
seeds = st.integers(0, 2**32 - 1)


def directions(count: int, dimensions: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn


@given(counts, widths, seeds)
def test_distances_count_the_signs_that_differ(count: int, dimensions: int, seed: int) -> None:
    vectors = directions(count, dimensions, seed)
    planes = binary_codes.encode(vectors, np.zeros(dimensions, np.float32))
    assert planes.shape == (-(-dimensions // binary_codes.WORD), count)
    bits = np.unpackbits(np.ascontiguousarray(planes.T).view(np.uint8), axis=1)
    for place in range(min(count, 3)):
        expected = (bits != bits[place]).sum(axis=1)
        np.testing.assert_array_equal(binary_codes.distances(planes, planes[:, place]), expected)


@given(counts, widths, seeds)
def test_a_vector_and_its_opposite_differ_in_every_sign(
    count: int, dimensions: int, seed: int
) -> None:
    vectors = directions(count, dimensions, seed)
    centre = np.zeros(dimensions, np.float32)
    planes, opposite = binary_codes.encode(vectors, centre), binary_codes.encode(-vectors, centre)
    everything = planes.shape[0] * binary_codes.WORD
    for place in range(count):
        assert binary_codes.distances(opposite[:, [place]], planes[:, place])[0] == everything


@given(counts, widths, seeds)
def test_a_code_depends_on_its_own_vector_alone(count: int, dimensions: int, seed: int) -> None:
    # Sums of another length may round a coordinate near zero to the other side.
    vectors = directions(count, dimensions, seed)
    together = binary_codes.encode(vectors, binary_codes.centre_of(vectors.astype(np.float16)))
    for place in range(min(count, 3)):
        alone = binary_codes.encode(
            vectors[[place]], binary_codes.centre_of(vectors.astype(np.float16))
        )
        assert binary_codes.distances(together[:, [place]], alone[:, 0])[0] <= 2


def test_the_share_of_differing_signs_is_the_angle_over_pi() -> None:
    dimensions = 384
    one, other = directions(2, dimensions, 7)
    for cosine in (-0.5, 0.0, 0.5, 0.9):
        sideways = other - (other @ one) * one
        sideways /= np.linalg.norm(sideways)
        turned = cosine * one + np.sqrt(1 - cosine**2) * sideways
        planes = binary_codes.encode(np.stack([one, turned]), np.zeros(dimensions, np.float32))
        share = binary_codes.distances(planes[:, [0]], planes[:, 1])[0] / dimensions
        assert share == pytest.approx(np.arccos(cosine) / np.pi, abs=0.08)


def test_blocks_larger_than_are_read_at_once_are_counted_whole() -> None:
    drawn = np.random.default_rng(3)
    planes = drawn.integers(0, 2**63, (7, 100_003), dtype=np.uint64)
    code = drawn.integers(0, 2**63, 7, dtype=np.uint64)
    expected = np.bitwise_count(planes ^ code[:, None]).sum(axis=0)
    np.testing.assert_array_equal(binary_codes.distances(planes, code), expected)


def test_the_centre_is_the_mean() -> None:
    vectors = directions(500, 16, 1).astype(np.float16)
    np.testing.assert_allclose(binary_codes.centre_of(vectors), vectors.mean(axis=0), atol=1e-3)


def test_the_rotation_is_orthogonal_and_always_the_same() -> None:
    rotation = binary_codes._rotation(128)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(128), atol=1e-5)
    # A change would make every code on disk wrong.
    np.testing.assert_allclose(rotation[0, :3], FIRST, atol=1e-5)


FIRST = [-0.0168493, -0.0812988, -0.0685031]


PRODUCT = """
import os, minutebook, numpy as np
rows = np.ones((200, 384), np.float32)
rows @ np.ones((384, 384), np.float32)
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.cold_start
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_product_of_matrices_runs_on_the_thread_that_asks_for_it() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    told = subprocess.run(
        [sys.executable, "-c", PRODUCT], env=environment, check=True, capture_output=True
    )
    assert told.stdout == b"1\n"
