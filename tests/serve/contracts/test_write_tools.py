"""Every tool that writes, of every contract, and operations of programs, on records of every scope, by a token of a repository."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from minutebook.ask.table import operation_named
from minutebook.features.code.projects import Projects
from minutebook.record.caller import with_call
from minutebook.record.errors import MinutebookError
from minutebook.record.ids import uuid_named, uuid_of
from minutebook.record.records import Role
from minutebook.record.rights.redaction import redacted_for
from minutebook.serve.contracts.answers import Answer, Failure, failed
from minutebook.serve.contracts.registry import CONTRACTS
from tests.examples import parametrize_in_part
from tests.features.governance.contract.governed import INTENTS
from tests.features.ledger.contract.ledgered import WHY
from tests.scoped import BEARER, NUMBERS, SCOPES, UNSEEN, Given, Population, populated
from tests.serve.contracts.requirements import requirement

Arguments = Callable[[Given], dict[str, Any]]
Call = tuple[str, str]
"""A contract and a tool of it; what follows a blank tells several calls of one tool apart."""

MINE = {"title": "Mine", "target": "mine", "rationale": WHY}
FACT = {"organization": "acme", "memory_type": "fact", "current_content": "Mine"}


def uuid(id: str) -> str:
    return str(uuid_of(id))


def placed(given: Given) -> dict[str, Any]:
    """A memory of catalog in the scope of what is given."""
    scope, repository = given.place["scope"], given.place.get("repository")
    return FACT | {"scope_type": scope} | ({"repository": repository} if repository else {})


NAMED: dict[Call, Arguments] = {
    ("catalog", "memory-update"): lambda g: {"id": uuid(g.memories[0]), "title": "Mine"},
    ("catalog", "memory-update unlock"): lambda g: {"id": uuid(g.locked), "status": "active"},
    ("catalog", "memory-delete"): lambda g: {"id": uuid(g.memories[0])},
    ("catalog", "memory-link"): lambda g: dict(
        zip(("source_id", "target_id"), map(uuid, g.memories), strict=True)
    ),
    ("knowledge", "update_memory"): lambda g: {"id": g.memories[0], "content": "Mine"},
    ("operation", "change_memory"): lambda g: {"id": g.memories[0], "title": "Mine"},
    ("operation", "invalidate"): lambda g: {"id": g.memories[0]},
    ("operation", "remember"): lambda g: {
        "content": "Mine",
        "type": "fact",
        "supersedes": [g.memories[0]],
    },
    ("operation", "relate"): lambda g: {
        "source": g.entities[0],
        "target": g.entities[1],
        "type": "near",
        "weight": 0.25,
    },
    ("knowledge", "delete_memory"): lambda g: {"id": g.memories[0]},
    ("knowledge", "invalidate"): lambda g: {"id": g.memories[0], "reason": "old"},
    ("knowledge", "create_relation"): lambda g: {
        "from_entity": g.entities[0],
        "to_entity": g.entities[1],
        "relation_type": "near",
        "weight": 0.5,
    },
    ("knowledge", "delete_project"): lambda g: {"project_id": g.project},
    ("governance", "memory-write"): lambda g: {
        "memory_id": uuid(g.memories[0]),
        "content": "Mine",
        "type": "fact",
    },
    ("governance", "memory.lock"): lambda g: {"memory_id": uuid(g.memories[0])},
    ("governance", "memory.deprecate"): lambda g: {"memory_id": uuid(g.memories[0]), "reason": "x"},
    ("ledger", "supersede_decision"): lambda g: (
        MINE | {"target": g.target, "old_decision_ids": [g.decision]}
    ),
    ("ledger", "propose_decision"): lambda g: (
        MINE | {"target": g.target, "supersedes": [g.decision]}
    ),
    ("ledger", "accept_proposal"): lambda g: {"proposal_id": g.proposal},
    ("journal", "summarize_sessions"): lambda g: {"sessionId": g.session},
}
"""What is done to a record that the call names."""

PLACED: dict[Call, Arguments] = {
    ("catalog", "memory-write"): placed,
    ("catalog", "memory-batch-write"): lambda g: {"items": [placed(g)]},
}
"""What makes a record in a scope that the call names."""

OTHERS: dict[Call, Arguments] = {
    ("knowledge", "store_memory"): lambda g: {"content": "Mine"},
    ("operation", "remember new"): lambda g: {
        "content": "Mine",
        "type": "fact",
        "key": f"k{next(NUMBERS)}",
    },
    ("knowledge", "create_entity"): lambda g: {"name": f"Ana {next(NUMBERS)}"},
    ("knowledge", "index_project"): lambda g: {"path": str(g.folder)},
    ("knowledge", "reset_all_memory"): lambda g: {"confirm": True},
    ("governance", "memory-write new"): lambda g: {"content": "Mine", "type": "fact"},
    ("ledger", "record_decision"): lambda g: MINE | {"target": f"mine {next(NUMBERS)}"},
    ("ledger", "propose_decision new"): lambda g: MINE,
    ("journal", "add_memory"): lambda g: {
        "prompt": "Mend it",
        "thought": "",
        "response": "Done.",
        "sessionId": g.session,
    },
    ("journal", "summarize_sessions all"): lambda g: {},
    ("journal", "delete_all_summaries"): lambda g: {},
}
"""What names no record and no scope."""

BESIDE = {
    ("journal", "start_database"),
    ("journal", "stop_database"),
    ("journal", "export_database"),
    ("journal", "import_database"),
}
"""What changes no record, and the import, which tests/memory/test_write_acts.py tries."""


def rows(*tables: Mapping[Call, Arguments]) -> list[ParameterSet]:
    """The calls of some tables; those of a contract that is a feature's say so."""
    return [
        pytest.param(
            call,
            id="/".join(call),
            marks=[pytest.mark.needs(call[0])]
            if call[0] in CONTRACTS and call[0] != "knowledge"
            else [],
        )
        for table in tables
        for call in table
    ]


