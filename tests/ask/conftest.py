"""One memory by each way: in this process, and over HTTP from a real server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from minutebook import open_memory
from minutebook.app import open_app
from minutebook.ask import Minutebook
from minutebook.ask.in_process import InProcess
from minutebook.config import settings_with
from minutebook.record.origin import Origin
from minutebook.record.records import Role
from minutebook.record.rights.grants import Grant
from tests.world import ready

if TYPE_CHECKING:
    from tests.features.http.speaking import Server

_NUMBERS = count(1)


@dataclass(frozen=True)
class Opener:
    """Opens memories in one way; each caller is named by what binds it."""

    open: Callable[..., Minutebook]

    def __call__(self, **bound: Any) -> Minutebook:
        return self.open(**bound)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Server]":
    from tests.features.http.speaking import served

    with served(tmp_path_factory.mktemp("served")) as one:
        yield one


@pytest.fixture(
    scope="module",
    # The guide's examples show over HTTP what `make test` need not try a second time.
    params=[
        "in process",
        pytest.param("over http", marks=(pytest.mark.thorough, pytest.mark.needs("http"))),
    ],
)
def opener(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Opener]:
    """What opens memories of one store, in one of the two ways."""
    with ExitStack() as stack:
        if request.param == "over http":
            from tests.features.http.speaking import OWNER

            server: Server = request.getfixturevalue("server")
            app = open_app(settings_with(home=server.home, embedder="none"))
            stack.callback(app.close)

            def over_http(**bound: Any) -> Minutebook:
                repository = bound.get("repository")
                grant = Grant(
                    name=bound.get("agent", "ana"),
                    role=bound.get("role", Role.AGENT),
                    organization=bound["organization"],
                    repositories=None if repository is None else (repository,),
                    user=bound.get("user"),
                )
                token = app.tokens.create(OWNER, grant).secret
                return stack.enter_context(open_memory(url=server.url, token=token))

            yield Opener(over_http)
            return
        home = tmp_path_factory.mktemp("own")

        def in_process(**bound: Any) -> Minutebook:
            settings = settings_with(home=home, embedder="none", **{"agent": "ana"} | bound)
            connection = InProcess(open_app(settings), settings.caller(), Origin(client="test"))
            return stack.enter_context(Minutebook(connection))

        yield Opener(in_process)


@pytest.fixture
def memory(opener: Opener) -> Minutebook:
    """A memory in an organization of its own."""
    return opener(organization=f"acme-{next(_NUMBERS)}")


@pytest.fixture(scope="module")
def own_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minutebook]:
    """A memory in this process, with a model that is ready."""
    from dataclasses import replace

    from minutebook.config.models import models_of

    settings = settings_with(home=tmp_path_factory.mktemp("meaning"), agent="ana")
    app = open_app(settings, models=replace(models_of(settings), embedding=ready()))
    with Minutebook(InProcess(app, settings.caller(), Origin(client="test"))) as memory:
        yield memory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
