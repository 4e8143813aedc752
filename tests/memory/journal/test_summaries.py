"""Sessions are summarised by whoever can, kept, paged, found and forgotten."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minutebook.config import stores
from minutebook.memory.journal.summaries import SUMMARIZE
from minutebook.record.caller import Call, Caller
from minutebook.record.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    StoreBusy,
    Unanswered,
)
from minutebook.record.records import Category, Kind, Role, Summary, Turn
from tests.chat_service import ChatService, completed
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World, failed, worlds

AGENT = Caller(name="robot", role=Role.AGENT, call=Call(session="own"))
ANSWER: dict[str, Any] = {
    "title": "Fix the login crash",
    "summary": "The session cookie was read without a default.",
    "category": "bugfix",
    "quality": 90,
    "productivity": 80,
    "impact": 40,
    "complexity": 30,
    "technologies": ["Python", "pytest", "python"],
}


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[Opener]:
    with worlds(tmp_path) as opened:
        yield opened


@pytest.fixture
def world(opener: Opener) -> World:
    return opener(caller=AGENT)


def converse(world: World, session: str, turns: int = 2, **caller: object) -> None:
    """Say something in a session, a second after the last."""
    for number in range(turns):
        world.clock.turn()
        world.app.sessions.add(
            world.by(**caller).caller,
            session,
            f"Fix the crash number {number} in src/login.py",
            "Reproduce it first",
            f"Fixed crash {number} of {session} in src/login.py; all tests pass",
        )


def summarized(world: World, session: str = "s", **caller: object) -> Summary:
    (summary,) = world.app.summaries.summarize(world.by(**caller).caller, session)
    return summary


class Model:
    """A client's model that gives these answers, one after the other, and keeps what it was asked."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, str, int]] = []

    def __call__(self, system: str, prompt: str, tokens: int) -> str:
        self.asked.append((system, prompt, tokens))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else json.dumps(answer)


# The built-in summarizer


def test_a_session_is_summarised_by_the_built_in_summarizer_which_names_itself(
    world: World,
) -> None:
    converse(world, "s", 3)
    world.clock.turn()
    summary = summarized(world)
    assert (summary.id, summary.session, summary.turn_count) == ("summary_s", "s", 3)
    assert summary.at == world.clock.now
    assert summary.made_by == "built-in extractive summarizer"
    assert summary.reasons["made_by"] == summary.made_by
    assert summary.category is Category.BUGFIX
    assert "python" in summary.technologies
    assert "src/login.py" in summary.summary
    assert set(summary.reasons) == {
        "made_by", "category", "quality", "productivity", "impact", "complexity",
    }  # fmt: skip
    assert world.app.summaries.summary_of(world.app.sessions.all(world.caller)[0]) == summary


def test_the_same_turns_have_the_same_summary_with_and_without_a_model(opener: Opener) -> None:
    told = []
    for embedding, name in ((None, "with"), (failed(), "without")):
        world = opener(embedding, name=name, caller=AGENT)
        converse(world, "s", 5)
        told.append(replace(summarized(world), at=world.clock.now, last_turn=""))
        world.clock.turn(-5)
    assert replace(told[0], at=told[1].at) == told[1]


def test_an_unknown_session_is_not_found(world: World) -> None:
    with pytest.raises(NotFound) as refused:
        world.app.summaries.summarize(world.caller, "nowhere")
    assert (refused.value.kind, refused.value.id) == ("session", "nowhere")


def test_each_summary_is_entered_on_the_trail_and_has_its_vector(world: World) -> None:
    converse(world, "s")
    summarized(world)
    summarized(world)
    entries = world.entries("summary_s")
    assert [entry.act for entry in entries] == [SUMMARIZE, SUMMARIZE]
    assert entries[0].before == ""
    assert entries[1].before == entries[0].after
    assert world.store.vectors(Summary, "default", "summary_s") is not None


# In batch


def test_in_batch_each_session_but_the_connections_own_is_summarised_once(world: World) -> None:
    for session in ("a", "b", "own"):
        converse(world, session)
    batch = world.app.summaries.summarize_all(world.caller)
    assert [each.session for each in batch.done] == ["a", "b"]
    assert batch.failed == []
    assert world.app.summaries.summarize_all(world.caller).done == []
    assert [each.session for each in world.app.summaries.summarize(world.caller, "own")] == ["own"]


