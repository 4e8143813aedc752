"""The built-in summarizer: the same turns, the same account, and one that a reader would want."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.summarizer.extractive import summarize
from minutebook.features.summarizer.titles import phrases, title_of
from minutebook.memory.journal.summary_draft import MAX_TITLE, MAX_TITLE_WORDS, SummaryDraft
from minutebook.record.records import Category, Turn
from tests.examples import parametrize_in_part
from tests.store.samples import START, turn

Said = tuple[str, str, str]

LOGIN: list[Said] = [
    (
        "Hi! Our users report that login sometimes crashes with a 500. Can you find out why and fix it? The "
        "code is in src/auth/.",
        "Let me look at the middleware first. I should reproduce the crash before I change anything.",
        "I looked into src/auth/middleware.py. The request handler reads `request.cookies['sid']` without a "
        "default, so a request without the session cookie raises KeyError: 'sid'.\n\n```\n$ curl -i localhost\n"
        "KeyError: 'sid'\n```\n\nShall I treat a missing cookie as an anonymous session?",
    ),
    (
        "Yes, anonymous is right. Please add a test for it too.",
        "Need to edit the middleware and tests/test_login.py. pytest is used here.",
        "Done. In src/auth/middleware.py a missing cookie now yields an anonymous session, and I added "
        "tests/test_login.py. Running pytest gives 1 failed: sqlalchemy.exc.OperationalError: no such table.",
    ),
    (
        "It still fails on CI: OperationalError: database is locked",
        "Two workers share the same file.",
        "Each worker now gets a database of its own through tmp_path_factory, so the lock error is gone. All "
        "42 tests pass with `pytest -n 4`.",
    ),
    (
        "Great. Commit it.",
        "",
        'Committed as 3f2a91c: "Treat a missing session cookie as an anonymous session".',
    ),
]


def session(said: Sequence[Said]) -> list[Turn]:
    return [
        turn(str(n), response, prompt=prompt, thought=thought, at=START + timedelta(minutes=n))
        for n, (prompt, thought, response) in enumerate(said)
    ]


def account(said: Sequence[Said]) -> SummaryDraft:
    turns = session(said)
    return summarize(lambda: turns, len(turns))


def test_a_session_of_coding_is_told_so_that_one_need_not_read_it() -> None:
    told = account(LOGIN)
    assert told.title == "Login sometimes crashes with a 500"
    assert told.category is Category.BUGFIX
    assert "without a default" in told.summary
    assert "Committed as 3f2a91c" in told.summary
    assert "Files: src/auth/middleware.py, tests/test_login.py." in told.summary
    assert "KeyError (resolved)" in told.summary
    assert "OperationalError (resolved)" in told.summary
    assert "Shall I" not in told.summary
    assert {"python", "pytest", "sqlalchemy"} <= set(told.technologies)
    assert told.quality == 90
    assert told.reasons["quality"] == "3 of 3 errors resolved, tests passed, 1 corrections"


def test_sentences_stand_in_the_order_in_which_they_were_said() -> None:
    told = account(LOGIN).summary
    places = [
        told.index(part) for part in ("without a default", "missing cookie now yields", "Committed")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("said", "title", "summary"),
    [
        ([("", "", "")], "A session without words", "Nothing was said."),
        ([("hello", "", "hi")], "Hello", "hello"),
        ([("```\nx = 1\n```", "", "")], "X = 1", "x = 1"),
        ([("", "", "Cormorants dive for fish.")], "Cormorants dive for fish", "Cormorants dive for fish."),
        ([("请修复登录页面的崩溃问题。", "", "好的。")], "请修复登录页面的崩溃问题", "请修复登录页面的崩溃问题"),
    ],
)  # fmt: skip
def test_little_is_told_of_little(said: list[Said], title: str, summary: str) -> None:
    told = account(said)
    assert (told.title, told.summary) == (title, summary)


@pytest.mark.thorough
@parametrize_in_part(
    "said",
    [
        "a",
        "a.",
        "a/",
        "a.1",
        "-",
        "```\n",
        "[](",
        " ",
        "\n",
        "Error: ",
        "so ",
        "东",
        "😀",
        "\ud800",
        "\0",
    ],
    every=5,
)
def test_a_megabyte_of_anything_is_summarised(said: str) -> None:
    told = account([(said * (1_000_000 // len(said)), "", said * 1000)])
    assert told.title
    assert len(told.title) <= MAX_TITLE
    assert len(told.summary) < 5000


@pytest.mark.thorough
def test_a_long_session_is_told_in_few_sentences_of_all_its_parts() -> None:
    long = [
        (f"Add the report number {n} to f{n}.py", "", f"Added the report {n} to f{n}.py.")
        for n in range(200)
    ]
    told = account(long)
    assert len(told.summary) < 4000
    assert "and 196 more" in told.summary
    assert told.complexity > 60


def test_what_is_said_again_and_again_is_told_once() -> None:
    told = account([("Fix the oven.", "", "The oven is repaired now, it bakes bread.")] * 6)
    assert told.summary.count("bakes bread") == 1


def test_a_talk_without_a_request_is_named_by_a_sentence_of_it() -> None:
    talk = [
        ("We saw cormorants near the lighthouse today.", "", "Cormorants are lovely birds!"),
        ("The lighthouse was painted white.", "", "I painted a lighthouse once."),
        ("The cormorants were diving.", "", "They dive deep, cormorants."),
    ]
    assert account(talk).title in {prompt.rstrip(".") for prompt, *_ in talk}
    assert account(talk).category is Category.OTHER


@pytest.mark.parametrize(
    ("sentence", "title"),
    [
        ("Could you please fix the login page?", "Fix the login page"),
        (
            "Add a button which opens the dialog with all of the settings that we have.",
            "Add a button",
        ),
        (
            "Rename every one of the very many old functions of the module for billing",
            "Rename every one of the very many old functions",
        ),
        ("x" * 300, "X" + "x" * 98 + "…"),
        ("- [ ]", "[ ]"),
        ("!!!", "!!!"),
    ],
)
def test_a_title_is_cut_where_it_may_be(sentence: str, title: str) -> None:
    assert title_of(sentence) == title


@pytest.mark.parametrize(
    ("sentence", "title"),
    [
        (
            "Users report that checkout hangs when the cart has more than fifty items and one is out of stock.",
            "Checkout hangs when the cart has more than fifty items",
        ),
        (
            "Die Anmeldung wurde so geändert, dass nun jeder Benutzer ein Passwort mit zwölf Zeichen braucht.",
            "Die Anmeldung wurde so geändert",
        ),
        (
            "Untersuche bitte, warum unsere Cloud-Rechnung im Oktober um 40 Prozent gestiegen ist.",
            "Untersuche, warum unsere Cloud-Rechnung im Oktober um 40 Prozent gestiegen…",
        ),
        ("¿Puedes arreglar la página de pagos, por favor?", "Arreglar la página de pagos"),
        (
            "El servidor pierde la conexión con la base de datos cada noche a las tres.",
            "El servidor pierde la conexión",
        ),
    ],
)
def test_a_title_is_a_whole_phrase_in_each_language(sentence: str, title: str) -> None:
    assert title_of(sentence) == title


def test_a_german_sentence_is_not_cut_before_a_preposition_where_its_verb_would_be_lost() -> None:
    sentence = "Der nächtliche Export hat in der letzten Version die Umlaute der Kunden verloren."
    assert list(phrases(sentence)) == []


def test_what_was_taken_back_is_not_repeated() -> None:
    told = account(
        [
            ("How slow is checkout? Please measure it.", "", "The p99 is 310 ms on staging."),
            ("Really?", "", "Correction: the p99 is 190 ms, I had read the wrong column."),
        ]
    ).summary
    assert "310" not in told
    assert "190 ms" in told


def test_an_error_is_told_as_resolved_when_all_tests_pass_after_it() -> None:
    told = account(
        [
            ("Fix the import in a.py", "", "I see KeyError: 'sid'. Two tests still fail."),
            ("And now?", "", "All 42 tests pass, not one is skipped."),
        ]
    )
    assert "KeyError (resolved)" in told.summary
    assert told.category is Category.BUGFIX


TOOLS = "[Bash] pytest -x\n→ 3 failed, 40 passed\nNot sure yet."


def test_requests_head_what_came_of_them_and_what_is_open_ends_it() -> None:
    told = account(
        [
            (
                "Please move the nightly export to the new server.",
                TOOLS,
                "The export runs on the server kolibri since 14:10.",
            ),
            (
                "And the old cron job?",
                TOOLS,
                "It is switched off in ops/cron.txt. The old server is not deleted; that waits for Dana.",
            ),
        ]
    )
    # The title says the first request.
    assert told.title == "Move the nightly export to the new server"
    assert told.summary.splitlines() == [
        "The export runs on the server kolibri since 14:10.",
        "And the old cron job: It is switched off in ops/cron.txt.",
        "Open: The old server is not deleted; that waits for Dana.",
        "Files: ops/cron.txt.",
    ]  # fmt: skip


def test_the_recap_by_the_client_s_model_ends_what_is_told_if_nothing_was_said_since() -> None:
    recap = "[recap] Login is mended and committed. Next: deploy it."
    said = [*LOGIN[:-1], (*LOGIN[-1][:1], f"[Bash] git commit\n→ ok\n\n{recap}", LOGIN[-1][2])]
    told = account(said).summary.splitlines()
    ends = "Recap by the client's model: Login is mended and committed. Next: deploy it."
    assert [each for each in told if not each.startswith(("Files: ", "Errors met: "))][-1] == ends
    assert "Recap" not in account([*said, ("Deploy it", "", "Deployed to production.")]).summary
    long = account([("Go", f"[recap] {'word ' * 900}", "Gone.")])
    assert len(f"{long.title} {long.summary}".split()) <= 200


def test_of_files_those_are_told_that_a_tool_changed_without_the_folder_of_the_session() -> None:
    thought = (
        "[model m; folder /home/ana/shop; branch main]\n"
        '[Read] {"file_path": "/home/ana/shop/docs/prices.md"}\n→ 40 lines of prices.md\n'
        '[Edit] {"file_path": "/home/ana/shop/src/cart.py"}\n→ ok, as src/tax.py has it\n'
        "[apply_patch] *** Update File: src/tax.py\n→ ok"
    )
    told = account(
        [("Load the rates once per cart.", thought, "The rates are loaded once per cart.")]
    )
    assert told.summary.splitlines()[-1] == "Files: src/tax.py, src/cart.py."


def test_an_error_that_the_session_left_behind_is_not_open() -> None:
    report = ("Build the features.", "", "The build raises MemoryError: 31 GiB.")
    work = [
        ("Use DuckDB.", "", f"The build is changed and needs {n} minutes.") for n in range(3, 6)
    ]
    assert "MemoryError (resolved)" in account([report, *work]).summary
    assert "MemoryError: 31 GiB (open)" in account([report, work[0]]).summary


def test_items_of_a_list_are_told_as_sentences() -> None:
    response = "Two things are changed:\n\n- the worker sends the key of the delivery\n- the delay grows up to 6 hours"
    told = account([("Mend the retries of the worker.", "", response)]).summary
    assert "the worker sends the key of the delivery. the delay grows up to 6 hours." in told


def test_thoughts_and_uses_of_tools_are_not_told() -> None:
    told = account(
        [("How many rows are there?", TOOLS, "There are 4,120 rows in the table orders.")]
    )
    assert "4,120" in told.summary
    assert not {"pytest", "failed", "sure"} & set(told.summary.split())


words = st.sampled_from(
    ["Fix", "the", "bug.", "a.py", "KeyError: 'a'", "still fails", "Fixed.", "please", "\n", "```", "東京。", "- ", "and", "?"]
)  # fmt: skip
texts = (st.lists(words, max_size=30).map(" ".join)) | st.text(max_size=60)
sessions = st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=5)


@given(sessions)
def test_every_account_keeps_to_its_form_and_is_the_same_each_time(said: list[Said]) -> None:
    told = account(said)
    assert told.title.strip()
    assert len(told.title.split()) <= MAX_TITLE_WORDS
    assert len(told.title) <= MAX_TITLE
    assert "\n" not in told.title
    assert told.summary.strip()
    assert len(told.summary.split("Files: ")[0].split("Errors met: ")[0].split()) <= 200
    assert len(told.technologies) == len(set(told.technologies))
    for name in ("quality", "productivity", "impact", "complexity"):
        assert 0 <= getattr(told, name) <= 100
        assert told.reasons[name]
    assert told == account(said)


@given(sessions)
def test_who_else_was_there_changes_nothing(said: list[Said]) -> None:
    turns = [replace(each, author="someone", user="u") for each in session(said)]
    assert summarize(lambda: turns, len(turns)) == account(said)


def test_a_question_by_the_way_is_not_told() -> None:
    said = [
        ("Move the backups of the servers to the box.", "", "The backups go to the storage box now."),
        ("Which port has SMTP over TLS?", "", "465, or 587 with STARTTLS."),
        ("How long are the backups kept?", "", "The backups are kept for 14 days."),
        ("Keep them in the box for 30 days.", "", "The storage box keeps them 30 days. A restore is not tried yet."),
    ]  # fmt: skip
    told = account(said).summary
    assert "STARTTLS" not in told
    assert told.endswith("Open: A restore is not tried yet.")
