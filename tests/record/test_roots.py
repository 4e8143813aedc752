from pathlib import Path

import pytest

from minutebook.record.caller import Caller
from minutebook.record.records import Role
from minutebook.record.rights.roots import NamedRoots, Roots

A, B, C = Path("/a"), Path("/b"), Path("/c")
TABLE: NamedRoots = {"acme": (A,), "zoo": {"api": (B,), "web": (C,)}}


def caller(organization: str | None, *repositories: str, token: str = "t") -> Caller:
    held = frozenset(repositories) if repositories else None
    return Caller(
        name="x", role=Role.AGENT, organization=organization, repositories=held, token=token
    )


@pytest.mark.parametrize(
    ("named", "who", "found"),
    [
        ((), caller("acme"), ()),
        ((A,), caller("acme", token=""), (A,)),
        ((A,), caller(None, token=""), (A,)),
        ((A,), caller("acme"), ()),
        ((A,), caller("home"), (A,)),
        (TABLE, caller("acme"), (A,)),
        (TABLE, caller("acme", "api"), (A,)),
        (TABLE, caller("zoo"), (B, C)),
        (TABLE, caller("zoo", "api"), (B,)),
        (TABLE, caller("zoo", "app"), ()),
        (TABLE, caller("other"), ()),
        (TABLE, caller(None), ()),
        (TABLE, caller("acme", token=""), (A,)),
        (TABLE, caller(None, token=""), ()),
    ],
)
def test_roots_are_those_of_the_callers_organization_and_repositories(
    named: NamedRoots, who: Caller, found: tuple[Path, ...]
) -> None:
    assert Roots(named, "home").folders_of(who) == found


def test_all_roots_are_those_of_everybody() -> None:
    assert Roots(TABLE, "home").all() == (A, B, C)
    assert Roots((A,), "home").all() == (A,)
