"""Settings that are changed under open sessions: hooks and tools go on, by the settings as they are."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from minutebook.features.hooks import log as hook_log
from tests.serve.daemon.test_process import WITHOUT, House, house_in, stored
from tests.world import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and /proc are used")

CHANGES = [
    *(("backup_every", "24"), ("hook_wait", "20"), ("recall_log", "questions"), ("redact", "mask")),
    *(("recall_tokens", "900"), ("hook_wait", "21"), ("durability", "normal")),
]


LONGEST_START = 2_900
"""Milliseconds that a hook may take."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as one:
        one.variables |= {"MINUTEBOOK_HOOK_WAIT": "20"}
        yield one


def typed(house: House, *words: str, input: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "minutebook", *words],
        env=house.environment | {"MINUTEBOOK_HOME": str(house.home)},
        input=input,
        capture_output=True,
        text=True,
        timeout=60,
    )


def is_told(house: House, session: str) -> bool:
    return "Two sign." in hook(house, "SessionStart", session)


def is_replaced(house: House, first: int) -> bool:
    daemons = house.daemons()
    return len(daemons) == 1 and daemons[0]["pid"] != first


def hook(house: House, name: str, session: str) -> str:
    """Run a hook of Claude Code; what it prints."""
    event = {"hook_event_name": name, "session_id": session, "cwd": "/", "prompt": "What is new?"}
    done = typed(house, "hook", "claude-code", input=json.dumps(event))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_hooks_and_tools_of_open_sessions_go_on_whatever_is_set(house: House) -> None:
    assert typed(house, "remember", "Two sign.", "--type", "business_rule").returncode == 0
    pipes = [house.client(), house.client()]
    first = house.pid()
    wait_until(lambda: "Two sign." in hook(house, "SessionStart", "before"))
    for number, change in enumerate(CHANGES):
        done = typed(house, "settings", "set", *change)
        assert done.returncode == 0, done.stderr
        for moment in range(3):
            # On a busy machine one may come too late, and never more than that.
            wait_until(partial(is_told, house, f"{change} {moment}"))
        for place, pipe in enumerate(pipes):
            assert stored(pipe, f"Note {number} of session {place}.")
    outcomes = [entry["outcome"] for entry in hook_log.entries(str(house.home))]
    assert outcomes.count("answered") == 3 * len(CHANGES) + 1
    assert len(outcomes) < 2 * outcomes.count("answered"), outcomes
    wait_until(lambda: is_replaced(house, first))
    for pipe in pipes:
        assert WITHOUT not in house.said(pipe)
    # A client that comes now, and what a person types, find the same daemon.
    pipes.append(house.client())
    wait_until(lambda: house.daemons()[0]["clients"] >= 1)
    assert len(house.daemons()) == 1
    assert "is another" not in typed(house, "doctor").stdout


def test_what_concerns_no_daemon_leaves_it_as_it_is(house: House) -> None:
    pipe = house.client()
    first = house.pid()
    for name, value in (("hook_wait", "22"), ("rate_limit", "9")):
        assert typed(house, "settings", "set", name, value).returncode == 0
    time.sleep(2.5)
    assert house.pid() == first
    assert stored(pipe, "It goes on.")


def test_a_file_that_does_not_fit_leaves_the_daemon_as_it_is(house: House) -> None:
    pipe = house.client()
    first = house.pid()
    (house.home / "config.toml").write_text('durability = "some"\n')
    time.sleep(2.5)
    assert house.pid() == first
    assert stored(pipe, "It goes on.")
    (house.home / "config.toml").write_text('durability = "normal"\n')
    wait_until(lambda: is_replaced(house, first))
    assert stored(pipe, "It goes on and on.")


def test_doctor_tells_of_a_daemon_that_hooks_do_not_reach(house: House) -> None:
    assert typed(house, "remember", "Two sign.").returncode == 0
    assert house.client("--policy", "governed")
    began = time.monotonic()
    assert hook(house, "UserPromptSubmit", "another") == ""
    assert time.monotonic() - began < float(house.variables["MINUTEBOOK_HOOK_WAIT"])
    said = typed(house, "doctor")
    assert said.returncode == 1
    assert f"The daemon in process {house.pid()} serves 1 client of this store" in said.stdout
    assert "it was started with another policy." in said.stdout


def test_without_a_daemon_the_hook_briefs_a_session_from_the_store(house: House) -> None:
    house.variables["MINUTEBOOK_HOOK_WAIT"] = "0.15"
    assert typed(house, "remember", "Two sign.", "--type", "business_rule").returncode == 0
    assert hook(house, "UserPromptSubmit", "nobody") == ""
    entry = hook_log.entries(str(house.home))[-1]
    assert entry["outcome"] == "no daemon"
    assert int(str(entry["ms"])) < LONGEST_START
    assert "Two sign." in hook(house, "SessionStart", "first")
    entry = hook_log.entries(str(house.home))[-1]
    assert (entry["outcome"], entry["is_briefing"]) == ("answered", True)
    # What is told in that way is known to be told: the daemon does not brief the session again.
    assert house.client()
    assert "Two sign." not in hook(house, "UserPromptSubmit", "first")


def test_a_daemon_that_stands_still_costs_a_command_no_more_than_a_moment(house: House) -> None:
    """Half a second, and less in any case than the ten in which a daemon has to answer."""
    assert typed(house, "remember", "Two sign.").returncode == 0
    assert house.client()
    pid = house.pid()
    alone = _seconds(house, {"MINUTEBOOK_DAEMON": "off"})
    os.kill(pid, signal.SIGSTOP)
    try:
        stood = _seconds(house, {})
    finally:
        os.kill(pid, signal.SIGCONT)
    assert stood - alone < 8


def _seconds(house: House, variables: dict[str, str]) -> float:
    """The least seconds that a command takes, of three."""
    took = []
    house.variables |= {"MINUTEBOOK_DAEMON": "on"} | variables
    for _ in range(3):
        began = time.monotonic()
        assert typed(house, "list").returncode == 0
        took.append(time.monotonic() - began)
    return min(took)
