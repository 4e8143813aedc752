"""Whether two entities are one."""

import pytest

from minutebook.features.tidying.judging.names import NamedEntity, blocks, sameness

NEAR = frozenset({"billing"})


@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        (NamedEntity("Payments team", "team"), NamedEntity("payments-team", "Team"), True),
        (NamedEntity("PostgreSQL", "tool"), NamedEntity("Postgres", "tool"), True),
        (NamedEntity("Zürich", "city"), NamedEntity("Zurich", "city"), True),
        (NamedEntity("Müller GmbH", "firm"), NamedEntity("Mueller GmbH", "firm"), True),
        (NamedEntity("User", "concept"), NamedEntity("Users", "concept"), True),
        (NamedEntity("CI", "concept"), NamedEntity("Continuous Integration", "concept"), True),
        (NamedEntity("X", "person", ("Ana",)), NamedEntity("Ana", "person"), True),
        (
            NamedEntity("Anna", "person", (), NEAR),
            NamedEntity("Anna Keller", "person", (), NEAR),
            True,
        ),
        (NamedEntity("Anna", "person"), NamedEntity("Anna Keller", "person"), False),
        (NamedEntity("Kepler", "room"), NamedEntity("Kepler", "service"), False),
        (
            NamedEntity("Kepler", "entity", (), NEAR),
            NamedEntity("Kepler", "service", (), NEAR),
            True,
        ),
        (NamedEntity("Server 1", "server"), NamedEntity("Server 2", "server"), False),
        (NamedEntity("C", "language"), NamedEntity("C++", "language"), False),
        (NamedEntity("React", "tool"), NamedEntity("Preact", "tool"), False),
        (NamedEntity("…", "tool"), NamedEntity("…", "tool"), False),
    ],
)
def test_names_types_and_neighbours_tell(
    one: NamedEntity, other: NamedEntity, are_one: bool
) -> None:
    for ours, theirs in ((one, other), (other, one)):
        certainty, reason = sameness(ours, theirs)
        assert (certainty >= 0.7, bool(reason)) == (are_one, are_one)
    if are_one:
        names = [[each.name, *each.aliases] for each in (one, other)]
        keys = [{key for name in some for key in blocks(name)} for some in names]
        assert keys[0] & keys[1]
