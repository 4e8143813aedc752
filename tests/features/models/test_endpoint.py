import http.server
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest

from minutebook.features.models.endpoint import EmbeddingEndpoint, EndpointEmbedder, open_endpoint
from minutebook.record.errors import ModelUnavailable
from tests.examples import parametrize_in_part

KEY = "sk-secret-4711"


def vector_of(text: str) -> list[float]:
    """A vector that tells its text: first character, length, last character."""
    return [float(ord(text[0])), float(len(text)), float(ord(text[-1]))]


class Service:
    """A small embeddings service on a local port that can be told to misbehave."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answers: list[tuple[int, dict[str, str], Any]] = []
        self.twist: Callable[[dict[str, Any]], Any] = lambda answer: answer

    def answer(self, request: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        if self.answers:
            return self.answers.pop(0)
        data = [
            {"object": "embedding", "index": index, "embedding": vector_of(text)}
            for index, text in enumerate(request["input"])
        ]
        body = {"object": "list", "data": data[::-1], "model": request["model"]}
        return 200, {}, self.twist(body)


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.requests.append(request)
            service.headers.append(dict(self.headers))
            service.paths.append(self.path)
            status, headers, body = service.answer(request)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def opened(url: str, **given: Any) -> tuple[EndpointEmbedder, list[float]]:
    """An embedder, and the pauses it wanted."""
    pauses: list[float] = []
    endpoint = EmbeddingEndpoint(base_url=url, model="some-model", **given)
    return open_endpoint(endpoint, pauses.append), pauses


def unit_of(text: str) -> list[float]:
    vector = np.array(vector_of(text), np.float32)
    return [float(value) for value in vector / np.linalg.norm(vector)]


def test_vectors_are_put_into_the_order_of_the_texts(service: Service, url: str) -> None:
    embedder, _ = opened(url, batch=2)
    texts = ["one", "three", "x", "zebra", "sixteen"]
    rows = [made.rows for made in embedder.embed_passages(texts)]
    assert [each.tolist()[0] for each in rows] == [pytest.approx(unit_of(t)) for t in texts]
    assert [each.shape for each in rows] == [(1, 3)] * 5
    assert rows[0].dtype == np.float32
    assert [request["input"] for request in service.requests[1:]] == [
        ["one", "three"],
        ["x", "zebra"],
        ["sixteen"],
    ]
    assert set(service.paths) == {"/v1/embeddings"}
    assert embedder.embed_passages([]) == []


def test_prefixes_model_and_key_are_sent(service: Service, url: str) -> None:
    embedder, _ = opened(url, key=KEY, query_prefix="q: ", passage_prefix="p: ")
    assert embedder.embed_query("word").vector.tolist() == pytest.approx(unit_of("q: word"))
    embedder.embed_passages(["word"])
    assert [request["input"] for request in service.requests[1:]] == [["q: word"], ["p: word"]]
    assert {request["model"] for request in service.requests} == {"some-model"}
    assert {headers["Authorization"] for headers in service.headers} == {f"Bearer {KEY}"}


def test_without_a_key_none_is_sent(service: Service, url: str) -> None:
    opened(url)
    assert "Authorization" not in service.headers[0]


def test_a_long_text_becomes_overlapping_parts(service: Service, url: str) -> None:
    embedder, _ = opened(url, part_characters=10, overlap_characters=4, passage_prefix="p:")
    rows = [made.rows for made in embedder.embed_passages(["abcdefghijklmnop", "short"])]
    assert [each.shape for each in rows] == [(2, 3), (1, 3)]
    assert service.requests[-1]["input"] == ["p:abcdefghij", "p:ghijklmnop", "p:short"]
    embedder.embed_query("abcdefghijklmnop")
    assert service.requests[-1]["input"] == ["abcdefghij"]


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_blank_text_still_has_a_unit_vector(blank: str, url: str) -> None:
    embedder, _ = opened(url)
    vectors = embedder.embed_query(blank).vector, embedder.embed_passages([blank])[0].vector
    for vector in vectors:
        assert np.linalg.norm(vector) == pytest.approx(1)


def test_a_lone_surrogate_is_sent_as_a_replacement_character(service: Service, url: str) -> None:
    embedder, _ = opened(url)
    embedder.embed_query("a\ud800b")
    assert service.requests[-1]["input"] == ["a\ufffdb"]


def test_dimensions_are_learned_or_asked_for(service: Service, url: str) -> None:
    embedder, _ = opened(url)
    assert embedder.model.dimensions == 3
    assert "dimensions" not in service.requests[-1]
    embedder, _ = opened(url, dimensions=3)
    assert service.requests[-1]["dimensions"] == 3
    with pytest.raises(ModelUnavailable, match="answered 3 dimensions instead of 4"):
        opened(url, dimensions=4)


@pytest.mark.parametrize("unrelated", [0.0, 0.4, 0.8])
def test_the_cosine_of_unrelated_texts_is_learned_in_the_same_request(
    unrelated: float, service: Service, url: str
) -> None:
    directions = np.random.default_rng(7).standard_normal((16, 2000))
    vectors = np.hstack(
        [
            np.full((16, 1), unrelated**0.5),
            (1 - unrelated) ** 0.5 * directions / np.linalg.norm(directions, axis=1, keepdims=True),
        ]
    )

    def answer(body: dict[str, Any]) -> Any:
        for each in body["data"]:
            each["embedding"] = vectors[each["index"]].tolist()
        return body

    service.twist = answer
    embedder, _ = opened(url)
    assert embedder.model.unrelated == pytest.approx(unrelated, abs=0.01)
    assert len(service.requests) == 1


def test_the_digest_tells_models_apart_but_not_hosts(url: str) -> None:
    here = EmbeddingEndpoint(base_url=url, model="m").identity(3)
    assert here == EmbeddingEndpoint(base_url="http://elsewhere", model="m", key="k").identity(3)
    others = [
        EmbeddingEndpoint(base_url=url, model="n").identity(3),
        EmbeddingEndpoint(base_url=url, model="m").identity(4),
        EmbeddingEndpoint(base_url=url, model="m", query_prefix="q").identity(3),
        EmbeddingEndpoint(base_url=url, model="m", passage_prefix="q").identity(3),
    ]
    assert len({model.digest for model in [here, *others]}) == 5


ERRORS = [
    (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}, "Incorrect API key"),
    (404, {"error": "no such model"}, "no such model"),
    (422, {"detail": [{"loc": ["input"]}]}, "input"),
    (400, b"plain <b>words</b>", "plain <b>words</b>"),
    (400, b"\xff\xfe", "400"),
    (301, b"", "301"),
]


@pytest.mark.parametrize(("status", "body", "said"), ERRORS)
def test_a_refusal_says_what_the_service_said_but_never_the_key(
    status: int, body: Any, said: str, service: Service, url: str
) -> None:
    service.answers = [(status, {}, body)]
    with pytest.raises(ModelUnavailable) as refusal:
        opened(url, key=KEY)
    assert said in refusal.value.reason
    assert str(status) in refusal.value.reason
    assert KEY not in str(refusal.value)
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_service_is_asked_again(status: int, service: Service, url: str) -> None:
    service.answers = [(status, {}, b"busy")] * 2
    _, pauses = opened(url)
    assert pauses == [0.5, 1.0]
    assert len(service.requests) == 3


def test_a_service_that_stays_busy_is_given_up(service: Service, url: str) -> None:
    service.answers = [(503, {}, {"message": "overloaded"})] * 9
    with pytest.raises(ModelUnavailable, match="overloaded"):
        opened(url)
    assert len(service.requests) == 4


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        ("7", 7, 7),
        ("0.25", 0.25, 0.25),
        ("9999", 30, 30),
        ("-5", 0, 0),
        ("soon", 0.5, 0.5),
        ("nan", 0.5, 0.5),
        (format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True), 30, 30),
        (format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True), 0, 0),
    ],
    ids=["seconds", "less", "too long", "negative", "no number", "nan", "date", "past date"],
)
def test_the_wish_of_a_busy_service_is_kept_within_bounds(
    value: str, least: float, most: float, service: Service, url: str
) -> None:
    service.answers = [(429, {"Retry-After": value}, b"")]
    _, pauses = opened(url)
    assert len(pauses) == 1
    assert least <= pauses[0] <= most


def test_a_service_that_is_not_there_is_tried_again_then_told() -> None:
    pauses: list[float] = []
    endpoint = EmbeddingEndpoint(base_url="http://user:hidden@127.0.0.1:9/v1", model="m", key=KEY)
    with pytest.raises(ModelUnavailable) as refusal:
        open_endpoint(endpoint, pauses.append)
    assert pauses == [0.5, 1.0, 2.0]
    assert "127.0.0.1:9/v1/embeddings cannot be reached" in refusal.value.reason
    assert "hidden" not in str(refusal.value) + repr(endpoint)
    assert KEY not in str(refusal.value) + repr(endpoint)


def with_data(data: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda answer: {**answer, "data": data}


TWISTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no JSON": lambda _: b"<html>",
    "null": lambda _: None,
    "a list": lambda answer: answer["data"],
    "no data": with_data([]),
    "one too many": lambda a: {**a, "data": [*a["data"], {"index": 1, "embedding": [1, 2, 3]}]},
    "a wrong index": with_data([{"index": 5, "embedding": [1, 2, 3]}]),
    "no index": with_data([{"embedding": [1, 2, 3]}]),
    "no vector": with_data([{"index": 0}]),
    "base64": with_data([{"index": 0, "embedding": "AACAPw=="}]),
    "an empty vector": with_data([{"index": 0, "embedding": []}]),
    "a zero vector": with_data([{"index": 0, "embedding": [0, 0, 0]}]),
    "a vector that is not finite": with_data([{"index": 0, "embedding": [1, float("nan"), 0]}]),
    "a nested vector": with_data([{"index": 0, "embedding": [[1, 2, 3]]}]),
    "another dimension": with_data([{"index": 0, "embedding": [1, 2]}]),
}


@parametrize_in_part("name", TWISTS)
def test_an_answer_that_is_no_embedding_is_refused(name: str, service: Service, url: str) -> None:
    embedder, _ = opened(url)
    service.twist = TWISTS[name]
    with pytest.raises(ModelUnavailable, match="answered"):
        embedder.embed_query("word")


def test_threads_share_one_embedder(url: str) -> None:
    embedder, _ = opened(url)
    texts = [f"{letter}{'x' * n}" for n, letter in enumerate("abcdefghijklmnop")]
    with ThreadPoolExecutor(4) as pool:
        for text, made in zip(texts, pool.map(embedder.embed_query, texts), strict=True):
            assert made.vector.tolist() == pytest.approx(unit_of(text))
