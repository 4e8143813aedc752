"""The recall log: what is kept of a question, who reads it, and when it leaves."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from minutebook.features.catalog.contract import catalog
from minutebook.features.journal.contract import journal
from minutebook.features.ledger.contract import ledger
from minutebook.features.recall_log import recall_log
from minutebook.features.recall_log.recall_log import (
    LONGEST_QUESTION,
    MOST_GOT,
    MOST_PENDING,
    WRITTEN_AT_ONCE,
    RecallLog,
)
from minutebook.features.recall_log.rows import LoggedRecall, RecallQuery, RecallRows, ShownRecall
from minutebook.record.caller import with_call
from minutebook.record.errors import StoreBusy
from minutebook.record.origin import Origin
from minutebook.record.policy import Redact
from minutebook.record.records import MemoryType, Role, ScopeLevel
from minutebook.record.writing.drafts import Draft
from minutebook.serve.contracts.knowledge import knowledge
from tests.world import Opener, World


def asking(world: World, session: str = "s", client: str = "claude-code", **changes: Any) -> World:
    """The world as a client meets it, in a session."""
    origin = Origin(client=client, version="2", contract="knowledge", session=session)
    return replace(world, caller=with_call(replace(world.caller, **changes), origin=origin))


def logged(world: World, **conditions: Any) -> list[ShownRecall]:
    return world.app.get(RecallLog).entries(world.caller, **{"limit": 99, **conditions})


def ids(shown: ShownRecall) -> list[str]:
    return [record.id for record, _ in shown.got]


@pytest.fixture
def telling(opener: Opener) -> World:
    """A world whose log keeps the questions, too."""
    return opener(recall_log="questions")


def test_many_entries_are_written_a_few_at_a_time(
    telling: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    telling.remember("Tea at five")
    sizes = list[int]()
    write = RecallRows.write

    def noting(self: RecallRows, organization: str, entries: Sequence[LoggedRecall]) -> None:
        sizes.append(len(entries))
        write(self, organization, entries)

    monkeypatch.setattr(RecallRows, "write", noting)
    asked = 2 * WRITTEN_AT_ONCE + 1
    for number in range(asked):
        telling.call("recall", query=f"tea at {number}")
    assert len(logged(telling)) == asked
    assert sum(sizes) == asked
    assert max(sizes) <= WRITTEN_AT_ONCE


def test_a_question_is_logged_with_what_it_got_and_through_what(telling: World) -> None:
    tea = telling.remember("Tea at five")
    telling.remember("Bread at six")
    shape = asking(telling).call("recall", query="tea at five")
    first, *_ = logged(telling)
    entry = first.entry
    assert (entry.actor, entry.client, entry.contract) == (
        telling.caller.name,
        "claude-code",
        "knowledge",
    )
    assert (entry.act, entry.session, entry.question) == ("recall", "s", "tea at five")
    assert entry.at == telling.clock.now
    assert ids(first) == [each["id"] for each in shape["results"]]
    assert [score for _, score in first.got] == [
        pytest.approx(each["score"], abs=1e-3) for each in shape["results"]
    ]
    assert ids(first)[0] == tea


CALLS: dict[str, tuple[Any, dict[str, Any], int]] = {
    "search": (knowledge, {"query": "tea"}, 1),
    "search_text": (knowledge, {"query": "tea"}, 1),
    "recall": (knowledge, {"query": "tea"}, 1),
    "search_code": (knowledge, {"query": "tea"}, 0),
    "memory-search": (catalog, {"query": "tea"}, 1),
    "memory-vector-search": (catalog, {"query": "tea", "threshold": 0.0}, 1),
    "query_raw_memories": (journal, {"query": "tea"}, 1),
    "query_summaries": (journal, {"query": "tea"}, 0),
    "search_decisions": (ledger, {"query": "tea"}, 0),
}


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param(each, marks=pytest.mark.needs("code") if each == "search_code" else ())
        for each in CALLS
    ],
)
def test_each_tool_that_answers_questions_logs_them(telling: World, tool: str) -> None:
    telling.remember("Tea at five")
    telling.app.sessions.add(telling.caller, "talk", "Tea?", "", "At five.")
    contract, arguments, least = CALLS[tool]
    telling.speaking(contract()).call(tool, **arguments)
    (shown,) = logged(telling)
    assert (shown.entry.act, shown.entry.question) == (tool, "tea")
    assert len(shown.got) >= least


def test_the_text_of_a_question_is_kept_only_where_the_setting_says_so(opener: Opener) -> None:
    world = opener()
    tea = world.remember("Tea at five")
    asking(world).call("recall", query="tea")
    (shown,) = logged(world)
    assert shown.entry.question is None
    assert ids(shown) == [tea]


def test_nothing_is_kept_where_it_is_off(opener: Opener) -> None:
    world = opener(recall_log="off")
    world.remember("Tea at five")
    asking(world).call("recall", query="tea")
    assert logged(world) == []
    assert list(RecallRows(world.store.database).everything("default")) == []


def test_reads_are_chosen_by_session_client_and_memory(telling: World) -> None:
    tea, bread = telling.remember("Tea at five"), telling.remember("Bread at six")
    asking(telling, "one").call("search_text", query="tea")
    telling.clock.turn()
    asking(telling, "two", "cursor").call("search_text", query="bread")
    both = logged(telling)
    assert [each.entry.session for each in both] == ["two", "one"]
    assert logged(telling, sessions={"one"}) == both[1:]
    assert logged(telling, client="Cursor") == both[:1]
    memory = telling.app.memories.read(telling.caller, tea)
    assert logged(telling, record=memory) == both[1:]
    assert logged(telling, limit=1, offset=1) == both[1:]
    assert ids(both[0]) == [bread]


def test_a_memory_tells_how_often_and_by_whom_it_was_recalled(telling: World) -> None:
    tea = telling.remember("Tea at five")
    began = telling.clock.now
    for client, name in (("claude-code", "ana"), ("claude-code", "ana"), ("cursor", "bob")):
        asking(telling, client=client, name=name).call("search_text", query="tea")
        telling.clock.turn()
    uses = telling.app.get(RecallLog).uses(
        telling.caller, telling.app.memories.read(telling.caller, tea)
    )
    assert (uses.since, uses.total) == (began, 3)
    assert [(each.actor, each.client, each.count) for each in uses.counts] == [
        ("ana", "claude-code", 2),
        ("bob", "cursor", 1),
    ]
    assert uses.last == began + timedelta(seconds=2)


def bound(world: World, **scopes: Any) -> World:
    return asking(world, organization="acme", **scopes)


def test_nobody_reads_what_they_may_not_see(telling: World) -> None:
    """Who is held to a part reads their own questions; who reads all of one organization, its alone."""
    ana = bound(telling, name="ana", user="ana")
    bob = bound(telling, name="bob", user="bob")
    zoo = asking(telling, name="zoe", organization="zoo")
    whole = bound(telling, name="root")
    private = ana.remember("Tea of Ana", user_id="ana")
    zoo.remember("Tea of the zoo")
    for each in (ana, bob, zoo):
        each.call("search_text", query=f"tea by {each.caller.name}")
    assert [(e.entry.actor, ids(e)) for e in logged(ana)] == [("ana", [private])]
    assert [(e.entry.actor, ids(e)) for e in logged(bob)] == [("bob", [])]
    assert {each.entry.actor for each in logged(whole)} == {"ana", "bob"}
    assert {each.entry.actor for each in logged(zoo)} == {"zoe"}
    # Another with the same name and other scopes is another asker.
    impostor = bound(telling, name="ana", user="bob")
    assert logged(impostor) == []
    memory = ana.app.memories.read(ana.caller, private)
    assert ana.app.get(RecallLog).uses(ana.caller, memory).total == 1
    assert bob.app.get(RecallLog).uses(bob.caller, memory).counts == []


def test_a_viewer_of_an_organization_reads_their_own_questions_alone(telling: World) -> None:
    ana = bound(telling, name="ana", user="ana")
    viewer = bound(telling, name="vic", role=Role.VIEWER)
    private = ana.remember("Tea of Ana", user_id="ana")
    for each in (ana, viewer):
        each.call("search_text", query=f"tea of {each.caller.name}")
    assert [each.entry.question for each in logged(viewer)] == ["tea of vic"]
    memory = ana.app.memories.read(ana.caller, private)
    assert {
        each.actor for each in viewer.app.get(RecallLog).uses(viewer.caller, memory).counts
    } <= {"vic"}
    assert not viewer.app.get(RecallLog).may_read_all(viewer.caller)
    # Taken from the log by them, only theirs leave.
    with viewer.store.transaction("acme"):
        viewer.app.get(RecallLog).clear(viewer.caller, "acme")
    assert [each.entry.actor for each in logged(bound(telling, name="root"))] == ["ana"]


def test_who_asked_for_what_concerns_everybody_is_told_to_the_own_organization(
    telling: World,
) -> None:
    writer = replace(telling.caller, role=Role.ADMIN, writes_system=True)
    draft = Draft(content="Tea is for everybody", type=MemoryType.FACT, scope=ScopeLevel.SYSTEM)
    system = telling.app.memories.store(writer, draft).id
    acme, zoo = bound(telling, name="ana"), asking(telling, name="zoe", organization="zoo")
    acme.call("search_text", query="tea")
    (shown,) = logged(acme)
    assert ids(shown) == [system]
    assert logged(zoo) == []
    memory = zoo.app.memories.read(zoo.caller, system)
    assert zoo.app.get(RecallLog).uses(zoo.caller, memory).counts == []
    assert acme.app.get(RecallLog).uses(acme.caller, memory).total == 1


def test_what_was_forgotten_leaves_the_log_and_a_reset_all_of_it(telling: World) -> None:
    tea = telling.remember("Tea at five")
    asking(telling).call("search_text", query="tea")
    telling.app.get(RecallLog).flush()
    telling.call("delete_memory", id=tea)
    (shown,) = logged(telling)
    assert shown.entry.got == ()
    asking(telling).call("search_text", query="a secret word")
    telling.call("reset_all_memory", confirm=True)
    assert logged(telling) == []
    assert list(RecallRows(telling.store.database).everything("default")) == []


def test_a_memory_that_may_no_longer_be_seen_shows_no_more(telling: World) -> None:
    tea = telling.remember("Tea at five")
    asking(telling).call("search_text", query="tea")
    telling.app.memories.remove(telling.caller, tea)
    (shown,) = logged(telling)
    assert (shown.got, shown.entry.got) == ([], ())


def test_the_oldest_leave(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    world = opener(recall_log="questions")
    for number in range(3):
        asking(world).call("search_text", query=f"tea {number}")
        world.clock.turn()
    assert len(logged(world)) == 3
    world.clock.turn(30 * 86_400 - 1)
    asking(world).call("search_text", query="last")
    world.app.get(RecallLog).flush()
    # Another process looks at its first question for what is to leave.
    monkeypatch.setattr(recall_log, "MOST_KEPT", 3)
    log = RecallLog(world.app)
    log.note(world.caller, "search_text", "later", [])
    log.close()
    assert [each.entry.question for each in logged(world)] == ["later", "last", "tea 2"]


def test_what_is_kept_of_one_question_is_bounded_and_clean(telling: World) -> None:
    memory = telling.app.memories.read(telling.caller, telling.remember("Tea at five"))
    question = "a\0b\ud800" + "x" * 5000
    telling.app.note_answer(telling.caller, "recall", question, [(memory, 0.5)] * 100)
    (shown,) = logged(telling)
    assert shown.entry.question == ("a\ufffdb?" + "x" * 5000)[:LONGEST_QUESTION]
    assert len(shown.entry.got) == MOST_GOT


class Busy:
    """A recall log whose writer is busy until it is told otherwise."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.is_busy = True

    def write(self, organization: str, entries: Any) -> None:
        if self.is_busy:
            raise StoreBusy("another process is writing")
        self.rows.write(organization, entries)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rows, name)


