"""Words of every command, posted to a server and to a daemon: none reaches the keyboard or the files of the host."""

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import httpx2
import pytest

from minutebook import __version__
from minutebook.invocation import PAGES_COMMANDS, Invocation
from minutebook.server.daemon import client
from minutebook.server.daemon.rendezvous import daemon_address
from tests.faults.campaign import chance, report, rounds
from tests.server.http.speaking import PLAIN, serving
from tests.terminal import leaf_commands

TYPED = "What the operator types."
SECRET = "What a file of the host holds."
PATIENCE = 20

Post = Callable[[list[str]], tuple[str, bool, bool]]
"""Posts words: all that was answered, whether the command ended well, whether it was left to its client."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    (made / "file").write_text(SECRET)
    return made


def _drawn(random: random.Random, folder: Path) -> list[str]:
    """Draw a command, and words for it."""
    words, command = random.choice(list(leaf_commands()))
    values = ["-", "--", str(folder), str(folder / "file"), str(folder / "new"), "file", "x", "1"]
    options = [each.opts[0] for each in command.params if isinstance(each, click.Option)]
    drawn = [*words]
    for _ in range(random.randint(0, 5)):
        drawn.append(random.choice(options if options and random.random() < 0.4 else values))
    return drawn


def _held(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _walk(door: str, folder: Path, post: Post, without: frozenset[str] = frozenset()) -> None:
    source, before = chance(f"hosted commands {door}"), _held(folder)
    posted = done = refused = 0
    for _ in range(rounds(100, 3_000)):
        words = _drawn(source, folder)
        if words[0] in without:
            continue
        answer, is_done, is_refused = post(words)
        assert TYPED not in answer, words
        assert SECRET not in answer, words
        posted, done, refused = posted + 1, done + is_done, refused + is_refused
    assert _held(folder) == before
    assert refused > posted / 10
    report("hosted commands", door, posted=posted, done=done, refused=refused, read=0, written=0)


def test_a_server_keeps_its_keyboard_and_its_files_from_commands(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.write(writing, f"{TYPED}\n".encode())
    monkeypatch.chdir(folder)
    with (
        serving(
            tmp_path / "home", stdin=reading, environment={"MINUTEBOOK_RATE_LIMIT": "0"}
        ) as server,
        httpx2.Client(**PLAIN | {"timeout": PATIENCE}) as http,
    ):

        def post(words: list[str]) -> tuple[str, bool, bool]:
            answer = http.post(f"{server.url}/command", json={"words": words})
            found = answer.json()
            is_refused = "on a server" in answer.text
            return answer.text, found["status"] == 0, is_refused

        _walk("HTTP", folder, post)
    assert os.read(reading, 100).decode() == f"{TYPED}\n"
    os.close(reading)
    os.close(writing)


@pytest.fixture
def asked(tmp_path: Path, folder: Path) -> Iterator[Invocation]:
    variables = {"MINUTEBOOK_DAEMON": "on", "MINUTEBOOK_EMBEDDER": "none"}
    # What a command writes for a person at this machine lands where nothing else is.
    environment = {**os.environ, **variables, "HOME": str(folder)}
    invocation = Invocation({}, (), {**environment, "MINUTEBOOK_HOME": str(tmp_path / "home")})
    place = daemon_address(invocation.address)
    client.start(invocation, place)
    yield invocation
    client.stop(place)


def test_a_daemon_keeps_its_files_from_commands_that_it_does_not_run(
    asked: Invocation, folder: Path
) -> None:
    def post(words: list[str]) -> tuple[str, bool, bool]:
        request = {
            "version": __version__,
            "command": words,
            "variables": asked.variables,
            "folder": str(folder),
            "user": "ada",
            "terminals": [False, False],
        }
        place = daemon_address(asked.address).socket
        with place.connect(PATIENCE) as connection, connection.makefile("rb") as answers:
            connection.sendall(json.dumps(request).encode() + b"\n")
            assert json.loads(answers.readline()) == {"ready": True}
            connection.sendall(b"go\n")
            found = [json.loads(line) for line in answers]
        return json.dumps(found), found[-1].get("status") == 0, "refused" in found[-1]

    _walk("a daemon's socket", folder, post, PAGES_COMMANDS)
