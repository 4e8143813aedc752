"""The protocol's own conformance suite, at both revisions, against our way of serving a contract."""

from pathlib import Path

import pytest

from tests.conformance.npm import needs_npm
from tests.conformance.suite import Check, checked, checked_one, findings, known

pytestmark = needs_npm

REVISIONS = ("2025-11-25", "2026-07-28")


def test_a_failing_and_a_warning_check_are_findings_and_others_are_not() -> None:
    statuses = ("SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO")
    checks = [Check("ping", status.lower(), status, "because") for status in statuses]
    assert findings(checks) == {
        "ping:failure": "FAILURE: because",
        "ping:warning": "WARNING: because",
    }


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_suite_finds_what_is_known_and_nothing_else(
    conforming: str, revision: str, tmp_path: Path
) -> None:
    found, expected = findings(checked(conforming, revision, tmp_path)), known(revision)
    names = {name for each in found for name in (each, each.partition(":")[0])}
    assert {
        each: told
        for each, told in found.items()
        if not {each, each.partition(":")[0]} & set(expected)
    } == {}
    assert set(expected) - names == set(), "take what is mended out of known.toml"


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_suite_sees_it_when_a_server_does_not_conform(
    conforming: str, revision: str, tmp_path: Path
) -> None:
    checks = checked_one(f"{conforming}/nowhere", revision, "tools-list", tmp_path)
    assert findings(checks)
