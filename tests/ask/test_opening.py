"""How a memory is opened, what is refused at once, and what a server that fails looks like."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import anyio
import pytest

from minutebook import open_memory, open_memory_async
from minutebook.app import open_app
from minutebook.ask import (
    AsyncMinutebook,
    Decisions,
    Entities,
    Minutebook,
    ServerError,
    ServerRefused,
    ServerSilent,
    ServerUnreachable,
    Sessions,
)
from minutebook.ask.asynchronous import AsyncDecisions, AsyncEntities, AsyncSessions
from minutebook.ask.over_http import OverHttp, base_of
from minutebook.config import settings_with
from minutebook.record.errors import (
    InBatch,
    InvalidInput,
    Locked,
    MinutebookError,
    StoreClosed,
    UnderReview,
    Unidentified,
)
from minutebook.record.origin import Origin
from minutebook.record.plain import error_of, plain
from minutebook.record.reason import Reason
from minutebook.record.records import Role
from minutebook.record.rights.grants import Grant
from tests.features.http.speaking import OWNER, served
from tests.world import NOON

SECRET = "mbk_" + "x" * 43


@contextmanager
def answering(status: int, body: bytes, **headers: str) -> Iterator[str]:
    """Serve one answer to everything that is posted."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def refusal(message: str) -> bytes:
    return json.dumps({"error": "Refused", "message": message}).encode()


def asked(url: str, **options: Any) -> MinutebookError:
    """The error that a question gets."""
    with open_memory(url=url, **options) as memory, pytest.raises(MinutebookError) as raised:
        memory.recall("tea")
    return raised.value