def test_a_session_that_grew_is_summarised_again(world: World) -> None:
    converse(world, "a")
    converse(world, "b")
    world.app.summaries.summarize_all(world.caller)
    converse(world, "a", 1)
    (again,) = world.app.summaries.summarize_all(world.caller).done
    assert (again.session, again.turn_count) == ("a", 3)
    assert world.app.summaries.page(world.caller, 9, 0).total == 2


def test_a_session_whose_last_turn_is_another_is_summarised_again(world: World) -> None:
    converse(world, "a")
    world.app.summaries.summarize_all(world.caller)
    last = world.app.sessions.page(world.caller, "a", 9, 0).turns[-1]
    world.store.delete(Turn, "default", last.id)
    converse(world, "a", 1)
    assert [each.session for each in world.app.summaries.summarize_all(world.caller).done] == ["a"]


def test_one_session_that_fails_is_told_and_stops_no_other(world: World) -> None:
    for session in ("a", "b", "c"):
        converse(world, session)
    held = next(s for s in world.app.sessions.all(world.caller) if s.name == "b")
    with world.app.infrastructure.locks.hold(f"summary\0default\0{held.summary_id}"):
        batch = world.app.summaries.summarize_all(world.caller)
        with pytest.raises(Conflict):
            world.app.summaries.summarize(world.caller, "b")
    assert [each.session for each in batch.done] == ["a", "c"]
    ((session, error),) = [(each.session.name, each.error) for each in batch.failed]
    assert session == "b"
    assert isinstance(error, Conflict)
    assert [each.session for each in world.app.summaries.summarize_all(world.caller).done] == ["b"]


def test_a_store_that_cannot_be_written_fails_each_session_by_itself(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "WRITER_WAIT", 0.05)
    world = opener(caller=AGENT)
    converse(world, "a")
    other = opener(caller=AGENT)
    holding, release = threading.Event(), threading.Event()

    def hold() -> None:
        with other.app.infrastructure.store.transaction("default"):
            holding.set()
            release.wait(60)

    writer = threading.Thread(target=hold)
    writer.start()
    holding.wait(60)
    try:
        # The caller is judged without a write; only the summary itself cannot be kept.
        batch = world.app.summaries.summarize_all(world.caller)
    finally:
        release.set()
        writer.join()
    assert batch.done == []
    assert [type(each.error) for each in batch.failed] == [StoreBusy]


def test_progress_is_told_and_the_listener_can_end_it_and_what_was_made_stays(
    world: World,
) -> None:
    for session in ("a", "b", "c", "d"):
        converse(world, session)
    heard: list[tuple[float, str]] = []

    def progress(part: float, what: str) -> None:
        if what == "c":
            raise Conflict(what, "cancelled")
        heard.append((part, what))

    with pytest.raises(Conflict):
        world.app.summaries.summarize_all(world.by(progress=progress).caller)
    assert heard == [(0.0, "a"), (0.25, "b")]
    rest = world.app.summaries.summarize_all(world.caller)
    assert [each.session for each in rest.done] == ["c", "d"]


def test_a_kill_in_the_middle_loses_no_summary_that_was_made(
    opener: Opener, tmp_path: Path
) -> None:
    world = opener(failed(), caller=AGENT)
    for number in range(12):
        converse(world, f"s{number:02}")
    world.app.close()
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.memory.summarizing", str(tmp_path / "one")],
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    made = [child.stdout.readline() for _ in range(3)]
    child.kill()
    child.wait()
    child.stdout.close()
    assert all(made)
    again = opener(failed(), caller=AGENT)
    kept = again.app.summaries.page(again.caller, 99, 0).total
    assert 3 <= kept <= 12
    rest = again.app.summaries.summarize_all(again.caller)
    assert len(rest.done) == 12 - kept
    assert again.app.summaries.page(again.caller, 99, 0).total == 12
    assert again.app.infrastructure.store.upkeep.check() == []


# Whose it is


def test_one_name_in_two_scopes_is_two_sessions_with_a_summary_each(world: World) -> None:
    converse(world, "s", organization="acme")
    converse(world, "s", organization="acme", user="ana")
    converse(world, "s", organization="acme", user="bo")
    done = world.app.summaries.summarize_all(world.by(organization="acme").caller).done
    assert len({each.id for each in done}) == 3
    assert [(each.user, each.turn_count) for each in done] == [(None, 2), ("ana", 2), ("bo", 2)]
    ana = world.by(organization="acme", user="ana").caller
    seen = world.app.summaries.page(ana, 9, 0)
    assert {each.user for each in seen.summaries} == {None, "ana"}
    assert seen.total == 2


