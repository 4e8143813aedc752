"""What is counted in a session, and the category and scores that follow by rule."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.summarizer.session_facts import (
    SessionFacts,
    category_of,
    complexity_of,
    impact_of,
    is_request,
    productivity_of,
    quality_of,
    read_part,
    session_facts,
    without_politeness,
)
from minutebook.record.records import Category, Turn
from tests.store.samples import START, turn

Said = tuple[str, str]
SCORES = (quality_of, productivity_of, impact_of, complexity_of)


def session(*said: Said) -> list[Turn]:
    """Turns of prompts and responses."""
    return [
        turn(str(n), response, prompt=prompt, thought="", at=START + timedelta(minutes=n))
        for n, (prompt, response) in enumerate(said)
    ]


def seen(*said: Said) -> SessionFacts:
    return session_facts(session(*said))


def errors(*said: Said) -> list[tuple[str, bool]]:
    return [(each.text, each.resolved) for each in seen(*said).errors]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([("It raises KeyError: 'sid'", "Let me look")], [("KeyError: 'sid'", False)]),
        ([("It raises KeyError: 'sid'", "Fixed it")], [("KeyError: 'sid'", True)]),
        ([("KeyError: 'sid'", "It is not fixed yet")], [("KeyError: 'sid'", False)]),
        (
            [("KeyError: 'sid'", "Fixed"), ("It still fails", "I see")],
            [("KeyError: 'sid'", False)],
        ),
        ([("KeyError: 'sid'", "Try this"), ("It works now", "")], [("KeyError: 'sid'", True)]),
        (
            [("", "I fixed the KeyError: 'sid' with a default")],
            [("KeyError: 'sid' with a default", True)],
        ),
        ([("Raise a ValueError for negative input", "")], []),
        (
            [("it gives error[E0382]: borrow of moved value", "")],
            [("error[E0382]: borrow of moved value", False)],
        ),
        ([("", "2 failed, 40 passed")], [("2 failed", False)]),
        ([("", "0 failed, 42 passed")], []),
        (
            [("", "psycopg.errors.DeadlockDetected: deadlock detected")],
            [("DeadlockDetected: deadlock detected", False)],
        ),
        ([("exit code 137", "")], [("exit code 137", False)]),
        ([("Handle errors well", "The error page is nice")], []),
    ],
)
def test_errors_are_met_and_end(said: list[Said], expected: list[tuple[str, bool]]) -> None:
    assert errors(*said) == expected


def test_an_error_is_one_however_often_it_is_told() -> None:
    told = ("TimeoutError: after 30 s", "TimeoutError: after 31 s")
    assert errors(told, told) == [("TimeoutError: after 30 s", False)]


def test_files_are_told_the_most_named_first() -> None:
    facts = seen(("see b.py", "a.py and b.py"), ("", "b.py, docs/c.md"))
    assert facts.files == ("b.py", "a.py", "docs/c.md")
    assert facts.folders == 2
    assert facts.technologies == ("python",)


def test_words_of_every_day_are_technologies_only_beside_others() -> None:
    assert seen(("we travelled with Rust and Swift", "")).technologies == ()
    assert seen(("port main.rs to Swift", "")).technologies == ("rust", "swift")


@pytest.mark.parametrize(
    ("prompt", "category"),
    [
        ("Please fix the crash when a.py has no user", Category.BUGFIX),
        ("Add a dark mode option to settings.tsx", Category.FEATURE),
        ("Refactor billing.py: extract the tax rules", Category.REFACTORING),
        ("Write a tutorial for the README.md", Category.DOCUMENTATION),
        ("Create a new CLI app from scratch in Rust", Category.NEW_APP),
        ("Compare SQLite and DuckDB, with benchmarks", Category.ANALYSIS),
        ("Explain how photosynthesis works", Category.ANALYSIS),
        ("I had a lovely day at the beach", Category.OTHER),
        ("My sister fixed her bike and wrote a book", Category.OTHER),
        ("", Category.OTHER),
    ],
)
def test_the_category_is_that_for_which_most_speaks(prompt: str, category: Category) -> None:
    chosen, why = category_of(seen((prompt, "")))
    assert (chosen, bool(why)) == (category, True)


def test_a_session_that_begins_with_an_error_mends_it_whatever_else_is_done() -> None:
    facts = seen(
        ("The login page is blank. Can you find out why?", "KeyError: 'csrf' in auth/session.py"),
        ("Please see to it", "Done: session.py reads the token by .get()."),
        ("Also document the setting", "Added a section to README.md."),
    )
    assert category_of(facts)[0] is Category.BUGFIX


def test_work_that_ended_well_scores_higher_than_work_that_did_not() -> None:
    well = seen(("Fix KeyError: 'a' in a.py", "Fixed a.py; all 9 tests pass. Committed."))
    badly = seen(
        ("Fix KeyError: 'a' in a.py", "I tried"), ("That's wrong, it still fails", "Sorry")
    )
    assert quality_of(well).value == 100
    assert quality_of(badly).value < 50
    assert productivity_of(well).value > productivity_of(badly).value
    assert impact_of(well).value > impact_of(badly).value


def test_what_is_longer_and_broader_is_more_complex() -> None:
    short = seen(("Fix a.py", "Done"))
    long = seen(*[(f"Fix f{n}.py and g{n}.rs", f"ValueError: {n}x") for n in range(20)])
    assert complexity_of(long).value > complexity_of(short).value


texts = st.lists(
    st.sampled_from(
        [
            "Fix it.",
            "a.py",
            "KeyError: 'a'",
            "still fails",
            "Fixed.",
            "all tests pass",
            "React",
            "\n",
            "東京",
            "pip install x",
        ]
    )
    | st.text(max_size=20),
    max_size=6,
).map(" ".join)


@given(st.lists(st.tuples(texts, texts), max_size=6))
def test_every_score_lies_between_0_and_100_and_says_why(said: Sequence[Said]) -> None:
    facts = seen(*said)
    for score in SCORES:
        assert 0 <= score(facts).value <= 100
        assert score(facts).reason
    assert category_of(facts)[0] in Category
    assert 0 <= facts.resolved <= len(facts.errors)
    assert facts == seen(*said)


@pytest.mark.parametrize(
    ("polite", "plain"),
    [
        ("Could you please fix it?", "fix it?"),
        ("Hi! Now let's add a test", "add a test"),
        ("- I want you to rename x", "rename x"),
        ("2. Please update a.py", "update a.py"),
        ("Fix it", "Fix it"),
    ],
)
def test_a_request_is_one_however_politely_it_is_made(polite: str, plain: str) -> None:
    assert is_request(polite)
    assert without_politeness(polite) == plain


def test_what_only_begins_like_a_polite_word_is_kept() -> None:
    assert without_politeness("Sorry, I misread it") == "Sorry, I misread it"


def test_a_need_is_a_request_too() -> None:
    assert is_request("We need full-text search in the notes app.")
    assert not is_request("I need to tell you something")


@pytest.mark.parametrize("said", ["The fix works", "I fixed it", "Additional notes", ""])
def test_what_asks_for_nothing_is_no_request(said: str) -> None:
    assert not is_request(said)


def test_of_a_very_long_text_the_beginning_and_the_end_are_read() -> None:
    read = read_part("a" * 50_000 + "b" * 50_000)
    assert len(read) < 20_010
    assert read.startswith("aaa")
    assert read.endswith("bbb")
