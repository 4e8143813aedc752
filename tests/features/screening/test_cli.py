"""What a person at a terminal hears of secrets: as they write one, and of those that are kept."""

import json
from random import Random

import pytest

from benchmarks.secret_samples import filled
from tests.terminal import Run

TEXT, (SECRET,) = filled("The deploy key is {{GitLab deploy token}}", Random(1))


@pytest.mark.needs("audit_proof")
def test_secrets_are_told_of_found_and_replaced_with_a_reason(run: Run) -> None:
    kept = run("remember", TEXT)
    assert kept.exit_code == 0
    assert "GitLab deploy token in content" in kept.stderr
    assert SECRET not in kept.stderr
    found = run("scan", "--json")
    assert found.exit_code == 1
    (left,) = json.loads(found.stdout)["left"]
    assert (left["secret"], left["field"]) == ("GitLab deploy token", "content")
    assert SECRET not in found.output + run("scan").output
    for wrong in (["--mask"], ["--mask", "--reason", " "], ["--reason", "r"]):
        refused = run("scan", *wrong)
        assert (refused.exit_code, "--reason" in refused.stderr) == (1, True)
    done = run("scan", "--mask", "--reason", "it was pasted")
    assert done.exit_code == 0
    assert "Revoke" in done.stdout
    assert run("scan").output == "No secrets were found.\n"
    id = kept.stdout.strip()
    assert "[secret: GitLab deploy token]" in run("show", id).stdout
    assert "it was pasted" in run("audit", "--act", "mask", "--json").stdout


def test_what_is_masked_at_once_is_told_too(run: Run) -> None:
    run("settings", "set", "redact", "mask")
    kept = run("remember", TEXT)
    assert "masked before anything was kept: GitLab deploy token in content" in kept.stderr
    assert run("scan").exit_code == 0
