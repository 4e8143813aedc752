"""Whether two entities are one."""

import pytest

from minutebook.features.tidying.judging.names import Named, blocks, sameness

NEAR = frozenset({"billing"})


@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        (Named("Payments team", "team"), Named("payments-team", "Team"), True),
        (Named("PostgreSQL", "tool"), Named("Postgres", "tool"), True),
        (Named("Zürich", "city"), Named("Zurich", "city"), True),
        (Named("Müller GmbH", "firm"), Named("Mueller GmbH", "firm"), True),
        (Named("User", "concept"), Named("Users", "concept"), True),
        (Named("CI", "concept"), Named("Continuous Integration", "concept"), True),
        (Named("X", "person", ("Ana",)), Named("Ana", "person"), True),
        (Named("Anna", "person", (), NEAR), Named("Anna Keller", "person", (), NEAR), True),
        (Named("Anna", "person"), Named("Anna Keller", "person"), False),
        (Named("Kepler", "room"), Named("Kepler", "service"), False),
        (Named("Kepler", "entity", (), NEAR), Named("Kepler", "service", (), NEAR), True),
        (Named("Server 1", "server"), Named("Server 2", "server"), False),
        (Named("C", "language"), Named("C++", "language"), False),
        (Named("React", "tool"), Named("Preact", "tool"), False),
        (Named("…", "tool"), Named("…", "tool"), False),
    ],
)
def test_names_types_and_neighbours_tell(one: Named, other: Named, are_one: bool) -> None:
    for ours, theirs in ((one, other), (other, one)):
        certainty, reason = sameness(ours, theirs)
        assert (certainty >= 0.7, bool(reason)) == (are_one, are_one)
    if are_one:
        names = [[each.name, *each.aliases] for each in (one, other)]
        keys = [{key for name in some for key in blocks(name)} for some in names]
        assert keys[0] & keys[1]