def test_a_log_that_cannot_be_written_is_said_and_tried_again(
    telling: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Busy(RecallRows(telling.store.database))
    caplog.set_level(logging.WARNING)
    log = RecallLog(telling.app)
    monkeypatch.setattr(log, "_rows", rows)
    log.note(telling.caller, "recall", "first", [])
    assert not log.flush()
    assert "another process is writing" in caplog.text
    assert "first" not in caplog.text
    for _ in range(MOST_PENDING):
        log.note(telling.caller, "recall", "later", [])
    rows.is_busy = False
    assert log.flush()
    log.close()
    assert len(list(rows.rows.everything("default"))) <= MOST_PENDING


def test_what_was_noted_is_written_by_itself_and_at_the_end(telling: World) -> None:
    asking(telling).call("search_text", query="tea")
    (thread,) = (each for each in threading.enumerate() if each.name == "recalls")
    thread.join(60)
    query = RecallQuery(organization="default")
    assert len(RecallRows(telling.store.database).find(query, 9)) == 1
    asking(telling).call("search_text", query="tea")
    telling.app.get(RecallLog).close()
    assert len(RecallRows(telling.store.database).find(query, 9)) == 2


def test_the_log_is_no_change_that_anybody_is_told_of(telling: World) -> None:
    telling.remember("Tea at five")
    before = telling.store.sequence("default"), len(telling.trail())
    asking(telling).call("search_text", query="tea")
    telling.app.get(RecallLog).flush()
    assert (telling.store.sequence("default"), len(telling.trail())) == before


@pytest.mark.parametrize(("redact", "is_masked"), [(None, True), (Redact.OFF, False)])
def test_secrets_in_a_question_are_masked_as_in_all_that_is_captured(
    opener: Opener, redact: Redact | None, *, is_masked: bool
) -> None:
    world = opener(recall_log="questions", redact=redact)
    secret = "ghp_" + "".join(f"{each}Ab3" for each in "qwertzuio")
    asking(world).call("search_text", query=f"what is {secret} for")
    (shown,) = logged(world)
    assert shown.entry.question is not None
    assert (secret not in shown.entry.question) is is_masked
