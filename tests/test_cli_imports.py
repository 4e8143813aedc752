"""What a command in a process of its own does not import, for imports are most of what it costs."""

import json
import subprocess
import sys

import pytest

from tests.terminal import Run

LIBRARIES = (
    "anyio",
    "fastjsonschema",
    "httpx2",
    "jinja2",
    "markdown_it",
    "mcp",
    "onnx",
    "onnxruntime",
    "pathspec",
    "prometheus_client",
    "pydantic",
    "pygit2",
    "sentencepiece",
    "starlette",
    "tomlkit",
    "tree_sitter",
    "urllib.request",
    "yaml",
)
SERVERS = ("serve.contracts", "evaluation", "install", "serve.http", "serve.protocol", "web")
NOT_READ = (
    "code.files",
    "code.syntax",
    "ledger",
    "memory.code",
    "memory.journal",
    "memory.search",
    "summarizing",
)

COMMANDS = (
    (
        ["settings"],
        ("numpy", "apsw"),
        ("app", "text", "memory", "store.protocol", "store.sql", "store.sqlite"),
    ),
    (["token", "list"], LIBRARIES, (*SERVERS, *NOT_READ, "memory.knowledge", "cli.memories")),
    (["status"], LIBRARIES, (*SERVERS, *NOT_READ, "memory.knowledge.memories", "cli.memories")),
    (["audit"], LIBRARIES, (*SERVERS, *NOT_READ, "memory.knowledge.memories", "cli.memories")),
    (["list"], LIBRARIES, (*SERVERS, *NOT_READ, "memory.ledger.repositories", "cli.decisions")),
    (
        ["remember", "Tea at five."],
        LIBRARIES,
        (*SERVERS, *NOT_READ, "memory.ledger.repositories"),
    ),
    (
        ["sessions"],
        LIBRARIES,
        (*SERVERS, "code.files", "ledger", "memory.code", "memory.search"),
    ),
    (["decisions"], LIBRARIES, (*SERVERS, "code.files", "memory.code", "memory.search")),
    (
        ["search", "tea"],
        LIBRARIES,
        (*SERVERS, "code.files", "memory.code", "memory.code.indexing"),
    ),
)
"""Commands, each of which imports more than those before it, with libraries and modules of ours."""

PROGRAM = """
import json, sys
from minutebook.cli import main
loaded = []
for words in json.loads(sys.argv[1]):
    try:
        main.main(words)
    except SystemExit as end:
        assert not end.code, words
    loaded.append(sorted(sys.modules))
print(json.dumps(loaded))
"""


@pytest.mark.cold_start
@pytest.mark.whole
def test_a_command_imports_nothing_that_it_does_not_need(run: Run) -> None:
    run("remember", "Tea at four.")
    loaded = _loaded([words for words, _, _ in COMMANDS])
    needless = {
        " ".join(words): [
            name
            for name in (*libraries, *(f"minutebook.{each}" for each in modules))
            if name in found
        ]
        for (words, libraries, modules), found in zip(COMMANDS, loaded, strict=True)
    }
    assert needless == {" ".join(words): [] for words, _, _ in COMMANDS}


@pytest.mark.whole
def test_status_imports_no_engine_and_no_settings() -> None:
    """A daemon counts what it tells, so it comes as quickly as a list does."""
    program = (
        "import sys, minutebook.ask.over_socket, minutebook.cli.commands.upkeep\n"
        "print({*sys.modules} & {'numpy', 'minutebook.memory.maintenance', 'minutebook.store.protocol', 'minutebook.config.settings'})"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


@pytest.mark.whole
def test_a_server_over_stdio_imports_no_sdk_before_it_is_needed() -> None:
    program = (
        "import sys, minutebook.serve.daemon.process\n"
        "print({*sys.modules} & {'mcp', 'mcp_types', 'pydantic', 'starlette', 'uvicorn'})"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def _loaded(typed: list[list[str]]) -> list[list[str]]:
    """Run commands one after the other in one fresh process; what was imported after each."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, json.dumps(typed)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    loaded: list[list[str]] = json.loads(done.stdout.splitlines()[-1])
    return loaded