def all_writes() -> set[Call]:
    """Every tool that is not said to read only, the unlisted ones included."""
    return {
        (contract, name)
        for contract, make in CONTRACTS.items()
        for name, tool in make().tools.items()
        if not tool.promise.get("annotations", {}).get("readOnlyHint")
    }


@pytest.fixture(scope="module")
def population(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Population]:
    with populated(tmp_path_factory.mktemp("tools").resolve()) as filled:
        yield filled


def called(population: Population, call: Call, arguments: dict[str, Any]) -> Answer:
    tool = call[1].split()[0]
    population.world.clock.turn()
    if call[0] == "operation":
        return operated(population, tool, arguments)
    contract = CONTRACTS[call[0]]()
    if contract.name == "governance":
        arguments["context"] = {
            "agent_id": BEARER.name,
            "organization_id": str(uuid_named("acme")),
            "repository_id": str(uuid_named("one")),
            "intent": INTENTS[tool],
            "request_id": "r",
        }
    return contract.call(population.world.app, BEARER, tool, arguments)


def operated(population: Population, name: str, arguments: dict[str, Any]) -> Answer:
    """The answer to an operation, or the error that its caller may read."""
    caller = with_call(BEARER, notes={})
    try:
        told = operation_named(name).answer(population.world.app, caller, arguments)
    except MinutebookError as error:
        return failed(Failure(str(redacted_for(caller, error))))
    return Answer(json.dumps(told))


@pytest.mark.whole
def test_every_tool_that_writes_is_in_the_tables_of_this_module() -> None:
    tables = (*NAMED, *PLACED, *OTHERS)
    tried = {(of, tool.split()[0]) for of, tool in tables if of != "operation"}
    unlisted = {("knowledge", "detect_communities")}
    assert tried | BESIDE == all_writes() - unlisted


@requirement("policy/repository-tokens")
@pytest.mark.parametrize("scope", ["organization", "system"])
@pytest.mark.parametrize("call", rows(NAMED, PLACED))
def test_a_token_of_a_repository_is_refused_what_is_wider(
    population: Population, call: Call, scope: str
) -> None:
    before = population.records()
    answer = called(population, call, (NAMED | PLACED)[call](population.given[scope]))
    assert answer.error is not None, answer.text
    assert population.records() == before


@requirement("policy/out-of-sight")
@pytest.mark.parametrize("scope", UNSEEN)
@pytest.mark.parametrize("call", rows(NAMED))
def test_what_is_out_of_sight_is_answered_as_what_is_not_there(
    population: Population, call: Call, scope: str
) -> None:
    before, given = population.records(), population.given[scope]
    nothing = unknown(given)
    answer = called(population, call, NAMED[call](given))
    assert population.records() == before
    assert shown(answer, given) == shown(called(population, call, NAMED[call](nothing)), nothing)


