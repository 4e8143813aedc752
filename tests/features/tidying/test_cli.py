"""What a person at a terminal sees of what is to be tidied, and does about it."""

import json

from tests.terminal import Run


def test_what_is_found_is_listed_with_reasons_applied_undone_and_refused(run: Run) -> None:
    older = run("remember", "The retry limit is 3.").stdout.strip()
    newer = run("remember", "The retry limit is 5.").stdout.strip()
    dry = run("tidy", "--dry-run").stdout
    assert "1 suggestion would be new (contradiction 1). Nothing was written." in dry
    listed = run("tidy").stdout
    assert "1  contradiction: say otherwise than a newer one" in listed
    assert "“3” there, “5” here" in listed
    again = json.loads(run("tidy", "--json").stdout)
    assert (again["found"], again["counts"]) == ({}, {"contradiction": 1})
    (one,) = again["items"]
    assert [each["id"] for each in one["records"]] == [newer, older]
    assert run("tidy", "apply", "1", "--reason", "It was raised").exit_code == 0
    ended = json.loads(run("show", older, "--json").stdout)
    assert (ended["superseded_by"], ended["reason"]) == (newer, "It was raised")
    twice = run("tidy", "apply", "1", "7")
    assert twice.exit_code == 1
    assert "it is applied already" in twice.stderr
    assert "there is no suggestion 7; `minutebook tidy`" in twice.stderr
    assert run("tidy", "undo", "1").exit_code == 0
    assert "superseded_by" not in run("show", older).stdout
    assert run("tidy", "refuse", "1").exit_code == 0
    assert "refused by" in run("tidy", "show", "1").stdout
    assert "Nothing waits for you." in run("tidy").stdout
    agent = run("tidy", "undo", "1", "--role", "agent")
    assert (agent.exit_code, "a human may" in agent.stderr) == (1, True)


def test_status_and_doctor_tell_of_the_last_round_and_of_one_that_did_not_run(run: Run) -> None:
    for value in (3, 5):
        run("remember", f"The retry limit is {value}.")
    assert json.loads(run("status", "--json").stdout)["last_tidy"] is None
    run("settings", "set", "tidy_every", "24")
    late = "`tidy_every` is set, and nothing was looked at as it says: never."
    assert late in run("doctor").stdout
    assert "and did not run" in json.loads(run("status", "--json").stdout)["next_tidy"]
    run("tidy")
    state = json.loads(run("status", "--json").stdout)
    assert state["last_tidy"].endswith(": 1 new suggestion")
    assert state["tidy_waiting"] == {"contradiction": 1}
    assert "did not run" not in state["next_tidy"]
    assert late not in run("doctor").stdout


def test_proposals_and_what_agents_wrote_wait_in_the_same_list(run: Run) -> None:
    memory = run("remember", "Tea at four.").stdout.strip()
    listed = run("tidy", "--kind", "active")
    assert memory in listed.stdout
    assert f"{memory}  active" in run("tidy", "apply", memory).stdout
    shown = json.loads(run("show", memory, "--json").stdout)
    assert shown["status"] == "verified"
    refused = run("tidy", "refuse", memory)
    assert (refused.exit_code, "reason" in refused.stderr) == (1, True)
    assert run("tidy", "refuse", memory, "--reason", "Never so").exit_code == 0
    assert json.loads(run("show", memory, "--json").stdout)["status"] == "deprecated"
