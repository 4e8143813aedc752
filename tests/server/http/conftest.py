"""One server for each module, since most tests only ask it something."""

from collections.abc import Iterator

import pytest

from tests.server.http.speaking import Server, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(tmp_path_factory.mktemp("served")) as one:
        yield one
