"""Operations with arguments drawn at random, posted to a server and to a daemon: none reaches a file or the keyboard."""

import inspect
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from minutebook import __version__
from minutebook.ask.table import operations
from minutebook.serve.daemon import client
from minutebook.serve.daemon.rendezvous import daemon_address
from minutebook.serve.invocation import Invocation
from tests.faults.campaign import chance, report, rounds
from tests.features.http.speaking import PLAIN, serving

TYPED = "What the operator types."
SECRET = "What a file of the host holds."
PATIENCE = 20

Post = Callable[[str, dict[str, Any]], tuple[str, bool]]
"""Posts an operation's arguments: all that was answered, whether it was done."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    (made / "file").write_text(SECRET)
    return made


def _drawn(random: random.Random, folder: Path) -> tuple[str, dict[str, Any]]:
    """Draw an operation, and arguments for it, most of them of the right names."""
    name = random.choice([*operations(), "export", "../list_memories"])
    texts = ["-", str(folder), str(folder / "file"), str(folder / "new"), "file", "x", "@file", ""]
    values = [*texts, 0, 1, 10, True, None, [], {}, [random.choice(texts)], {"x": "-"}, 1.5]
    known = ["x"]
    if name in operations():
        known = [*inspect.signature(operations()[name].act).parameters][2:]
    given = {each: random.choice(values) for each in known if random.random() < 0.9}
    if "limit" in given and random.random() < 0.7:
        given["limit"] = 5
    return name, given


def _held(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _walk(door: str, folder: Path, post: Post) -> None:
    source, before = chance(f"posted operations {door}"), _held(folder)
    posted = done = 0
    for _ in range(rounds(300, 10_000)):
        name, given = _drawn(source, folder)
        answer, is_done = post(name, given)
        assert TYPED not in answer, (name, given)
        assert SECRET not in answer, (name, given)
        assert "Internal error" not in answer, (name, given)
        posted, done = posted + 1, done + is_done
    assert _held(folder) == before
    assert posted / 20 < done < posted
    refused = posted - done
    report("posted operations", door, posted=posted, done=done, refused=refused, read=0, written=0)


def test_a_server_keeps_its_keyboard_and_its_files_from_operations(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.write(writing, f"{TYPED}\n".encode())
    monkeypatch.chdir(folder)
    unlimited = {"MINUTEBOOK_RATE_LIMIT": "0"}
    with (
        serving(tmp_path / "home", stdin=reading, environment=unlimited) as server,
        httpx2.Client(**PLAIN | {"timeout": PATIENCE}) as http,
    ):

        def post(name: str, given: dict[str, Any]) -> tuple[str, bool]:
            answer = http.post(f"{server.url}/operations/{name}", json=given)
            assert answer.status_code in (200, 400, 404, 405), (name, given, answer.text)
            return answer.text, answer.status_code == 200

        _walk("HTTP", folder, post)
    assert os.read(reading, 100).decode() == f"{TYPED}\n"
    os.close(reading)
    os.close(writing)


@pytest.fixture
def asked(tmp_path: Path, folder: Path) -> Iterator[Invocation]:
    variables = {"MINUTEBOOK_DAEMON": "on", "MINUTEBOOK_EMBEDDER": "none"}
    # What an operation writes for a person at this machine lands where nothing else is.
    environment = {**os.environ, **variables, "HOME": str(folder)}
    invocation = Invocation({}, (), {**environment, "MINUTEBOOK_HOME": str(tmp_path / "home")})
    place = daemon_address(invocation.address)
    client.start(invocation, place)
    yield invocation
    client.stop(place)


def test_a_daemon_keeps_its_files_from_operations(asked: Invocation, folder: Path) -> None:
    place = daemon_address(asked.address).socket
    hello = {"version": __version__, "operations": True, "given": {}, "user": "ada", "folder": ""}
    with place.connect(PATIENCE) as connection, connection.makefile("rb") as answers:

        def say(message: dict[str, Any]) -> str:
            connection.sendall(json.dumps(message).encode() + b"\n")
            return answers.readline().decode()

        assert json.loads(say({**hello, "variables": asked.variables})) == {"ready": True}

        def post(name: str, given: dict[str, Any]) -> tuple[str, bool]:
            answer = say({"operation": name, "arguments": given})
            return answer, "answer" in json.loads(answer)

        _walk("a daemon's socket", folder, post)
