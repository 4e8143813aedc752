"""What a client sees on the wire of the tools' list; the rest is in tests/serve."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from minutebook.serve.contracts.knowledge import knowledge
from tests.line_client import INITIALIZED, initialize
from tests.serve.contracts.requirements import requirement

LINES = [
    initialize(),
    INITIALIZED,
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
]


@requirement("common/published-verbatim", "common/results/no-null-cursor", "knowledge/tools/listed")
def test_the_tools_are_on_the_wire_as_they_were_promised(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "minutebook", "serve", "--no-daemon", "--home", str(tmp_path)],
        input="".join(json.dumps(line) + "\n" for line in LINES),
        env={**os.environ, "MINUTEBOOK_EMBEDDER": "none"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answers = {each["id"]: each for each in map(json.loads, process.stdout.splitlines())}
    listed: dict[str, Any] = answers[1]["result"]
    assert "nextCursor" not in listed
    promised = [
        {key: tool[key] for key in ("name", "description", "inputSchema")}
        for tool in knowledge().promise["tools"]
    ]
    shown = [
        {key: tool[key] for key in ("name", "description", "inputSchema")}
        for tool in listed["tools"]
    ]
    assert json.dumps(shown, sort_keys=True) == json.dumps(promised, sort_keys=True)
    for tool, told in zip(knowledge().promise["tools"], listed["tools"], strict=True):
        assert told["annotations"] == tool["annotations"]