def test_a_summary_of_a_user_never_takes_the_place_of_one_for_all(world: World) -> None:
    converse(world, "s", user="ana")
    mine = summarized(world, user="ana")
    converse(world, mine.id.removeprefix("summary_"))
    converse(world, mine.id)
    ids = {each.id for each in world.app.summaries.summarize_all(world.caller).done}
    assert mine.id not in ids
    assert world.store.get(Summary, "default", mine.id) == mine


def test_a_viewer_neither_summarises_nor_forgets(world: World) -> None:
    converse(world, "s")
    viewer = world.by(role=Role.VIEWER).caller
    acts: list[Callable[[], object]] = [
        lambda: world.app.summaries.summarize(viewer, "s"),
        lambda: world.app.summaries.summarize_all(viewer),
        lambda: world.app.summaries.delete_all(viewer),
    ]
    for act in acts:
        with pytest.raises(Forbidden):
            act()
    assert [e.outcome for e in world.trail() if e.subject_kind is Kind.SUMMARY] == ["Forbidden"] * 3
    assert world.app.summaries.page(viewer, 9, 0).total == 0


def test_an_agent_forgets_its_own_summaries_a_human_all_and_the_turns_stay(world: World) -> None:
    converse(world, "a")
    summarized(world, "a")
    converse(world, "b")
    summarized(world, "b", name="other")
    gone = world.app.summaries.delete_all(world.caller)
    assert (gone.deleted, gone.kept) == (1, 1)
    gone = world.app.summaries.delete_all(world.by(role=Role.HUMAN, name="ann").caller)
    assert (gone.deleted, gone.kept) == (1, 0)
    assert world.app.summaries.page(world.caller, 9, 0).total == 0
    assert world.app.sessions.page(world.caller, "a", 9, 0).total == 2
    assert [e.act for e in world.entries("*")] == ["delete_summaries"] * 2
    assert len(world.app.summaries.summarize_all(world.caller).done) == 2


# Pages and search


def test_pages_show_the_newest_first_and_one_category_where_one_is_asked_for(
    world: World,
) -> None:
    for number in range(5):
        converse(world, f"s{number}")
        summarized(world, f"s{number}")
    world.clock.turn()
    world.app.sessions.add(world.caller, "chat", "What a fine day", "", "Indeed it is")
    summarized(world, "chat")
    page = world.app.summaries.page(world.caller, 2, 0)
    assert ([each.session for each in page.summaries], page.total) == (["chat", "s4"], 6)
    page = world.app.summaries.page(world.caller, 9, 4)
    assert [each.session for each in page.summaries] == ["s1", "s0"]
    page = world.app.summaries.page(world.caller, 9, 0, Category.OTHER)
    assert ([each.session for each in page.summaries], page.total) == (["chat"], 1)


def test_summaries_are_found_by_what_the_session_was_about(world: World) -> None:
    converse(world, "login")
    world.app.sessions.add(
        world.caller, "birds", "Compare cormorants and herons", "", "Cormorants dive; herons wade"
    )
    world.app.summaries.summarize_all(world.caller)
    found = world.app.journal_search.summaries(world.caller, "cormorants", 9)
    assert found[0].record.session == "birds"
    assert found[0].distance is not None
    only = world.app.journal_search.summaries(world.caller, "login", 9, Category.BUGFIX)
    assert [each.record.session for each in only] == ["login"]


# The client's model


def test_the_clients_model_is_asked_first_and_its_answer_kept(world: World) -> None:
    converse(world, "s")
    model = Model(ANSWER)
    summary = summarized(world, sample=model)
    assert summary.title == "Fix the login crash"
    assert (summary.category, summary.quality) == (Category.BUGFIX, 90)
    assert summary.technologies == ("python", "pytest")
    assert summary.made_by == "the client's model"
    ((system, prompt, tokens),) = model.asked
    assert "one JSON object" in system
    assert "Fix the crash number 0" in prompt
    assert tokens > 0


