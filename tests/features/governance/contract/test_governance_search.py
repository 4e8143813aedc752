"""What `memory-search` finds, in which order, how much, and how little it shows of each."""

from collections.abc import Sequence
from random import Random

import pytest

from minutebook.model import Embedded
from minutebook.record.errors import EmbeddingNotReady
from minutebook.record.records import SYSTEM_ORGANIZATION, Role, Status
from tests.features.governance.contract.governed import (
    ACME,
    CONTRACT,
    ONE,
    OTHER,
    TWO,
    Client,
    short,
)
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, WordEmbedder, failed, ready

ALIKE = {"automobile": "car", "kettle": "teapot"}


class Thesaurus(WordEmbedder):
    """Words of one meaning point the same way: so that a text can be near without a common word."""

    def embed_query(self, text: str) -> Embedded:
        return super().embed_query(self._meaning(text))

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        return super().embed_passages([self._meaning(text) for text in texts])

    def _meaning(self, text: str) -> str:
        return " ".join(ALIKE.get(word, word) for word in text.split())


@pytest.fixture
def client(opener: Opener) -> Client:
    world = opener(ready(Thesaurus()))
    world.app.embedding.start()
    world.app.embedding.wait(60)
    return Client(world)


def verify(client: Client, id: str) -> None:
    person = client.of(Role.HUMAN).by(organization=ACME, name="ana").world.caller
    client.world.app.status.verify(person, short(id))


def furnish(client: Client) -> None:
    """Keep much that has nothing to do with what is asked, so that what has stands out."""
    for number in range(40):
        client.write(f"{number} harbour {number + 100} lamp {number + 200} river {number + 300}")


def rule(client: Client, content: str) -> str:
    return client.of(Role.HUMAN).write(content, type="business_rule", scope="organization")


@requirement("governance/memory-search/searches")
def test_a_search_finds_by_words_and_by_meaning(client: Client) -> None:
    client.write("the car needs oil")
    client.write("the cat needs milk")
    for query in ("car", "automobile"):
        assert client.found(query) == ["the car needs oil", "the cat needs milk"]
    assert len(client.found("harbour")) == 2


@requirement("governance/results/order")
def test_exact_in_the_repository_comes_before_semantic_before_the_organizations_rules(
    client: Client,
) -> None:
    furnish(client)
    verified = rule(client, "car car car")
    rule(client, "car car")
    verify(client, verified)
    client.write("automobile automobile automobile")
    client.write("a red car that was bought in the year of the great rain")
    found = [each for each in client.found("car", limit=10) if "harbour" not in each]
    assert found == [
        "a red car that was bought in the year of the great rain",
        "automobile automobile automobile",
        "car car car",
        "car car",
    ]


@requirement("governance/results/verified-first")
@pytest.mark.parametrize("chance", range(5))
def test_the_human_verified_comes_first_of_what_is_equally_relevant(
    client: Client, chance: int
) -> None:
    ids = [client.write("the car needs oil") for _ in range(4)]
    chosen = Random(chance).choice(ids)
    verify(client, chosen)
    answer = client.call("memory-search", query="car")["memories"]
    assert answer[0]["memory_id"] == chosen
    assert [each["status"] for each in answer] == ["verified", *["unverified"] * 3]


def test_a_lock_counts_as_a_persons_word(client: Client) -> None:
    ids = [client.write("the car needs oil") for _ in range(3)]
    client.of(Role.MANAGER).call("memory.lock", memory_id=ids[0])
    assert client.call("memory-search", query="car")["memories"][0]["memory_id"] == ids[0]


@requirement("governance/memory-search/limit", "governance/results/at-most-10")
def test_five_are_found_unless_more_are_asked_for_and_never_more_than_ten(client: Client) -> None:
    for number in range(12):
        client.write(f"the car has number {number}")
    assert len(client.found("car")) == 5
    for limit in (1, 9, 10, 10.0):
        assert len(client.found("car", limit=limit)) == limit


@requirement("governance/memory-search/limit-refused")
@pytest.mark.parametrize("limit", [0, -1, 11, 50, 10**30])
def test_a_limit_beyond_its_range_is_refused_not_cut(client: Client, limit: int) -> None:
    error = client.refused("memory-search", query="car", limit=limit)
    assert (error["code"], error["number"]) == ("INVALID_ARGUMENT", -32602)
    assert "`limit`" in error["message"]


@requirement("governance/memory-search/type_filter")
def test_a_type_filter_keeps_one_type(client: Client) -> None:
    client.write("the car needs oil", type="fact")
    client.write("the car was bought", type="decision_log")
    assert client.found("car", type_filter="decision_log") == ["the car was bought"]
    assert client.found("car", type_filter="risk") == []
    assert "`type_filter`" in client.refused("memory-search", query="a", type_filter="x")["message"]


