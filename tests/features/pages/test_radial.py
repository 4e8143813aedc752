"""Where the things of a drawing stand."""

import math
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.pages.views.radial import GAP, LABEL, RadialPlace, places


@st.composite
def trees(draw: st.DrawFn) -> dict[str, list[str]]:
    """Trees as lists of what hangs on each thing; the root is `0`."""
    branches: dict[str, list[str]] = {}
    for number in range(1, draw(st.integers(1, 60))):
        above = draw(st.integers(0, min(number - 1, 5)))
        branches.setdefault(str(above), []).append(str(number))
    return branches


def apart(one: RadialPlace, other: RadialPlace) -> float:
    return math.dist((one.x, one.y), (other.x, other.y))


@given(trees())
def test_everything_has_a_place_of_its_own_and_the_same_each_time(
    tree: dict[str, list[str]],
) -> None:
    placed = places("0", tree)
    assert set(placed) == {"0"}.union(*tree.values())
    assert places("0", tree) == placed
    # A chord is a little shorter than its arc.
    for one, other in combinations(placed.values(), 2):
        assert apart(one, other) > GAP * 0.85


def test_thousands_around_one_thing_stand_on_several_rings_and_not_on_one_another() -> None:
    many = [str(number) for number in range(1, 3000)]
    placed = places("0", {"0": many})
    cells = [(round(each.x / (GAP * 0.7)), round(each.y / (GAP * 0.7))) for each in placed.values()]
    assert len(set(cells)) == len(cells)
    reach = max(abs(each.x) for each in placed.values())
    # On a single ring it would be GAP * 3000 / tau.
    assert reach < GAP * 3000 / math.tau / 2
    radii = {round(math.hypot(each.x, each.y) / (LABEL / 2)) for each in placed.values()}
    assert len(radii) > 5
