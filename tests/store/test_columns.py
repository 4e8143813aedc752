"""What the columns of an index tell of a selection is what a look at each record tells."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.block import ALWAYS, NEVER, block_of
from minutebook.store.sidecar.columns import Columns
from minutebook.store.sidecar.view import ColumnConditions, IndexView, Layer
from minutebook.store.sidecar.words import Postings

Record = tuple[int, str, bool]
"""When it was kept, by whom, whether it is dead."""

KEPT = st.sampled_from([1, 2, 3])
RECORDS = st.lists(st.tuples(KEPT, st.sampled_from("xy"), st.booleans()), max_size=12)


def columns_of(
    records: Sequence[Record], parts: Sequence[int], conditions: ColumnConditions
) -> Columns:
    ends = [*accumulate(parts), len(records)]
    layers = []
    for start, end in zip([0, *ends], ends, strict=False):
        if not (some := records[start:end]):
            continue
        block = block_of(
            ids=[b"%02d" % (start + place) for place in range(len(some))],
            valid_from=[ALWAYS] * len(some),
            valid_until=[NEVER] * len(some),
            kept=[kept for kept, _, _ in some],
            hidden=[False] * len(some),
            facets={"user": [user for _, user, _ in some]},
            payload=Postings.of_texts([[]] * len(some)),
        )
        layers.append(Layer(block, np.array([dead for _, _, dead in some])))
    return Columns(IndexView(layers=tuple(layers)), conditions)


@given(
    RECORDS,
    st.lists(st.integers(0, 5), max_size=3),
    st.none() | KEPT,
    st.none() | KEPT,
    st.integers(1, 4),
    st.booleans(),
)
def test_counts_ids_and_firsts_are_those_of_a_look_at_each(
    records: list[Record],
    parts: list[int],
    since: int | None,
    until: int | None,
    needed: int,
    is_latest: bool,
) -> None:
    conditions = ColumnConditions(facets=[("user", {"x"})], since=since, until=until)
    columns = columns_of(records, parts, conditions)
    alive = [f"{at:02}" for at, (_, _, dead) in enumerate(records) if not dead]
    expected = [
        (kept, f"{at:02}")
        for at, (kept, user, dead) in enumerate(records)
        if not dead and user == "x" and (since or 0) <= kept < (until or 9)
    ]
    ids = [id for _, id in expected]
    assert columns.count() == len(expected)
    assert columns.ids(descending=False) == ids
    assert columns.ids(descending=True, limit=needed) == ids[::-1][:needed]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "SPARE", 0)
        order = ["-ingestion_time" if is_latest else "ingestion_time"]
        found = columns.first(order, needed)
    if len(expected) == len(alive):
        assert found is None
    else:
        best = sorted(expected, reverse=is_latest)[:needed]
        assert sorted(found or []) == sorted(id for _, id in best)


def test_some_more_are_named_than_are_needed_and_never_very_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = [(1, "x", False)] * 6 + [(1, "y", False)]
    columns = columns_of(records, [], ColumnConditions(facets=[("user", {"x"})]))
    monkeypatch.setattr(sizes, "SPARE", 2)
    assert columns.first(["ingestion_time"], 2) == ["00", "01", "02", "03"]
    assert columns.first(["-importance"], 2) == ["00", "01", "02", "03", "04", "05"]
    monkeypatch.setattr(sizes, "MOST_NAMED", 5)
    assert columns.first(["-importance"], 2) is None
    assert columns.first(["ingestion_time"], 4) is None
