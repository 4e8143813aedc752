"""The Inspector's command line, a client that others wrote, at each contract."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from minutebook.serve.contracts.registry import CONTRACTS
from tests.conformance.first_calls import FIRST_CALLS
from tests.conformance.npm import needs_npm, ran

pytestmark = [needs_npm, pytest.mark.thorough]

ERAS = ("legacy", "modern")
VISITS = [
    pytest.param(
        name, era, marks=[] if (name, era) == ("knowledge", "legacy") else [pytest.mark.slow]
    )
    for name in CONTRACTS
    for era in ERAS
]
"""Every contract in both ages of the protocol, all but one of them slow."""


def inspected(scratch: Path, target: tuple[str, ...], *options: str) -> Mapping[str, Any]:
    """Ask the Inspector to connect and do one thing; what it was answered."""
    outcome = ran(
        "inspector", "--cli", "--format", "json", *options, *target, cwd=scratch, seconds=60
    )
    assert outcome.returncode == 0, outcome.stderr[-2000:]
    answer: dict[str, Any] = json.loads(outcome.stdout)
    result: dict[str, Any] = answer["result"]
    return result


def check(scratch: Path, contract: str, target: tuple[str, ...], era: str) -> None:
    """Let it list the tools, object to no schema, and call one."""
    told = ("--protocol-era", era)
    listed = inspected(scratch, target, *told, "--method", "tools/list", "--strict")
    promised = [tool.name for tool in CONTRACTS[contract]().tools.values() if tool.is_listed]
    assert [tool["name"] for tool in listed["tools"]] == promised
    tool, arguments = FIRST_CALLS[contract]
    given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
    called = inspected(scratch, target, *told, "--method", "tools/call", *given)
    assert not called.get("isError"), called


@pytest.mark.slow
@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_inspector_lists_and_calls_over_stdio(
    shared_home: str, contract: str, tmp_path: Path
) -> None:
    command = (sys.executable, "-m", "minutebook", "serve", contract, "--home", shared_home)
    check(tmp_path, contract, command, "legacy")


@pytest.mark.parametrize(("contract", "era"), VISITS)
def test_the_inspector_lists_and_calls_over_http(
    minutebook: str, contract: str, era: str, tmp_path: Path
) -> None:
    check(tmp_path, contract, (f"{minutebook}/mcp/{contract}", "--transport", "http"), era)