def unknown(given: Given) -> Given:
    """Ids and names of the same forms as what is given, which nothing has."""
    return replace(
        given,
        memories=("0" * 20, "0" * 19 + "1"),
        locked="0" * 20,
        entities=("0" * 20, "0" * 19 + "1"),
        decision="decision_20200101T000000000000Z_00000000",
        proposal="proposal_20200101T000000000000Z_00000000",
        session="none",
        project="none",
    )


def shown(answer: Answer, given: Given) -> str:
    """All that an answer says, but for the ids of the call and the time."""
    text = json.dumps([answer.text, str(answer.error), answer.content], default=str)
    ids = (*given.memories, given.locked, *given.entities)
    names = (given.decision, given.proposal, given.session, given.project)
    for each in (*map(uuid, ids), *ids, *names):
        text = text.replace(each, "X")
    return text


@parametrize_in_part("call", rows(NAMED, PLACED, OTHERS))
@pytest.mark.needs("journal")
def test_a_token_of_a_repository_writes_into_it_and_nowhere_else(
    population: Population, call: Call
) -> None:
    own = population.fill("own")
    called(population, ("journal", "add_memory"), OTHERS["journal", "add_memory"](own))
    before = population.records()
    answer = called(population, call, (NAMED | PLACED | OTHERS)[call](own))
    assert answer.error is None, answer.error
    after = population.records()
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert changed
    for key in changed:
        record = after.get(key, before.get(key))
        assert getattr(record, "organization", "") == "acme"
        assert getattr(record, "repository", "one") == "one"


FREE = {scope: number for number, scope in enumerate(UNSEEN)}


@pytest.mark.parametrize("scope", UNSEEN[:2])
@requirement("policy/out-of-sight")
@pytest.mark.needs("catalog")
def test_an_id_that_is_taken_out_of_sight_can_be_written_under_all_the_same(
    population: Population, scope: str
) -> None:
    before, taken = population.records(), uuid(population.given[scope].memories[1])
    said = FACT | {"scope_type": "repository", "repository": "one", "id": taken}
    for tool, arguments in (("memory-write", said), ("memory-batch-write", {"items": [said]})):
        answer = called(population, ("catalog", tool), arguments)
        told = json.loads(answer.text)
        made = told[0] if isinstance(told, list) else told
        # As with an id that nobody has.
        free = said | {"id": f"9d5c2f1e-0000-4000-8000-{FREE[scope]:012}"}
        of_free = {"items": [free]} if tool == "memory-batch-write" else free
        other = json.loads(called(population, ("catalog", tool), of_free).text)
        other = other[0] if isinstance(other, list) else other
        assert made.keys() == other.keys()
        assert (made["id"], other["id"]) == (taken, free["id"])
        after = population.records()
        assert before.items() <= after.items()
        ids = [id for name, kind, id in after.keys() - before.keys() if kind == "memory"]
    # Written twice under one id, it is one memory, and it is read, changed and removed by that id.
    assert len(ids) == 2
    for tool, more in (("memory-update", {"title": "Mine"}), ("memory-delete", {})):
        assert called(population, ("catalog", tool), {"id": taken, **more}).error is None, tool
    after = population.records()
    assert before.items() <= after.items()
    assert called(population, ("catalog", "memory-update"), {"id": taken, "title": "a"}).error


def test_the_name_of_a_project_does_not_tell_of_others_out_of_sight(
    population: Population,
) -> None:
    app, name = population.world.app, f"code{next(NUMBERS)}x"
    folders = [population.home / part / name for part in "ab"]
    for folder in folders:
        folder.mkdir(parents=True)
    ids = []
    for index in (False, True):
        if index:
            who = replace(BEARER, **SCOPES["other repository"], role=Role.HUMAN)
            app.get(Projects).index(who, str(folders[1]))
        answer = called(population, ("knowledge", "index_project"), {"path": str(folders[0])})
        ids.append(answer.content["project_id"])  # type: ignore[index]
        app.get(Projects).delete(BEARER, ids[-1])
    assert ids[0] == ids[1]
