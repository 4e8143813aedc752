"""A server whose ledger is damaged: it says so, and answers everything else."""

import subprocess
import threading
from pathlib import Path

import pytest

from tests.line_client import LineClient
from tests.serve.stdio.speaking import command, serving

FIRST = {
    "title": "Keep everything in SQLite",
    "target": "database",
    "rationale": "One file, and no server to run.",
}
SECOND = {**FIRST, "target": "wire", "title": "Speak JSON"}


def ping(pipe: LineClient) -> None:
    pipe.send({"jsonrpc": "2.0", "id": "ping", "method": "ping"})


@pytest.mark.thorough
def test_a_torn_object_stops_no_server_and_the_doctor_names_it(tmp_path: Path) -> None:
    home = tmp_path / "a home"
    with serving(home, "ledger", MINUTEBOOK_EMBEDDER="none") as pipe:
        # A server that hangs would hang this test.
        limit = threading.Timer(120, pipe.process.kill)
        limit.start()
        pipe.handshake()
        decided = pipe.call("record_decision", **FIRST)["result"]["structuredContent"]
        (ledger,) = (home / "ledgers").iterdir()
        told = ["git", "-C", str(ledger), "rev-parse", "HEAD^{tree}"]
        id = subprocess.run(told, check=True, capture_output=True, text=True).stdout.strip()
        file = ledger / "objects" / id[:2] / id[2:]
        file.chmod(0o600)
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        call = {"name": "record_decision", "arguments": SECOND}
        pipe.send({"jsonrpc": "2.0", "id": "act", "method": "tools/call", "params": call})
        ping(pipe)
        answers = {each["id"]: each for each in (pipe.read(), pipe.read())}
        assert answers["ping"]["result"] == {}
        error = answers["act"]["error"]
        assert error["code"] == -32000
        assert id in error["data"]["reason"]
        found = pipe.call("search_decisions", query="SQLite")["result"]["structuredContent"]
        assert [each["id"] for each in found["results"]] == [decided["decision_id"]]
        limit.cancel()
    program = [*command(home)[:3], "doctor", "--home", str(home)]
    told_by = subprocess.run(
        program, capture_output=True, text=True, check=False, timeout=120, env=None
    )
    assert told_by.returncode == 1
    assert str(file) in told_by.stdout
    assert "git fsck" in told_by.stdout
