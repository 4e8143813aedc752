"""Who comes in over HTTP: the owner as long as nobody else may, then whoever shows a token."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.record.filters import Filter
from minutebook.record.records import Entry, Role
from tests.features.http.speaking import (
    BOTH,
    OFFLINE,
    OWNER,
    PLAIN,
    Server,
    call,
    initialize,
    served,
    token,
    tokens_of,
)
from tests.serve.contracts.requirements import requirement


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("shared")
    token(home, "first")
    with served(home, MINUTEBOOK_RATE_LIMIT="100") as one:
        yield one


def status(server: Server, secret: str, message: Any = None, **headers: str) -> int:
    asked = message or call("get_status")
    return server.post("/mcp", asked, Authorization=f"Bearer {secret}", **headers).status_code


def test_as_long_as_there_is_no_token_the_owner_needs_none(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert server.post("/mcp", call("get_status")).status_code == 200
        issued = token(tmp_path)
        assert server.post("/mcp", call("get_status")).status_code == 401
        assert status(server, issued.secret) == 200


@pytest.mark.parametrize("path", ["/mcp", "/mcp/knowledge", "/metrics"])
def test_who_shows_no_token_is_asked_for_one(server: Server, path: str) -> None:
    answer = server.post(path, call("get_status")) if "mcp" in path else server.get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert "token" in answer.text


@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer x", "Basic eDp5", "Bearer mbk_" + "a" * 60]
)
def test_what_is_no_token_is_refused(server: Server, shown: str) -> None:
    assert server.post("/mcp", call("get_status"), Authorization=shown).status_code == 401


@pytest.mark.parametrize(
    ("role", "bounds", "status"),
    [
        (Role.ADMIN, {"organization": None}, 200),
        (Role.VIEWER, {"organization": None}, 403),
        (Role.ADMIN, {"organization": "acme"}, 403),
        (Role.ADMIN, {"organization": None, "repositories": ("api",)}, 403),
        (Role.ADMIN, {"organization": None, "user": "ana"}, 403),
    ],
)
def test_only_an_admin_of_all_organizations_reads_the_figures_of_all(
    server: Server, role: Role, bounds: Any, status: int
) -> None:
    secret = token(server.home, "figures", role, **bounds).secret
    answer = server.get("/metrics", Authorization=f"Bearer {secret}")
    assert answer.status_code == status
    assert ("minutebook_" in answer.text) is (status == 200)


def test_health_and_readiness_need_no_token(server: Server) -> None:
    assert server.get("/healthz").json() == {"status": "alive"}
    assert server.get("/readyz").status_code in (200, 503)


@requirement("catalog/http/plain")
@pytest.mark.needs("catalog")
def test_one_message_with_a_token_is_answered_with_one_object(server: Server) -> None:
    written = server.post(
        "/mcp/catalog",
        call(
            "memory-write",
            organization="acme",
            scope_type="organization",
            memory_type="fact",
            current_content="posted by itself",
        ),
        Authorization=f"Bearer {token(server.home, 'plain').secret}",
    )
    assert (written.status_code, written.headers["content-type"]) == (200, "application/json")
    assert "mcp-session-id" not in written.headers
    memory = json.loads(written.json()["result"]["content"][0]["text"])
    assert memory["current_content"] == "posted by itself"


def test_a_token_is_held_to_its_organization_and_role(server: Server) -> None:
    reader = token(server.home, "reader", Role.VIEWER).secret
    told = call("store_memory", content="not for a viewer to write")
    answer = server.post("/mcp", told, Authorization=f"Bearer {reader}").json()["result"]
    assert answer["isError"]
    other = token(server.home, "other", organization="elsewhere").secret
    one = token(server.home, "one").secret
    stored = server.post(
        "/mcp", call("store_memory", content="of acme alone"), Authorization=f"Bearer {one}"
    ).json()["result"]["structuredContent"]["id"]
    seen = server.post("/mcp", call("get_memory", id=stored), Authorization=f"Bearer {other}")
    assert seen.json()["result"]["content"][0]["text"] == f"Memory not found: {stored}"


def test_a_revoked_token_is_refused_at_once(server: Server) -> None:
    issued = token(server.home, "leaver")
    assert status(server, issued.secret) == 200
    with tokens_of(server.home) as tokens:
        tokens.revoke(OWNER, issued.token.id)
    assert status(server, issued.secret) == 401


def test_a_session_belongs_to_who_opened_it(server: Server) -> None:
    one, other = token(server.home, "one").secret, token(server.home, "two").secret
    url = f"{server.url}/mcp"
    opened = httpx2.post(
        url, json=initialize(), headers=BOTH | {"Authorization": f"Bearer {one}"}, **PLAIN
    )
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    for secret, status in ((other, 404), (one, 200)):
        headers = BOTH | session | {"Authorization": f"Bearer {secret}"}
        answer = httpx2.post(url, json=call("get_status"), headers=headers, **PLAIN)
        assert answer.status_code == status


def test_a_stream_ends_when_its_token_is_revoked(server: Server) -> None:
    issued = token(server.home, "listener")

    async def run() -> None:
        async with (
            server.client("/mcp/catalog", token=issued.secret, mode="2026-07-28") as client,
            client.listen(resource_subscriptions=["memory://index"]) as events,
        ):
            with tokens_of(server.home) as tokens:
                tokens.revoke(OWNER, issued.token.id)
            with anyio.fail_after(60):
                async for _ in events:
                    raise AssertionError("it heard of something")

    with pytest.raises(BaseException) as ended:
        anyio.run(run)
    assert not isinstance(ended.value, TimeoutError)


@requirement("journal/considered/rate-limits")
def test_a_token_that_comes_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    busy = token(tmp_path, "busy").secret
    calm = token(tmp_path, "calm").secret
    # Once in a hundred seconds, so that the second comes too early on the busiest machine.
    with served(tmp_path, MINUTEBOOK_RATE_LIMIT="0.01") as server:
        assert [status(server, busy) for _ in range(2)] == [200, 429]
        answer = server.post("/mcp", call("get_status"), Authorization=f"Bearer {busy}")
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 100
        assert status(server, calm) == 200


def run_serve(home: Path, address: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "minutebook", "serve", "--http", address, "--home", str(home)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**OFFLINE, **environment, "HOME": str(home)},
    )


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_where_others_can_come_nobody_serves_without_a_token(tmp_path: Path, address: str) -> None:
    ended = run_serve(tmp_path, address)
    assert ended.returncode == 1
    assert "minutebook token create" in ended.stderr
    assert ended.stdout == ""


def test_where_others_can_come_a_token_is_needed_from_all(tmp_path: Path) -> None:
    issued = token(tmp_path)
    with served(tmp_path, address="0.0.0.0:0") as server:
        assert server.post("/mcp", call("get_status")).status_code == 401
        assert status(server, issued.secret) == 200


def test_an_address_that_is_taken_is_said_to_be(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run_serve(tmp_path, f"127.0.0.1:{taken.getsockname()[1]}")
    assert ended.returncode == 1
    assert "choose another address or port" in ended.stderr


@pytest.mark.thorough
def test_many_at_once_are_each_known_by_their_own_token(server: Server) -> None:
    secrets = [token(server.home, f"agent-{number}").secret for number in range(4)]
    stored: dict[str, list[str]] = {secret: [] for secret in secrets}

    def work(secret: str) -> None:
        for number in range(5):
            told = call("store_memory", content=f"note {number}")
            answer = server.post("/mcp", told, Authorization=f"Bearer {secret}")
            stored[secret].append(answer.json()["result"]["structuredContent"]["id"])

    threads = [threading.Thread(target=work, args=[secret]) for secret in secrets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id for ids in stored.values() for id in ids}) == 20
    for secret, ids in stored.items():
        for id in ids:
            asked = call("get_memory", id=id)
            told = server.post("/mcp", asked, Authorization=f"Bearer {secret}").json()
            assert told["result"]["structuredContent"]["id"]["id"]["String"] == id
    app = open_app(settings_with(home=server.home, embedder="none"))
    try:
        entries = app.infrastructure.store.find(
            Entry, Filter(organization="acme", with_deleted=True)
        )
    finally:
        app.close()
    for number, secret in enumerate(secrets):
        acts = [e for e in entries if isinstance(e, Entry) and e.subject in stored[secret]]
        assert {e.subject for e in acts} == set(stored[secret])
        assert {e.actor for e in acts} == {f"agent-{number}"}
