"""The journal's operations over plain HTTP, held to their OpenAPI document."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import httpx2
import pytest
import schemathesis
import yaml
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from benchmarks.secret_samples import filled
from minutebook.features.http.protocols import openapi
from minutebook.features.journal.contract import journal
from minutebook.record.records import Role
from tests.examples import examples, parametrize_in_part
from tests.features.http.speaking import Server, call, served, token
from tests.serve.contracts.requirements import requirement

TURN = {"prompt": "Why does the build fail?", "thought": "A lock is held.", "response": "Wait."}
OPERATIONS = {each.tool.name: each for each in openapi.operations(journal())}
STOPPING = ["stop_database", "start_database"]
"""Tried last, so that the others find the database running."""


@pytest.fixture(scope="module")
def described(server: Server) -> Any:
    """The document as it is served, as schemathesis reads it."""
    return schemathesis.openapi.from_url(f"{server.url}/openapi.json")


@requirement("journal/openapi/served")
@parametrize_in_part("name", [*(n for n in OPERATIONS if n not in STOPPING), *STOPPING])
def test_every_operation_answers_as_the_document_says(described: Any, name: str) -> None:
    operation = described[OPERATIONS[name].path][OPERATIONS[name].method]

    @given(case=operation.as_strategy())
    @settings(
        max_examples=examples(30),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def hold(case: Any) -> None:
        # What fits the schema may still be refused: a file that is not there, a name with line breaks.
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    hold()


def test_a_header_names_what_was_masked_and_no_secret(server: Server) -> None:
    text, (secret,) = filled("The key is {{npm token}}", Random(1))
    answer = post(server, "add_memory", TURN | {"prompt": text, "sessionId": "keys"})
    assert answer.status_code == 200
    facts = json.loads(answer.headers["minutebook-notes"])["secrets"]["found"]
    assert facts == [{"kind": "npm token", "field": "prompt", "action": "masked"}]
    kept = post(server, "get_session_memories", {"sessionId": "keys"})
    assert "[secret: npm token]" in kept.text
    assert secret not in kept.text + answer.text


@requirement("journal/openapi/served", "journal/openapi/yaml", "journal/openapi/3.0")
def test_what_is_served_is_the_contracts_document(server: Server) -> None:
    assert server.get("/openapi.json").json() == openapi.document(journal())
    for version in openapi.VERSIONS:
        told = openapi.document(journal(), version=version)
        assert server.get(f"/openapi.json?version={version}").json() == told
        answer = server.get(f"/openapi.yaml?version={version}")
        assert yaml.safe_load(answer.text) == told
        assert answer.headers["content-type"] == "application/yaml"
    refused = server.get("/openapi.yaml?version=2.0")
    assert refused.status_code == 400
    assert "3.1, 3.0" in refused.json()["message"]


def post(server: Server, tool: str, given: Any = None, **headers: str) -> httpx2.Response:
    return server.post(f"/{tool}", given or {}, **headers)


def test_a_turn_is_added_and_found_over_plain_http_and_over_mcp(server: Server) -> None:
    added = post(server, "add_memory", {**TURN, "sessionId": "plain"}).json()
    asked = call("get_session_memories", sessionId="plain")
    told = server.post("/mcp/journal", asked).json()["result"]["structuredContent"]
    assert [each["id"] for each in told["memories"]] == [added["id"]]
    found = post(server, "get_session_memories", {"sessionId": "plain"}).json()
    assert found["memories"] == told["memories"]


def test_turns_without_a_session_are_of_one_session_of_their_caller(server: Server) -> None:
    first, second = (post(server, "add_memory", TURN).json()["sessionId"] for _ in range(2))
    assert first == second
    posted = server.post("/mcp/journal", call("add_memory", **TURN)).json()
    assert posted["result"]["structuredContent"]["sessionId"] == first


def test_after_a_stop_a_caller_is_told_so_until_the_start(server: Server) -> None:
    assert post(server, "stop_database").json()["status"] == "stopped"
    failed = post(server, "add_memory", TURN)
    assert failed.status_code == 503
    assert failed.json()["message"].startswith("Tool Error: Database connection failed.")
    assert post(server, "start_database").json()["status"] == "started"
    assert post(server, "add_memory", TURN).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"), [(b"[]", 400), (b"{", 400), (b"7", 400), (b"[" * 1000, 400), (b"", 400)]
)
def test_what_is_no_object_of_arguments_is_refused(
    server: Server, body: bytes, status: int
) -> None:
    answer = server.post("/add_memory", body)
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "message"}


def test_other_methods_and_types_are_refused(server: Server) -> None:
    assert server.get("/add_memory").status_code == 405
    assert server.post("/healthcheck", {}).status_code == 405
    assert server.post("/add_memory", b"a=1", Content_Type="text/plain").status_code == 415


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("shared")
    token(home, "first")
    with served(home) as one:
        yield one


def test_a_token_is_asked_for_and_its_role_holds(shared: Server) -> None:
    assert shared.get("/openapi.json").status_code == 200
    assert post(shared, "add_memory", TURN).status_code == 401
    viewer = token(shared.home, "reader", Role.VIEWER).secret
    refused = post(shared, "add_memory", TURN, Authorization=f"Bearer {viewer}")
    assert refused.status_code == 403
    assert refused.json()["message"].startswith("Tool Error: ")
    agent = token(shared.home, "writer").secret
    assert post(shared, "add_memory", TURN, Authorization=f"Bearer {agent}").status_code == 200


def test_no_token_reads_what_is_anothers(shared: Server) -> None:
    one = token(shared.home, "one").secret
    other = token(shared.home, "other", organization="elsewhere").secret
    post(shared, "add_memory", {**TURN, "sessionId": "mine"}, Authorization=f"Bearer {one}")
    for secret, count in ((one, 1), (other, 0)):
        asked = {"sessionId": "mine"}
        told = post(shared, "get_session_memories", asked, Authorization=f"Bearer {secret}")
        assert told.json()["count"] == count
