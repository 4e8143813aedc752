"""The protocol's own conformance suite, at both revisions, against our way of serving a contract."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from minutebook.serve.contracts.registry import CONTRACTS
from tests.conformance.npm import needs_npm
from tests.conformance.suite import Check, checked, checked_extension, checked_one, findings, known

pytestmark = [needs_npm, pytest.mark.thorough]

SESSIONS, REQUESTS = REVISIONS = ("2025-11-25", "2026-07-28")

SHORT = [
    (SESSIONS, "tools-call-sampling"),
    (SESSIONS, "dns-rebinding-protection"),
    (REQUESTS, "server-stateless"),
    (REQUESTS, "http-header-validation"),
    (REQUESTS, "input-required-result-request-state"),
]
"""A few scenarios that between them go most ways through the server."""

PLAIN = {
    SESSIONS: {"server-initialize", "ping", "server-session-lifecycle"},
    REQUESTS: {"input-required-result-unsupported-methods", "server-stateless"},
}
PLAIN_AT_BOTH = {"tools-list", "dns-rebinding-protection", "server-sse-multiple-streams"}
"""Scenarios that want no tool, resource or prompt of their own."""

OF_RESOURCES = {
    SESSIONS: {"resources-list", "completion-complete"},
    REQUESTS: {
        *("resources-list", "completion-complete"),
        *("caching", "sep-2164-resource-not-found"),
    },
}
"""Scenarios that want resources, whichever."""

UNTESTABLE = "FAILURE: Not testable:"
"""How the suite says that a server lacks a tool which it has for the suite alone."""


def unknown(checks: Iterable[Check], revision: str) -> dict[str, str]:
    """Return the findings that `known.toml` does not name."""
    expected = known(revision)
    return {
        name: told
        for name, told in findings(checks).items()
        if not {name, name.partition(":")[0]} & set(expected)
    }


def test_a_failing_and_a_warning_check_are_findings_and_others_are_not() -> None:
    statuses = ("SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO")
    checks = [Check("ping", status.lower(), status, "because") for status in statuses]
    assert findings(checks) == {
        "ping:failure": "FAILURE: because",
        "ping:warning": "WARNING: because",
    }


@pytest.mark.parametrize(("revision", "scenario"), SHORT)
def test_the_suite_finds_nothing_in_a_few_scenarios(
    conforming: str, revision: str, scenario: str, tmp_path: Path
) -> None:
    assert unknown(checked_one(conforming, revision, scenario, tmp_path), revision) == {}


def test_the_suite_sees_it_when_a_server_does_not_conform(conforming: str, tmp_path: Path) -> None:
    assert findings(checked_one(f"{conforming}/nowhere", REQUESTS, "tools-list", tmp_path))


@pytest.mark.parametrize("scenario", ["sep-2640-skills-enumeration", "sep-2640-skills-manifest"])
def test_the_suite_finds_nothing_in_how_the_skill_is_served(
    minutebook: str, scenario: str, tmp_path: Path
) -> None:
    checks = checked_extension(f"{minutebook}/mcp/knowledge", scenario, tmp_path)
    assert findings(checks) == {}
    assert len([each for each in checks if each.status == "SUCCESS"]) > 5


@pytest.mark.slow
@pytest.mark.parametrize("revision", REVISIONS)
def test_the_suite_finds_what_is_known_and_nothing_else(
    conforming: str, revision: str, tmp_path: Path
) -> None:
    checks = checked(conforming, revision, tmp_path)
    assert unknown(checks, revision) == {}
    found = {name for each in findings(checks) for name in (each, each.partition(":")[0])}
    assert set(known(revision)) - found == set(), "take what is mended out of known.toml"


@pytest.mark.slow
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("contract", CONTRACTS)
def test_each_contract_conforms_in_what_wants_no_tool_of_the_suite(
    minutebook: str, contract: str, revision: str, tmp_path: Path
) -> None:
    wanted = PLAIN[revision] | PLAIN_AT_BOTH
    promised = CONTRACTS[contract]()
    if promised.resources:
        wanted |= OF_RESOURCES[revision]
    if promised.prompts:
        wanted |= {"prompts-list"}
    checks = checked(f"{minutebook}/mcp/{contract}", revision, tmp_path)
    assert wanted <= {check.scenario for check in checks}
    found = unknown([check for check in checks if check.scenario in wanted], revision)
    assert {name: told for name, told in found.items() if not told.startswith(UNTESTABLE)} == {}
