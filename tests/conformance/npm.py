"""Programs from npm that speak MCP: the protocol's own suite, and the Inspector's command line."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

MODULES = Path(__file__).parent / "node_modules"
READY = MODULES / ".ready"

needs_npm = pytest.mark.skipif(
    not READY.exists(), reason="needs programs from npm; `make npm` installs them"
)


def ran(
    program: str, *arguments: str | Path, cwd: Path, seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end with `cwd` as its home, so that it leaves nothing elsewhere.

    A program that takes longer than `seconds` raises TimeoutExpired.
    """
    return subprocess.run(
        [*_command(program), *arguments],
        cwd=cwd,
        env={**os.environ, "HOME": str(cwd), "USERPROFILE": str(cwd), "CI": "1"},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def _command(program: str) -> Sequence[str | Path]:
    # npm has Node for some platforms; elsewhere it is the one on the path, 22 or later.
    found = shutil.which("node", path=MODULES / ".bin") or shutil.which("node")
    assert found is not None, "Node 22 or later is needed: put it on the path"
    return [found, MODULES / ".bin" / program]
