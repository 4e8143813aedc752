"""Where the things of a drawing stand."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.pages.views.tree_layout import COLUMN, INNERMOST, ROW, places


@st.composite
def trees(draw: st.DrawFn) -> dict[str, list[str]]:
    """Trees as lists of what hangs on each thing; the root is `0`."""
    branches: dict[str, list[str]] = {}
    for number in range(1, draw(st.integers(1, 60))):
        above = draw(st.integers(0, min(number - 1, 5)))
        branches.setdefault(str(above), []).append(str(number))
    return branches


@given(trees())
def test_every_name_has_room_beside_its_thing_and_the_same_place_each_time(
    tree: dict[str, list[str]],
) -> None:
    placed = places("0", tree)
    assert set(placed) == {"0"}.union(*tree.values())
    assert places("0", tree) == placed
    for one, other in combinations(placed.values(), 2):
        assert abs(one.x - other.x) >= min(COLUMN, INNERMOST) or abs(one.y - other.y) >= ROW


def test_both_sides_are_equally_high() -> None:
    placed = places("0", {"0": [str(number) for number in range(1, 101)]})
    right = [each.y for each in placed.values() if each.x > 0]
    left = [each.y for each in placed.values() if each.x < 0]
    assert sorted(right) == sorted(left)
    assert max(right) == -min(right)
