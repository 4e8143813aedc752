from collections import Counter

import pytest

from tests.serve.contracts.requirements import DIVERGENCES, MANIFEST, TESTS, proofs

KNOWN = {each.id for each in MANIFEST}
DIVERGED = {each.id for each in DIVERGENCES}


def claimed() -> set[str]:
    """Return the ids that tests claim; read on use, since every test process imports this."""
    return {each.id for each in proofs()}


def test_every_promise_has_one_id_a_source_and_a_text() -> None:
    assert [id for id, times in Counter(each.id for each in MANIFEST).items() if times > 1] == []
    assert [each.id for each in MANIFEST if not (each.source and each.text)] == []


@pytest.mark.whole
def test_every_promise_is_proved_by_a_test_or_named_as_a_divergence() -> None:
    assert sorted(KNOWN - claimed() - DIVERGED) == []


def test_every_promise_that_is_proved_is_proved_by_make_test() -> None:
    quickly = {each.id for each in proofs() if not each.is_left_out}
    assert sorted(claimed() - quickly) == []


@pytest.mark.whole
def test_no_test_claims_a_promise_that_is_not_in_the_manifest() -> None:
    assert sorted((each.id, each.test) for each in proofs() if each.id not in KNOWN) == []


def test_no_promise_is_proved_and_diverged_from_at_once() -> None:
    assert sorted(claimed() & DIVERGED) == []


def test_every_divergence_is_from_a_promise_and_says_why() -> None:
    assert sorted(DIVERGED - KNOWN) == []
    assert [each.id for each in DIVERGENCES if not each.why] == []
    assert len(DIVERGED) == len(DIVERGENCES)


def test_every_claim_stands_on_a_test() -> None:
    assert [each for each in proofs() if not each.test.lower().startswith("test")] == []
    assert TESTS.name == "tests"