def test_the_settings_say_where_a_memory_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path))
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "none")
    with open_memory(user="ana", repository="api", organization="acme", agent="bot") as memory:
        kept = memory.remember("Tea is green")
    assert (tmp_path / "minutebook.db").exists()
    assert (kept.user, kept.repository, kept.organization) == ("ana", "api", "acme")
    assert kept.author == "bot"
    assert kept.origin is not None
    assert kept.origin.client == "minutebook-python"
    with open_memory(tmp_path, client="nightly") as memory:
        assert memory.get(kept.id) == kept
        origin = memory.remember("x").origin
        assert origin is not None
        assert origin.client == "nightly"


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"token": SECRET}, "token"),
        ({"url": "https://x.org", "home": "/tmp"}, "home"),
        ({"url": "https://x.org", "organization": "acme"}, "organization"),
        ({"url": "https://x.org", "user": "ana"}, "user"),
        ({"url": "http://memory.example.org"}, "url"),
        ({"url": "https://ana:hunter2@x.org"}, "url"),
        ({"url": "https://x.org?token=1"}, "url"),
        ({"url": "ftp://x.org"}, "url"),
        ({"url": "x.org"}, "url"),
        ({"url": "https://x.org", "token": " "}, "token"),
        ({"url": "https://x.org", "token": "a\nb"}, "token"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        open_memory(**options)
    assert refused.value.argument == argument
    assert "hunter2" not in str(refused.value)


def test_an_address_may_be_that_of_a_contract() -> None:
    for path in ("", "/", "/mcp", "/mcp/", "/mcp/knowledge"):
        assert base_of(f"https://x.org:8443{path}") == "https://x.org:8443"
    assert base_of("https://x.org/team/mcp/ledger") == "https://x.org/team"
    assert base_of("http://127.0.0.1:1/memory") == "http://127.0.0.1:1/memory"


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    for opened in (open_memory(tmp_path), open_memory(url="http://127.0.0.1:1")):
        opened.close()
        opened.close()
        with pytest.raises(StoreClosed):
            opened.recall("tea")


def test_nobody_who_listens_is_told_from_nobody_who_answers() -> None:
    with answering(200, b"") as url:
        pass
    unreachable = asked(url)
    assert isinstance(unreachable, ServerUnreachable)
    assert url in str(unreachable)


def test_an_answer_that_does_not_come_leaves_the_outcome_open() -> None:
    done = Event()

    class Silent(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            done.wait(60)

    with HTTPServer(("127.0.0.1", 0), Silent) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        silent = asked(f"http://127.0.0.1:{server.server_port}", timeout=0.2)
        done.set()
        thread.join()
    assert isinstance(silent, ServerSilent)
    assert "not known" in str(silent)


def test_a_token_that_lets_nobody_in_is_told_as_such() -> None:
    with answering(401, refusal("the token is unknown")) as url:
        unknown = asked(url, token=SECRET)
    assert isinstance(unknown, Unidentified)
    assert "the token is unknown" in unknown.reason


def test_what_the_server_refuses_keeps_its_status_and_when_to_come_again() -> None:
    with answering(429, refusal("too many"), Retry_After="7") as url:
        busy = asked(url)
    assert isinstance(busy, ServerRefused)
    assert (busy.status, busy.retry_after) == (429, 7.0)
    with answering(404, refusal("search belongs to the contract knowledge")) as url:
        missing = asked(url)
    assert "belongs to the contract knowledge" in str(missing)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"answer": 1}', b'{"message": 1}'])
def test_an_answer_of_another_program_is_none(body: bytes) -> None:
    with answering(200, body) as url:
        assert "none of a Minutebook server" in str(asked(url))


def test_an_error_without_facts_is_told_in_its_words() -> None:
    with answering(400, json.dumps({"facts": None, "message": "No."}).encode()) as url:
        failed = asked(url)
    assert type(failed) is ServerError
    assert failed.reason == "No."


def test_a_token_is_in_no_representation() -> None:
    connection = OverHttp("http://127.0.0.1:1", SECRET, 1.0, Origin(client="x y", version="ü"))
    assert SECRET not in repr(connection)
    connection.close()


@pytest.mark.parametrize(
    "error",
    [
        Locked("update", Reason("it is locked"), "0" * 20, needs="manager"),
        UnderReview("accept", Reason("it is reviewed"), "proposal_1", NOON),
        InBatch(3, InvalidInput("title", "must not be empty")),
    ],
)
def test_an_error_is_the_same_on_the_other_side(error: MinutebookError) -> None:
    received = error_of(json.loads(json.dumps(plain(error))))
    assert type(received) is type(error)
    assert str(received) == str(error)
    assert plain(received) == plain(error)


@pytest.mark.parametrize(
    "facts",
    [
        None,
        "NotFound",
        {},
        {"name": "Exception"},
        {"name": "dataclass"},
        {"name": "NotFound"},
        {"name": "UnderReview", "act": "a", "reason": "b", "id": "c", "opens": "then"},
        {"name": "InBatch", "index": 0, "error": {}},
    ],
)
def test_facts_of_no_known_error_are_none(facts: object) -> None:
    assert error_of(facts) is None


@pytest.mark.parametrize(
    ("sync", "awaited"),
    [
        (Minutebook, AsyncMinutebook),
        (Entities, AsyncEntities),
        (Decisions, AsyncDecisions),
        (Sessions, AsyncSessions),
    ],
)
def test_each_method_can_be_awaited(sync: type, awaited: type) -> None:
    methods = {name for name in vars(sync) if not name.startswith("_")}
    assert methods
    assert {name for name in vars(awaited) if not name.startswith("_")} - {"sync"} == methods
    assert all(getattr(awaited, name).__doc__ == getattr(sync, name).__doc__ for name in methods)


def test_an_event_loop_goes_on_while_a_call_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "none")

    async def run() -> None:
        async with open_memory_async(tmp_path, agent="ana") as memory:
            async with anyio.create_task_group() as group:
                for number in range(5):
                    group.start_soon(memory.remember, f"Number {number}")
            page = await memory.list_memories()
            assert page.total == 5
            entity = await memory.entities.create("Ana")
            assert await memory.entities.find("Ana") == [entity]
            sync = memory.sync
        with pytest.raises(StoreClosed):
            sync.recall("x")

    anyio.run(run)


@pytest.mark.cold_start
def test_to_import_the_package_imports_next_to_nothing() -> None:
    code = "import sys, minutebook; print([n for n in sys.modules if n.startswith('minutebook.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    heavy = "numpy", "apsw", "mcp", "pydantic", "starlette"
    code = f"import sys, minutebook; minutebook.open_memory; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_server_that_answers_models_in_lines_answers_programs_in_objects(tmp_path: Path) -> None:
    with served(tmp_path, "--answers", "lines") as server:
        with closing(open_app(settings_with(home=server.home, embedder="none"))) as app:
            grant = Grant(name="ana", role=Role.AGENT, organization="acme")
            token = app.tokens.create(OWNER, grant).secret
        with open_memory(url=server.url, token=token) as memory:
            kept = memory.remember("Tea is at five.")
            assert [each.text for each in memory.recall("when is tea")] == ["Tea is at five."]
            assert memory.get(kept.id).content == "Tea is at five."
