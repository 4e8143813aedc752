"""Fixtures that the tests of several features share."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from minutebook.store.protocol import Tended
    from tests.features.http.speaking import Server
    from tests.features.pages.site import Site


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Server]":
    """A server over HTTP, one for each module, since most tests only ask it something."""
    from tests.features.http.speaking import served

    with served(tmp_path_factory.mktemp("served")) as one:
        yield one


@pytest.fixture
def site(tmp_path: Path) -> "Iterator[Site]":
    """The pages on a new store."""
    from tests.features.pages.site import site_on

    with site_on(tmp_path / "site") as one:
        yield one


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[Tended]":
    """A store without records, of each engine."""
    from tests.store.engine import engine_named

    if request.param == "postgres":
        request.getfixturevalue("postgres")
    with engine_named(request.param).fresh(tmp_path / "store") as store:
        yield store
