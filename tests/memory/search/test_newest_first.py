"""The newest truth first: what revises an earlier hit stands above it, and the earlier one says so."""

import pytest

from minutebook.memory.search.combined import Ranked
from minutebook.memory.search.recall import WEIGHTS
from minutebook.model.service import Embedding
from minutebook.record.sources import TEXTS
from minutebook.text.answerability import LIKELY_FROM
from tests.features.ledger.decided import AGENT
from tests.world import Opener, World

PAIRS = [
    (
        "We deploy with Jenkins.",
        "We no longer use Jenkins; deploys run on GitHub Actions now.",
        "What do we deploy with?",
    ),
    (
        "The nightly backup keeps 7 copies.",
        "The backup was changed: 30 nightly copies are kept.",
        "How many copies does the nightly backup keep?",
    ),
    (
        "Das Lager ist in Bremen.",
        "Unser Lager befindet sich in Hannover.",
        "Wo ist das Lager?",
    ),
]
APART = [
    (
        "In staging the cache lives for one minute.",
        "In production the cache lives for one hour.",
        "How long does the cache live in staging?",
    ),
    (
        "The release train leaves on Monday.",
        "The canteen closes at two.",
        "When does the train leave?",
    ),
]


@pytest.fixture
def world(opener: Opener, built_in: Embedding) -> World:
    return opener(built_in, wait=60.0)


def told(world: World, query: str, tokens: int = 0) -> list[Ranked]:
    return world.app.combined.recall(AGENT, query, 10, WEIGHTS, TEXTS, tokens=tokens).results


def kept(world: World, older: str, newer: str) -> tuple[str, str]:
    first = world.remember(older)
    world.clock.turn(86400)
    return first, world.remember(newer)


@pytest.mark.parametrize(("older", "newer", "query"), PAIRS)
def test_a_correction_stands_above_what_it_corrects(
    world: World, older: str, newer: str, query: str
) -> None:
    old, new = kept(world, older, newer)
    found = told(world, query)
    assert [each.record.id for each in found[:2]] == [new, old]
    assert found[0].revised_by is None
    assert found[1].revised_by is not None
    assert found[1].revised_by.id == new


def test_the_contract_names_what_revises_a_hit_and_when(world: World) -> None:
    _, new = kept(world, *PAIRS[0][:2])
    first, second = world.call("recall", query=PAIRS[0][2])["results"]
    assert "revised_by" not in first
    assert second["revised_by"] == {"id": new, "at": first["at"]}


def test_a_correction_in_other_words_is_told_though_it_hardly_answers_by_itself(
    world: World,
) -> None:
    old, new = kept(
        world,
        "The product is called Lantern.",
        "Lantern has been renamed; customers know it as Beacon.",
    )
    for number in range(20):
        world.remember(f"The warehouse in bay {number} counts its pallets on Thursdays.")
    first, second, *_ = told(world, "What is the product called?")
    assert (first.record.id, second.record.id) == (new, old)
    assert 0.5 < first.relevance < second.relevance
    assert second.revised_by is not None
    assert second.revised_by.id == new


@pytest.mark.parametrize(("older", "newer", "query"), APART)
def test_what_is_about_something_else_is_not_marked(
    world: World, older: str, newer: str, query: str
) -> None:
    kept(world, older, newer)
    assert all(each.revised_by is None for each in told(world, query))


def test_a_later_text_on_another_subject_does_not_rise_above_the_answer(world: World) -> None:
    old, _ = kept(
        world,
        "Heron logs every sign-in with the country it came from.",
        "Somebody's sign-in mail came nine hours late, and Heron was blamed first.",
    )
    found = told(world, "What does Heron write down at each login?")
    assert (len(found), found[0].record.id) == (2, old)


@pytest.mark.parametrize(
    ("older", "newer", "query", "is_newer_first"),
    [
        (
            "Never log an email address in clear text; hash it first.",
            "Errors shown to customers say what to do next and never contain a stack trace.",
            "Who may see personal details?",
            False,
        ),
        (
            "The nightly backup keeps 7 copies.",
            "The backup was changed: 30 nightly copies are kept.",
            "What happens at night?",
            True,
        ),
    ],
)
def test_where_neither_likely_answers_only_what_is_likely_revised_stands_below(
    world: World, older: str, newer: str, query: str, is_newer_first: bool
) -> None:
    first, second = kept(world, older, newer)
    found = told(world, query)
    assert found[0].relevance < LIKELY_FROM
    assert found[0].record.id == (second if is_newer_first else first)


def test_the_order_of_writing_decides_not_the_order_of_the_words(world: World) -> None:
    newer, older, query = PAIRS[0]
    kept(world, older, newer)
    assert all(each.revised_by is None or each.text == older for each in told(world, query))


def test_where_the_budget_is_short_what_was_revised_falls_away_first(world: World) -> None:
    old, new = kept(world, *PAIRS[1][:2])
    world.remember("The nightly backup is written in Go.")
    ids = [each.record.id for each in told(world, PAIRS[1][2], tokens=90)]
    assert new in ids
    assert old not in ids


@pytest.mark.parametrize(
    ("older", "newer", "query"),
    [
        (
            "我們組的報告由我負責簡報。",
            "昨天討論完，簡報改由雅婷負責。",
            "現在報告由誰簡報？",
        ),
        ("健身房的月費是八百八十元。", "健身房從九月開始月費漲到一千元。", "健身房目前月費多少？"),
        ("会议室的密码是 2468。", "会议室密码已经换成 1357。", "会议室的密码是什么？"),
        ("我媽媽在銀行上班。", "媽媽上個月離開銀行，現在在出版社工作。", "媽媽現在在哪裡工作？"),
    ],
)
def test_where_a_script_has_no_spaces_words_are_what_the_model_s_pieces_are(
    world: World, older: str, newer: str, query: str
) -> None:
    _, second = kept(world, older, newer)
    assert told(world, query)[0].record.id == second


def test_of_two_subjects_in_chinese_neither_revises_the_other(world: World) -> None:
    first, _ = kept(world, "物理期末考在六月十二日。", "化學期末考在六月十九日。")
    found = told(world, "物理期末考是哪一天？")
    assert (found[0].record.id, found[0].revised_by) == (first, None)


@pytest.mark.parametrize(
    ("older", "newer", "query"),
    [
        ("Lena's desk is by the window.", "Lena's desk is next to the kitchen since the move.", "Where is Lena's desk now?"),
        ("我媽媽在銀行上班。", "媽媽上個月離開銀行，現在在出版社工作。", "媽媽現在在哪裡工作？"),
    ],
)  # fmt: skip
def test_of_what_was_said_in_a_talk_a_question_for_now_gets_the_newer_first(
    world: World, older: str, newer: str, query: str
) -> None:
    _, second = kept(world, f"Mei: {older}", f"Mei: {newer}")
    assert told(world, query)[0].record.id == second


def test_two_that_are_linked_are_not_told_as_a_revision(world: World) -> None:
    first, second = kept(world, *PAIRS[0][:2])
    assert any(each.revised_by is not None for each in told(world, PAIRS[0][2]))
    world.app.links.link(world.caller, first, second)
    assert all(each.revised_by is None for each in told(world, PAIRS[0][2]))
