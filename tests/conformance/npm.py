"""Programs from npm that speak MCP: the protocol's own suite, and the Inspector's command line."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MODULES = Path(__file__).parent / "node_modules"
READY = MODULES / ".ready"
PROGRAMS = {
    "conformance": MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js",
    "inspector": MODULES.joinpath(
        "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"
    ),
    "mcpb": MODULES / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js",
}

needs_npm = pytest.mark.skipif(
    not READY.exists(), reason="needs programs from npm; `make npm` installs them"
)


def ran(
    program: str, *arguments: str, cwd: Path, seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end with `cwd` as its home, so that it leaves nothing elsewhere.

    A program that takes longer than `seconds` raises TimeoutExpired.
    """
    # npm has Node for some platforms; elsewhere it is the one on the path, 22 or later.
    node = shutil.which("node", path=MODULES / ".bin") or shutil.which("node")
    assert node is not None, "Node 22 or later is needed: put it on the path"
    return subprocess.run(
        [node, PROGRAMS[program], *arguments],
        cwd=cwd,
        env={**os.environ, "HOME": str(cwd), "USERPROFILE": str(cwd), "CI": "1"},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
