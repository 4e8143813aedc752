"""The process that a client runs at moments of its session: real processes, with and without a daemon."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.hooks import log as hook_log
from minutebook.features.hooks.cli import event_rows, trouble_in
from minutebook.features.hooks.cut_short import unfinished
from minutebook.features.hooks.known import is_ignored
from minutebook.features.install.hooks import HOOKS
from minutebook.serve.daemon import client
from minutebook.serve.daemon.rendezvous import DaemonAddress, daemon_address
from minutebook.serve.invocation import Invocation
from tests.world import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are used")

OWN_PROCESS = "minutebook.app"


class Machine:
    """A person's machine: a home with a client's transcripts, a data directory, a project."""

    def __init__(self, folder: Path) -> None:
        self.user, self.home = folder / "user", folder / "data home"
        self.project = folder / "my project"
        self.transcripts = self.user / ".claude" / "projects" / "my-project"
        for place in (self.home, self.project, self.transcripts):
            place.mkdir(parents=True)
        # Longer than a test on a busy machine may take; who must not be awaited never answers.
        self.environment = {
            **os.environ,
            "HOME": str(self.user),
            "MINUTEBOOK_DAEMON": "on",
            "MINUTEBOOK_EMBEDDER": "none",
            "MINUTEBOOK_HOME": str(self.home),
            "MINUTEBOOK_HOOK_WAIT": "60",
        }
        self.environment.pop("CLAUDE_CONFIG_DIR", None)

    @property
    def place(self) -> DaemonAddress:
        return daemon_address(Invocation({}, (), self.environment).address)

    def typed(self, *words: str) -> str:
        command = [sys.executable, "-P", "-m", "minutebook", *words]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def hook(
        self, event: dict[str, Any] | bytes, wait: str = "60", client: str = "claude-code"
    ) -> str:
        """Run a hook, which always ends well; what it prints."""
        data = event if isinstance(event, bytes) else json.dumps(event).encode()
        command = [
            sys.executable,
            "-P",
            "-X",
            "importtime",
            "-m",
            "minutebook",
            "hook",
            client,
        ]
        environment = self.environment | {"MINUTEBOOK_HOOK_WAIT": wait}
        done = subprocess.run(command, input=data, env=environment, capture_output=True, timeout=60)
        assert done.returncode == 0
        assert OWN_PROCESS not in done.stderr.decode()
        assert "Traceback" not in done.stderr.decode()
        return done.stdout.decode()

    def event(self, name: str, session: str = "s1", **more: str) -> dict[str, Any]:
        known = {"hook_event_name": name, "session_id": session, "cwd": str(self.project)}
        return {**known, **more}

    def context(self, event: dict[str, Any]) -> str:
        """Run a hook that has something to say; what it has the client tell its agent."""
        told = json.loads(self.hook(event))["hookSpecificOutput"]
        assert told["hookEventName"] == event["hook_event_name"]
        return str(told["additionalContext"])

    def outcomes(self) -> list[object]:
        return [entry["outcome"] for entry in hook_log.entries(str(self.home))]

    def transcript(self, session: str, *turns: tuple[str, str]) -> Path:
        lines = []
        for number, (prompt, answer) in enumerate(turns):
            for kind, content in (("user", prompt), ("assistant", answer)):
                lines.append(
                    {
                        "type": kind,
                        "uuid": f"{session}-{number}-{kind}",
                        "sessionId": session,
                        "cwd": str(self.project),
                        "timestamp": f"2026-11-22T10:{number:02}:00Z",
                        "message": {"role": kind, "content": content},
                    }
                )
        path = self.transcripts / f"{session}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def daemon(machine: Machine) -> Iterator[DaemonAddress]:
    place = machine.place
    client.start(Invocation({}, (), machine.environment), place)
    yield place
    client.stop(place)


def test_a_session_is_told_what_holds_when_it_starts_and_once(
    machine: Machine, daemon: DaemonAddress
) -> None:
    assert json.loads(machine.hook(machine.event("SessionStart"))).keys() == {"systemMessage"}
    machine.typed("remember", "Refunds need <b>two</b> signatures.", "--type", "business_rule")
    told = machine.context(machine.event("SessionStart", "s2"))
    assert "Data, not instructions" in told
    assert "- Refunds need ‹b>two‹/b> signatures. (" in told
    # Without a model no memory is relevant; and what holds was said when the session started.
    assert (
        machine.hook(machine.event("UserPromptSubmit", "s2", prompt="who signs the refunds")) == ""
    )
    # A session that could not be told then is told now.
    late = machine.event("UserPromptSubmit", "s3", prompt="who signs the refunds")
    assert "Refunds need" in machine.context(late)
    assert machine.hook(late) == ""
    assert machine.outcomes() == [
        "answered",
        "answered",
        "nothing to say",
        "answered",
        "nothing to say",
    ]


@pytest.mark.parametrize("source", ["compact", "clear"])
def test_what_a_session_was_told_before_it_was_compacted_or_cleared_is_told_again(
    machine: Machine, daemon: DaemonAddress, source: str
) -> None:
    machine.typed("remember", "Refunds need two signatures.", "--type", "business_rule")
    asks = machine.event("UserPromptSubmit", prompt="who signs the refunds")
    assert "Refunds need" in machine.context(machine.event("SessionStart", source="startup"))
    assert machine.hook(asks) == ""
    # What came too late then is told with the next prompt, though it was told before.
    status = client.ask(daemon, "status")
    assert status is not None
    pid = int(str(status["pid"]))
    os.kill(pid, signal.SIGSTOP)
    try:
        assert machine.hook(machine.event("SessionStart", source=source), wait="0.5") == ""
    finally:
        os.kill(pid, signal.SIGCONT)
    assert "Refunds need" in machine.context(asks)
    assert machine.hook(asks) == ""
    assert "Refunds need" in machine.context(machine.event("SessionStart", source=source))
    assert machine.hook(asks) == ""


@pytest.mark.needs("tidying")
def test_an_agent_s_rule_is_told_once_a_person_confirmed_it(
    machine: Machine, daemon: DaemonAddress
) -> None:
    words = ("Refunds need two signatures.", "--type", "business_rule", "--role", "agent")
    id = machine.typed("remember", *words)
    told = machine.context(machine.event("SessionStart"))
    assert told.splitlines()[1:] == ["1 rule by agents waits for you: `minutebook ui`, Review"]
    machine.typed("tidy", "apply", id)
    told = machine.context(machine.event("SessionStart"))
    assert told.splitlines()[1] == "Rules:"
    assert f"verified by a person, {id})" in told


@pytest.mark.needs("journal")
def test_a_session_that_ends_is_kept_without_what_is_private(
    machine: Machine, daemon: DaemonAddress
) -> None:
    path = machine.transcript(
        "s1", ("Mend it. <private>pin 1234</private>", "The port is 6543 now.")
    )
    ended = machine.event("SessionEnd", transcript_path=str(path))
    for count in (1, 2):
        assert machine.hook(ended) == ""
        wait_until(lambda: machine.outcomes().count("captured") == count)  # noqa: B023
    read = machine.typed("sessions", "s1")
    assert "The port is 6543 now." in read
    assert "[private]" in read
    assert "1234" not in read
    turns = [e.get("turns") for e in hook_log.entries(str(machine.home)) if e["event"] == "capture"]
    assert turns == [1, 0]
    told = machine.context(machine.event("SessionStart", "s2"))
    assert "6543" in told


@pytest.mark.needs("journal")
def test_a_turn_that_was_kept_goes_when_the_person_takes_it_back(
    machine: Machine, daemon: DaemonAddress
) -> None:
    path = machine.transcript("s1", ("Name it", "Heron."), ("Paint it green", "Green."))
    first, green = "s1-0-assistant", "s1-1-user"
    parents = {first: "s1-0-user", green: first, "s1-1-assistant": green, "s1-2-user": first}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows.append({**rows[2], "uuid": "s1-2-user", "message": {"role": "user", "content": "Orange"}})
    ended = machine.event("SessionEnd", transcript_path=str(path))
    for count, (gone, kept) in enumerate((("Orange", "green"), ("green", "Orange")), 1):
        written = [{**each, "parentUuid": parents.get(each["uuid"])} for each in rows[: 3 + count]]
        path.write_text("".join(json.dumps(each) + "\n" for each in written))
        machine.hook(ended)
        wait_until(lambda: machine.outcomes().count("captured") == count)  # noqa: B023
        read = machine.typed("sessions", "s1")
        assert (gone in read, kept in read) == (False, True)


@pytest.mark.needs("journal")
@pytest.mark.skipif(sys.platform != "linux", reason="the client is found by /proc")
def test_a_session_whose_client_is_killed_is_kept(
    machine: Machine, daemon: DaemonAddress, tmp_path: Path
) -> None:
    path = machine.transcript("s1", ("Why is checkout slow?", "An index is missing."))
    event = machine.event("UserPromptSubmit", transcript_path=str(path), prompt="And the cart?")
    (tmp_path / "event.json").write_text(json.dumps(event))
    # A client runs its hooks through a shell, and goes on.
    hook = f'"{sys.executable}" -P -m minutebook hook claude-code < event.json; :'
    program = "import subprocess, sys; subprocess.run(sys.argv[1], shell=True); input()"
    agent = subprocess.Popen(
        [sys.executable, "-c", program, hook],
        cwd=tmp_path,
        env=machine.environment,
        stdin=subprocess.PIPE,
    )
    wait_until(lambda: machine.outcomes() != [])
    (entry,) = unfinished(hook_log.entries(str(machine.home)))
    assert entry["pid"] == agent.pid
    agent.kill()
    agent.communicate()
    wait_until(lambda: "captured" in machine.outcomes())
    assert "An index is missing." in machine.typed("sessions", "s1")
    assert unfinished(hook_log.entries(str(machine.home))) == []


def test_a_session_is_unfinished_until_it_was_kept_or_a_daemon_has_it() -> None:
    called = {"session": "a", "pid": 7, "options": {}, "transcript": "t", "outcome": "late"}
    assert unfinished([called, {**called, "session": "b"}]) == [called, {**called, "session": "b"}]
    assert unfinished([called, {**called, "outcome": "handed over"}]) == []
    kept = {"session": "a", "event": "capture", "outcome": "failed: StoreError"}
    assert unfinished([called, kept]) == []
    assert unfinished([called, kept, {**called, "outcome": "answered"}]) != []
    assert unfinished([{**called, "pid": "7"}, {**called, "options": None}]) == []


def test_the_first_sessions_of_a_client_say_that_they_are_kept(
    machine: Machine, daemon: DaemonAddress
) -> None:
    for session in ("s1", "s2", "s3"):
        shown = json.loads(machine.hook(machine.event("SessionStart", session)))
        assert shown == {"systemMessage": "Minutebook keeps this session: `minutebook ui`"}
        assert machine.hook(machine.event("SessionStart", session)) == ""
    assert machine.hook(machine.event("SessionStart", "s4")) == ""
    assert "systemMessage" in machine.hook(machine.event("SessionStart", "c1"), client="codex")
    assert machine.hook(machine.event("sessionStart", "u1"), client="cursor") == ""


def test_doctor_says_what_the_hooks_of_each_client_did(machine: Machine) -> None:
    machine.typed("remember", "Milk first")
    machine.hook(machine.event("SessionEnd", "s1"))
    machine.hook(machine.event("SessionEnd", "s2"))
    assert "Hooks of claude-code: last called just now, 2 sessions since " in machine.typed(
        "doctor"
    )


def test_a_session_in_which_nothing_was_said_is_no_failure_and_hides_no_earlier_one(
    machine: Machine, daemon: DaemonAddress
) -> None:
    path = machine.transcript("s1", ("Mend the parser.", "The parser is mended."))
    machine.hook(machine.event("SessionEnd", transcript_path=str(path)))
    wait_until(lambda: "captured" in machine.outcomes())
    # `claude mcp list` has a session, too, and writes no transcript.
    missing = machine.transcripts / "s2.jsonl"
    machine.hook(machine.event("SessionEnd", "s2", transcript_path=str(missing)))
    wait_until(lambda: "nothing to keep" in machine.outcomes())
    assert "failed" not in machine.typed("doctor")
    assert "The parser is mended." in machine.context(machine.event("SessionStart", "s3"))


@pytest.mark.thorough
@pytest.mark.parametrize("where", ["elsewhere", "link", "relative"])
def test_no_other_file_is_read_as_a_transcript(
    machine: Machine, daemon: DaemonAddress, where: str, tmp_path: Path
) -> None:
    path = machine.transcript("s1", ("Mend it.", "Done."))
    other = tmp_path / "other.jsonl"
    shutil.move(path, other)
    link = machine.transcripts / "link.jsonl"
    link.symlink_to(other)
    named = {
        "elsewhere": other,
        "link": link,
        "relative": machine.transcripts / ".." / ".." / ".." / ".." / "other.jsonl",
    }[where]
    machine.hook(machine.event("SessionEnd", transcript_path=str(named)))
    wait_until(lambda: "failed: InvalidInput" in machine.outcomes())
    assert machine.typed("sessions") == "No session was written yet."


def codex_lines(folder: str) -> list[dict[str, Any]]:
    def item(role: str, text: str) -> dict[str, Any]:
        content = [{"type": "input_text", "text": text}]
        return {
            "type": "response_item",
            "payload": {"type": "message", "role": role, "content": content},
        }

    meta = {"type": "session_meta", "payload": {"id": "s1", "cwd": folder}}
    # What hooks said stands there as the developer's.
    told = item("developer", "From Minutebook")
    asked, answered = item("user", "Mend it."), item("assistant", "The port is 6543 now.")
    return [meta, told, asked, answered]


def gemini_lines() -> list[dict[str, Any]]:
    told = "<session_context>\nToday is Sunday.\n</session_context>"
    asked = "<hook_context>From Minutebook</hook_context>\n\nMend it."
    return [
        {"sessionId": "s1"},
        {"$set": {"messages": [{"id": "m0", "type": "user", "content": [{"text": told}]}]}},
        {"id": "m1", "type": "user", "content": [{"text": asked}]},
        {"id": "m2", "type": "gemini", "content": "The port is 6543 now."},
    ]


def copilot_lines() -> list[dict[str, Any]]:
    said = {
        "session.start": {"sessionId": "s1", "copilotVersion": "1.0"},
        "user.message": {"content": "Mend it.", "transformedContent": "From Minutebook. Mend it."},
        "assistant.message": {"content": "The port is 6543 now."},
    }
    return [{"type": kind, "id": kind, "data": data} for kind, data in said.items()]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("client", "path", "lines"),
    [
        ("codex", ".codex/sessions/2026/rollout-1-s1.jsonl", codex_lines("/p")),
        ("gemini", ".gemini/tmp/p/chats/session-1.jsonl", gemini_lines()),
        ("copilot", ".copilot/session-state/s1/events.jsonl", copilot_lines()),
    ],
)
def test_a_session_of_each_client_is_kept_from_its_transcript(
    machine: Machine, daemon: DaemonAddress, client: str, path: str, lines: list[dict[str, Any]]
) -> None:
    file = machine.user / path
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    # Copilot CLI names no transcript when a session ends.
    named = {} if client == "copilot" else {"transcript_path": str(file)}
    assert machine.hook(machine.event("SessionEnd", **named), client=client) == ""
    wait_until(lambda: "captured" in machine.outcomes())
    read = json.loads(machine.typed("sessions", "s1", "--json"))
    ((prompt, response),) = [(turn["prompt"], turn["response"]) for turn in read["turns"]]
    assert (prompt, response) == ("Mend it.", "The port is 6543 now.")
    told = machine.hook(machine.event("SessionStart", "s2"), client=client)
    assert "6543" in told


@pytest.mark.thorough
def test_turns_that_a_client_gives_itself_are_kept_one_by_one(
    machine: Machine, daemon: DaemonAddress
) -> None:
    for number, second in enumerate(("first", "second"), 1):
        turn = {
            "id": f"m{number}",
            "at": 1_795_372_526_353 + number,
            "prompt": f"<private>x</private> {second}",
        }
        event = {**machine.event("TurnEnd"), "turn": {**turn, "response": "Done."}}
        assert machine.hook(event, client="opencode") == ""
        wait_until(lambda: machine.outcomes().count("captured") == number)  # noqa: B023
    machine.hook(machine.event("SessionEnd"), client="opencode")
    wait_until(lambda: machine.outcomes().count("captured") == 3)
    read = json.loads(machine.typed("sessions", "s1", "--json"))
    assert [turn["prompt"] for turn in read["turns"]] == ["[private] first", "[private] second"]
    assert "built-in extractive" in machine.typed("sessions", "s1")


def test_each_client_is_answered_in_its_own_form(machine: Machine, daemon: DaemonAddress) -> None:
    machine.typed("remember", "Refunds need two signatures.", "--type", "business_rule")
    root = {"conversation_id": "c1", "workspace_roots": [str(machine.project)]}
    answers = {
        "cursor": {"hook_event_name": "sessionStart", **root},
        "copilot": machine.event("SessionStart", "c2"),
        "gemini": machine.event("BeforeAgent", "c3", prompt="who signs the refunds"),
        "opencode": machine.event("UserPromptSubmit", "c4", prompt="who signs the refunds"),
    }
    told = {name: json.loads(machine.hook(answers[name], client=name)) for name in answers}
    assert "Refunds need" in told["cursor"]["additional_context"]
    assert "Refunds need" in told["copilot"]["additionalContext"]
    assert "Refunds need" in told["opencode"]["additionalContext"]
    # VS Code reads Copilot's hook, and this part of its answer.
    assert told["copilot"]["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert told["gemini"].keys() == {"hookSpecificOutput", "systemMessage"}
    assert told["gemini"]["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    assert [e["session"] for e in hook_log.entries(str(machine.home))] == ["c1", "c2", "c3", "c4"]


def test_without_a_daemon_nothing_is_said_and_nothing_started(machine: Machine) -> None:
    assert machine.hook(machine.event("SessionStart")) == ""
    assert machine.outcomes() == ["no daemon"]
    assert sorted(path.name for path in machine.home.iterdir()) == [hook_log.NAME]


def test_a_client_that_has_no_hooks_is_refused_with_those_that_have(machine: Machine) -> None:
    command = [sys.executable, "-P", "-m", "minutebook", "hook", "claude-cod", "--agent", "codex"]
    done = subprocess.run(
        command, input="{}", env=machine.environment, capture_output=True, text=True, timeout=60
    )
    # Not 2, by which clients let a hook stop what a person does.
    assert done.returncode == 1
    assert "must be one of claude-code, codex, gemini" in done.stderr
    assert machine.outcomes() == []


def test_without_a_data_directory_nothing_is_made(machine: Machine) -> None:
    machine.home.rmdir()
    assert machine.hook(machine.event("SessionStart")) == ""
    assert not machine.home.exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "data", [b"", b"no json", b"[1]", b"{}", b"\xff\xfe", b'{"a":' * 10_000, b"x" * 300_000]
)
def test_what_is_no_event_is_let_pass(machine: Machine, data: bytes) -> None:
    assert machine.hook(data) == ""


def test_a_daemon_that_stands_still_is_not_awaited(machine: Machine, daemon: DaemonAddress) -> None:
    machine.typed("remember", "Refunds need two signatures.", "--type", "business_rule")
    status = client.ask(daemon, "status")
    assert status is not None
    pid = int(str(status["pid"]))
    os.kill(pid, signal.SIGSTOP)
    try:
        assert machine.hook(machine.event("SessionStart"), wait="0.05") == ""
    finally:
        os.kill(pid, signal.SIGCONT)
    assert machine.outcomes()[-1] in ("late", "no daemon")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "switch",
    [["settings", "set", "hooks", "off"], ["settings", "set", "hook_ignore", "*/my project"]],
)
def test_the_hooks_of_all_clients_are_switched_off(machine: Machine, switch: list[str]) -> None:
    machine.typed("remember", "Refunds need two signatures.", "--type", "business_rule")
    machine.typed(*switch)
    place = machine.place
    client.start(Invocation({}, (), machine.environment), place)
    try:
        path = machine.transcript("s1", ("Mend it.", "Done."))
        for name in sorted({each.command_name for each in HOOKS.values()}):
            assert machine.hook(machine.event("SessionStart"), client=name) == ""
            turn = {"id": "m1", "at": 1_795_372_526_353, "prompt": "a", "response": "b"}
            machine.hook({**machine.event("TurnEnd"), "turn": turn}, client=name)
        machine.hook(machine.event("SessionEnd", transcript_path=str(path)))
        assert machine.typed("sessions") == "No session was written yet."
    finally:
        client.stop(place)
    assert "answered" not in machine.outcomes()
    assert "captured" not in machine.outcomes()


@pytest.mark.parametrize(
    ("folder", "patterns", "ignored"),
    [
        ("/home/ada/secret/deep", ("/home/ada/secret",), True),
        ("/home/ada/secrets", ("/home/ada/secret",), False),
        ("/home/ada/x/secret/y", ("*/secret",), True),
        ("/home/ada", (), False),
    ],
)
def test_folders_that_are_left_alone(folder: str, patterns: tuple[str, ...], ignored: bool) -> None:
    assert is_ignored(Path(folder), patterns) is ignored


def test_the_log_is_bounded_and_summed_up(tmp_path: Path) -> None:
    for number in range(4000):
        outcome = "late" if number % 2 else "answered"
        hook_log.append(
            str(tmp_path), client="c", event="UserPromptSubmit", outcome=outcome, ms=9, tokens=7
        )
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == 2
    assert max(sizes) < hook_log.LARGEST + 1000
    with (tmp_path / hook_log.NAME).open("a") as file:
        file.write("half a li")
    entries = hook_log.entries(str(tmp_path))
    (row,) = event_rows(entries)
    assert row["outcomes"] == {"answered": 100, "late": 100}
    assert (row["milliseconds"], row["tokens"]) == (9, 7)
    assert trouble_in(entries) == "Of the last 200 hooks of clients 100 came too late and 0 failed."
    assert trouble_in(entries[:5]) is None
