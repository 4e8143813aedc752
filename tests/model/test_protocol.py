from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minutebook.model.protocol import spans, unit, without_surrogates


@given(length=st.integers(0, 200), size=st.integers(2, 40), data=st.data())
def test_spans_cover_everything_with_the_overlap_and_no_more_parts_than_needed(
    length: int, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    found = spans(length, size, overlap)
    assert found[0][0] == 0
    assert found[-1][1] == length
    if length <= size:
        assert found == [(0, length)]
        return
    assert all(stop - start == size for start, stop in found)
    assert all(b[0] <= a[1] - overlap for a, b in pairwise(found))
    fewer = len(found) - 1
    assert fewer * size - (fewer - 1) * overlap < length


def test_lone_surrogates_become_replacement_characters() -> None:
    assert without_surrogates("a\ud800b\udfff😀\ue000\ud7ff") == "a\ufffdb\ufffd😀\ue000\ud7ff"


def test_unit_rows_have_length_one() -> None:
    rows = unit(np.array([[3, 4], [0, -2]], np.float32))
    assert np.allclose(rows, np.array([[0.6, 0.8], [0, -1]]))
    assert rows.dtype == np.float32
