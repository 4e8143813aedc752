"""Words what is kept twice as a client and its person do: the prompt, the tool, the inbox at the terminal."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.features.catalog.test_stdio import OFFLINE, ask
from tests.line_client import LineClient
from tests.serve.stdio.speaking import serving

WORDING = "The nightly backup runs at 02:00 UTC on host db-1."
PROMPT = "word-what-is-kept-twice"


def tidy(home: Path, *arguments: str) -> dict[str, Any]:
    """Run `minutebook tidy` at the terminal; return what it says as JSON."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "minutebook", "--home", home, "tidy", *arguments, "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, **OFFLINE},
        check=True,
    )
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def asked(pipe: LineClient) -> str:
    text: str = ask(pipe, "prompts/get", name=PROMPT)["result"]["messages"][0]["content"]["text"]
    return text


@pytest.mark.thorough
def test_a_client_words_a_pair_and_a_person_lets_it_take_their_place(tmp_path: Path) -> None:
    with serving(tmp_path, "knowledge", **OFFLINE) as pipe:
        pipe.handshake()
        assert "(none: nothing" in asked(pipe)
        for text in (
            "The nightly backup runs at 02:00 UTC.",
            "Nightly backup runs at 02:00 UTC on host db-1.",
        ):
            pipe.call("store_memory", content=text)
        tidy(tmp_path)
        (line,) = [each for each in asked(pipe).splitlines() if each.startswith("{")]
        pair = json.loads(line)
        assert {each["text"][:7] for each in pair["texts"]} == {"The nig", "Nightly"}
        told = pipe.call(
            "store_memory",
            content=WORDING,
            **pair["arguments"],
        )
        assert not told["result"]["isError"], told
        waiting = tidy(tmp_path)["items"]
        (merge,) = [each for each in waiting if each["topic"] == "merge"]
        assert merge["suggestion"]["reason"] == "it leaves no word of theirs out, and adds none"
        assert "(none: nothing" in asked(pipe)
        tidy(tmp_path, "apply", merge["name"])
        found = pipe.call("get_valid", limit=10)
        valid = json.loads(found["result"]["content"][0]["text"])["results"]
        assert [each["content"] for each in valid] == [WORDING]