def test_an_answer_that_does_not_fit_is_mended_once(world: World) -> None:
    converse(world, "s")
    model = Model(
        {**ANSWER, "category": "misc"}, "Here it is:\n```json\n" + json.dumps(ANSWER) + "\n```"
    )
    assert summarized(world, sample=model).made_by == "the client's model"
    assert "category must be one of bugfix" in model.asked[1][1]


@pytest.mark.parametrize("answer", ["I cannot do that", {**ANSWER, "quality": 101}, "[]", ""])
def test_where_no_answer_fits_the_built_in_summarizer_stands_in_and_says_so(
    world: World, answer: object
) -> None:
    converse(world, "s")
    summary = summarized(world, sample=Model(answer, answer))
    assert summary.made_by == "built-in extractive summarizer"
    assert "answered twice what does not fit" in summary.reasons["made_by"]


def test_a_client_that_declines_is_not_asked_again_in_the_same_batch(world: World) -> None:
    for session in ("a", "b", "c"):
        converse(world, session)
    model = Model(Unanswered("the user declined"))
    batch = world.app.summaries.summarize_all(world.by(sample=model).caller)
    assert len(batch.done) == 3
    assert len(model.asked) == 1
    for summary in batch.done:
        assert "the user declined" in summary.reasons["made_by"]


@pytest.mark.thorough
def test_a_model_is_shown_a_bounded_part_of_a_long_session(world: World) -> None:
    for number in range(300):
        world.app.sessions.add(world.caller, "s", f"Prompt {number}", "t" * 500, "r" * 500)
    model = Model(ANSWER)
    summarized(world, sample=model)
    ((_, prompt, _),) = model.asked
    assert len(prompt) < 40_000
    assert "Prompt 0\n" in prompt
    assert "Prompt 299\n" in prompt
    assert "Turn 300 of 300" in prompt


# A service's model


def served(opener: Opener, service: ChatService, key: str | None = None) -> World:
    return opener(caller=AGENT, summary_url=service.url, summary_model="small", summary_key=key)


@requirement("journal/summarizing/endpoint")
@pytest.mark.needs("models")
def test_a_service_that_is_configured_is_asked_where_the_client_has_no_model(
    opener: Opener,
) -> None:
    with ChatService((200, completed(ANSWER))) as service:
        world = served(opener, service, "k3y")
        converse(world, "s")
        summary = summarized(world)
    assert (summary.title, summary.made_by) == ("Fix the login crash", "small")
    ((path, key, body),) = service.asked
    assert (path, key, body["model"]) == ("/v1/chat/completions", "Bearer k3y", "small")


@pytest.mark.needs("models")
def test_a_service_answers_for_a_client_that_declines(opener: Opener) -> None:
    with ChatService((200, completed(ANSWER))) as service:
        world = served(opener, service)
        converse(world, "s")
        summary = summarized(world, sample=Model(Unanswered("declined")))
    assert summary.made_by == "small"
    assert "the client's model gave no answer: declined" in summary.reasons["made_by"]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ((401, {"error": {"message": "bad key k3y"}}), "answered 401: bad key (key)"),
        ((200, b"<html>"), "answered what is not a completion"),
        ((200, {"choices": []}), "answered what is not a completion"),
        ((200, {"choices": [{"message": {"content": None}}]}), "what is not a completion"),
    ],
)
@pytest.mark.needs("models")
def test_where_the_service_gives_nothing_the_built_in_one_stands_in_and_says_why(
    opener: Opener, reply: tuple[int, object], told: str
) -> None:
    with ChatService(reply) as service:
        world = served(opener, service, "k3y")
        for session in ("a", "b"):
            converse(world, session)
        batch = world.app.summaries.summarize_all(world.caller)
    for summary in batch.done:
        assert summary.made_by == "built-in extractive summarizer"
        assert told in summary.reasons["made_by"]
    assert len(service.asked) == 1


@pytest.mark.needs("models")
def test_a_service_that_is_not_there_holds_nothing_up(opener: Opener) -> None:
    with ChatService() as gone:
        url = gone.url
    world = opener(caller=AGENT, summary_url=url, summary_model="small")
    converse(world, "s")
    assert "cannot be reached" in summarized(world).reasons["made_by"]


@pytest.mark.needs("models")
def test_a_service_needs_the_name_of_its_model(opener: Opener) -> None:
    with pytest.raises(InvalidInput) as refused:
        opener(summary_url="http://localhost:1/v1")
    assert refused.value.argument == "summary_url"