@requirement(
    "governance/memory-search/fields",
    "governance/memory-search/response",
    "governance/results/trimmed",
)
def test_a_result_has_what_an_agent_needs_and_no_more(client: Client) -> None:
    id = client.write("the car needs oil")
    rule(client, "cars are red")
    client.world.by(organization=SYSTEM_ORGANIZATION).remember("cars are fast")
    answer = client.call("memory-search", query="cars")
    assert set(answer) == {"memories", "count"}
    assert answer["count"] == 3
    for each in answer["memories"]:
        assert set(each) == {"memory_id", "content", "status", "type", "scope_origin"}
    assert answer["memories"][0] == {
        "memory_id": id,
        "content": "the car needs oil",
        "status": "unverified",
        "type": "fact",
        "scope_origin": "repository",
    }
    origins = {each["content"]: each["scope_origin"] for each in answer["memories"]}
    assert origins["cars are red"] == "organization"
    assert origins["cars are fast"] == "system"


@requirement("governance/memory-search/scopes", "governance/memory-search/other-repository")
def test_a_search_hears_the_repository_its_organization_and_the_system(client: Client) -> None:
    client.write("car of one")
    client.at(repository=TWO).write("car of two")
    client.at(organization=OTHER).write("car of another")
    rule(client, "car of all")
    client.world.by(organization=SYSTEM_ORGANIZATION).remember("car of the system")
    assert set(client.found("car")) == {"car of one", "car of all", "car of the system"}
    assert client.at(repository=TWO).found("car")[0] == "car of two"
    assert client.at(organization=OTHER).found("car") == ["car of another", "car of the system"]


@requirement("governance/memory-search/hidden")
def test_what_was_deprecated_superseded_or_deleted_does_not_show(client: Client) -> None:
    ids = [client.write(f"car {number}") for number in range(4)]
    caller = client.by(organization=ACME, repositories=frozenset({ONE}), name="claude").world.caller
    memories = client.world.app.memories
    client.call("memory.deprecate", memory_id=ids[0], reason="sold")
    memories.remove(caller, short(ids[1]))
    memories.invalidate(caller, short(ids[2]), None, short(ids[3]))
    assert client.memory(ids[2]).status is Status.SUPERSEDED
    assert client.found("car") == ["car 3"]
    memories.delete(caller, short(ids[3]))
    assert client.found("car") == []


@requirement("governance/memory-search/audit", "governance/security/transparent")
def test_a_search_is_entered_as_a_reading_of_each_memory_shown(client: Client) -> None:
    ids = [client.write("the car needs oil"), client.write("the car needs air")]
    context = client.context("memory-search", request_id="s1")
    client.call("memory-search", query="car", context=context)
    told = [(e.act, e.outcome, e.subject, e.actor) for e in client.entries() if e.request == "s1"]
    assert sorted(told) == sorted(("read", "done", short(id), "claude") for id in ids)
    context = client.context("memory-search", request_id="s2")
    client.call("memory-search", query="harbour", context=context)
    told = [(e.act, e.outcome, e.subject, e.actor) for e in client.entries() if e.request == "s2"]
    assert sorted(told) == sorted(("read", "done", short(id), "claude") for id in ids)


def test_a_search_without_a_model_goes_by_words(opener: Opener) -> None:
    client = Client(opener(failed()))
    client.world.app.embedding.start()
    with pytest.raises(EmbeddingNotReady, match="damaged"):
        client.world.app.embedding.wait(60)
    client.write("the car needs oil")
    assert client.found("car") == ["the car needs oil"]
    assert client.found("automobile") == []


@requirement("governance/results/order")
@pytest.mark.parametrize("chance", range(5))
def test_the_order_holds_for_any_mixture(client: Client, chance: int) -> None:
    furnish(client)
    random = Random(chance)
    for number in range(16):
        content = random.choice(["car", "automobile", "car kettle"]) + f" {number}"
        is_rule = random.random() < 0.5
        id = rule(client, content) if is_rule else client.write(content)
        if random.random() < 0.5:
            verify(client, id)
    tiers = set()
    for query in ("car", "automobile", "teapot car"):
        answer = client.call("memory-search", query=query, limit=10)["memories"]
        sought = set(query.split())
        # What shares no word may not match, and then stands last.
        places = [place(each, sought) for each in answer if sought & set(each["content"].split())]
        assert len(answer) == 10
        assert places == sorted(places)
        tiers.update(places)
    assert len(tiers) > 1


def place(told: dict[str, str], sought: set[str]) -> int:
    """Where the contract wants a memory: 0 the first."""
    if told["scope_origin"] == "repository":
        return 0 if sought <= set(told["content"].split()) else 1
    return 2 if told["status"] == "verified" else 3


def test_the_published_numbers_are_the_ones_in_force() -> None:
    limit = CONTRACT.tools["memory-search"].promise["inputSchema"]["properties"]["limit"]
    assert (limit["minimum"], limit["default"], limit["maximum"]) == (1, 5, 10)
