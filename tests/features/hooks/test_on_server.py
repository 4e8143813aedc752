"""Hooks of a client whose memory is on a server: real processes, a token in a variable."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.hooks import log as hook_log
from minutebook.record.records import Role
from tests.features.http.speaking import Server, served, token
from tests.world import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of one system")

Hook = Callable[..., str]


class Machine:
    """A person's machine with no store of its own, and the token of a server."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.home, self.user = folder / "data", folder / "user"
        self.transcripts = self.user / ".claude" / "projects" / "p"
        self.transcripts.mkdir(parents=True)
        self.server = server
        secret = token(server.home, "ana", Role.HUMAN).secret
        self.environment = {
            **os.environ,
            "HOME": str(self.user),
            "MINUTEBOOK_HOME": str(self.home),
            "MINUTEBOOK_HOOK_WAIT": "30",
            "TEAM_TOKEN": secret,
        }
        self.environment.pop("CLAUDE_CONFIG_DIR", None)

    def typed(self, *words: str, input: str = "") -> subprocess.CompletedProcess[str]:
        there = ["--url", self.server.url, "--token-env", "TEAM_TOKEN"]
        return subprocess.run(
            [sys.executable, "-P", "-m", "minutebook", *there, *words],
            env=self.environment,
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def hook(self, name: str, session: str = "s1", **more: str) -> str:
        """Run a hook, which always ends well; what it prints."""
        event = {"hook_event_name": name, "session_id": session, "cwd": str(self.user), **more}
        done = self.typed("hook", "claude-code", input=json.dumps(event))
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def outcomes(self) -> list[Any]:
        return [entry["outcome"] for entry in hook_log.entries(str(self.home))]


@pytest.fixture
def machine(tmp_path: Path, server: Server) -> Machine:
    return Machine(tmp_path, server)


def test_a_session_is_told_what_the_server_holds_and_once(machine: Machine) -> None:
    kept = machine.typed("remember", "Refunds need two signatures.", "--type", "business_rule")
    assert kept.returncode == 0, kept.stderr
    told = json.loads(machine.hook("SessionStart"))["hookSpecificOutput"]
    assert "Refunds need two signatures." in told["additionalContext"]
    assert machine.hook("UserPromptSubmit", prompt="How many signatures does a refund need?") == ""
    # One that was told nothing when it started is told with its first prompt.
    late = machine.hook("UserPromptSubmit", "s2", prompt="How many signatures for a refund?")
    assert "Refunds need two signatures." in late
    assert machine.outcomes() == ["answered", "nothing to say", "answered"]
    assert not (machine.home / "minutebook.db").exists()


@pytest.mark.needs("journal")
def test_a_session_that_ends_is_kept_there(machine: Machine) -> None:
    path = machine.transcripts / "s3.jsonl"

    def write(*turns: tuple[str, str]) -> None:
        lines = [
            {
                "type": kind,
                "uuid": f"{number}-{kind}",
                "sessionId": "s3",
                "cwd": str(machine.user),
                "timestamp": f"2026-11-22T10:{number:02}:00Z",
                "message": {"role": kind, "content": content},
            }
            for number, turn in enumerate(turns)
            for kind, content in zip(("user", "assistant"), turn, strict=True)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    first = ("Mend the parser <private>my key</private>", "The parser reads quotes now.")
    write(first)
    assert machine.hook("SessionEnd", "s3", transcript_path=str(path)) == ""
    wait_until(lambda: "captured" in machine.outcomes())
    write(first, ("And the docs?", "The docs name the quotes."))
    assert machine.hook("SessionEnd", "s3", transcript_path=str(path)) == ""
    wait_until(lambda: machine.outcomes().count("captured") == 2)
    (name,) = {str(e["kept"]) for e in hook_log.entries(str(machine.home)) if e.get("kept")}
    shown = machine.typed("sessions", name, "--json").stdout
    assert shown.count("The parser reads quotes now.") >= 1
    assert "The docs name the quotes." in shown
    assert "my key" not in shown
    assert len(json.loads(shown)["turns"]) == 2


@pytest.mark.needs("journal")
def test_a_turn_that_follows_one_that_was_taken_back_is_sent_once(machine: Machine) -> None:
    path = machine.transcripts / "s5.jsonl"
    rows = [
        ("p1", None, "Name it"),
        ("a2", "p1", "Heron."),
        ("p3", "a2", "Green"),
        ("a4", "p3", "Ok."),
    ]
    later: list[tuple[str, str | None, str]] = [
        ("p5", "a2", "Orange"),
        ("a6", "p5", "Ok."),
        ("p7", "a6", "Darker"),
    ]
    for count, written in enumerate((rows, rows + later[:2], rows + later, rows + later), 1):
        lines = [
            {
                "type": "user" if uuid[0] == "p" else "assistant",
                "uuid": uuid,
                "parentUuid": parent,
                "sessionId": "s5",
                "timestamp": f"2026-11-22T10:0{uuid[1]}:00Z",
                "message": {"content": text},
            }
            for uuid, parent, text in written
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        machine.hook("SessionEnd", "s5", transcript_path=str(path))
        wait_until(lambda: len(machine.outcomes()) == 2 * count)  # noqa: B023
    (name,) = {str(e["kept"]) for e in hook_log.entries(str(machine.home)) if e.get("kept")}
    turns = json.loads(machine.typed("sessions", name, "--json").stdout)["turns"]
    assert [each["prompt"] for each in turns] == ["Name it", "Green", "Orange", "Darker"]


def test_no_other_file_is_sent(machine: Machine, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text("{}\n")
    assert machine.hook("SessionEnd", "s4", transcript_path=str(other)) == ""
    wait_until(lambda: any("failed" in str(each) for each in machine.outcomes()))


def test_whatever_is_wrong_the_hook_ends_well_and_says_nothing(machine: Machine) -> None:
    machine.environment["TEAM_TOKEN"] = "mbk_" + "0" * 43
    assert machine.hook("SessionStart") == ""
    machine.environment.pop("TEAM_TOKEN")
    assert machine.hook("SessionStart") == ""
    machine.server = Server(machine.home, machine.server.process, 1)
    machine.environment["TEAM_TOKEN"] = "mbk_" + "0" * 43
    assert machine.hook("SessionStart") == ""
    assert all(str(each).startswith("failed") for each in machine.outcomes())


def test_what_is_left_alone_is_not_sent(machine: Machine) -> None:
    machine.environment["MINUTEBOOK_HOOK_IGNORE"] = str(machine.user)
    assert machine.hook("SessionStart") == ""
    machine.environment["MINUTEBOOK_HOOKS"] = "off"
    assert machine.hook("SessionStart") == ""
    assert machine.outcomes() == ["ignored", "off"]


ASKED: dict[str, Any] = {
    "session": "s",
    "prompt": None,
    "known": [],
    "is_briefed": False,
    "here": [],
}


@pytest.mark.parametrize(
    "asked",
    [None, {}, {"known": 1}, {**ASKED, "tokens": "x"}, ASKED],
)
def test_a_server_refuses_what_asks_for_nothing(server: Server, asked: object) -> None:
    secret = token(server.home, "eve", Role.AGENT).secret
    answer = server.post("/operations/brief", {"asked": asked}, Authorization=f"Bearer {secret}")
    assert answer.status_code == 400
    assert answer.json()["facts"]["name"] == "InvalidInput"


def test_a_server_that_only_reads_answers_hooks(tmp_path: Path) -> None:
    with served(tmp_path / "served", "knowledge", "--read-only") as one:
        asked = {**ASKED, "tokens": 100}
        answer = one.post("/operations/brief", {"asked": asked}).json()
        assert answer["answer"]["text"] is None
