"""What `knowledge` promises of entities, relations and what memories name."""

from dataclasses import replace

import pytest

from minutebook.ask.graph import around_entity
from minutebook.record.filters import Filter
from minutebook.record.ids import is_id
from minutebook.record.records import Entity, Entry, Kind, Link, Mention
from tests.serve.contracts.requirements import requirement
from tests.world import World

pytestmark = pytest.mark.on_server

UNKNOWN = "0" * 20


def named_by(world: World, memory: str) -> set[str]:
    """The entities that a memory mentions."""
    edges = world.edges(memory, Kind.MENTION)
    assert all(edge.source == memory for edge in edges)
    return {edge.target for edge in edges}


def names(world: World, id: str, **arguments: object) -> list[str]:
    """The names of what is related to an entity, sorted."""
    answer = world.call("get_related", entity_id=id, **arguments)
    assert answer["entity_count"] == len(answer["entities"])
    assert answer["relation_count"] == len(answer["relations"])
    return sorted(each["name"] for each in answer["entities"])


@pytest.fixture
def chain(world: World) -> dict[str, str]:
    """Entities a to e, each related to the next."""
    made = {name: world.entity(name) for name in "abcde"}
    for source, target in zip("abcd", "bcde", strict=True):
        world.relate(made[source], made[target])
    return made


@requirement("knowledge/create_entity/create", "knowledge/create_entity/output")
def test_an_entity_is_kept_with_its_name_type_and_description(world: World) -> None:
    answer = world.call("create_entity", name="Ana", entity_type="person", description="rows")
    assert set(answer) == {"id"}
    assert is_id(answer["id"])
    kept = world.store.get(Entity, "default", answer["id"])
    assert isinstance(kept, Entity)
    assert (kept.name, kept.type, kept.description, kept.user) == ("Ana", "person", "rows", None)


@requirement("knowledge/graph/same-entity")
def test_the_same_name_type_and_user_is_the_same_entity(world: World) -> None:
    first = world.entity("Ana", entity_type="person")
    before = world.contents()
    assert world.entity("Ana", entity_type="person") == first
    assert world.contents() == before
    others = [
        world.entity("ana", entity_type="person"),
        world.entity("Ana", entity_type="dog"),
        world.entity("Ana"),
        world.entity("Ana", entity_type="person", user_id="ben"),
    ]
    assert len({first, *others}) == 5
    assert world.entity("Ana", entity_type="person", user_id="ben") == others[-1]


def test_the_same_entity_takes_a_description_if_it_had_none(world: World) -> None:
    first = world.entity("Ana")
    assert world.entity("Ana", description="rows") == first
    assert world.entity("Ana", description="sings") == first
    kept = world.store.get(Entity, "default", first)
    assert isinstance(kept, Entity)
    assert kept.description == "rows"


@requirement("knowledge/create_entity/user_id")
def test_an_entity_of_one_user_is_unknown_to_others(world: World) -> None:
    ana = world.entity("Ana", user_id="ana")
    ben = world.entity("Ben", user_id="ben")
    shared = world.entity("Tea")
    for id in (ana, ben):
        world.relate(id, shared)
    assert names(world.by(user="ana"), shared, direction="incoming") == ["Ana"]
    refusal = world.by(user="ana").refused("get_related", entity_id=ben)
    assert refusal == f"Entity not found: {ben}"


@requirement("knowledge/create_relation/directed", "knowledge/create_relation/output")
@requirement("knowledge/create_relation/weight")
def test_a_relation_leads_one_way_with_a_weight_of_one_unless_told(world: World) -> None:
    ana, ben = world.entity("Ana"), world.entity("Ben")
    id = world.relate(ana, ben)
    assert is_id(id)
    assert names(world, ana) == ["Ben"]
    assert names(world, ben) == []
    (shown,) = world.call("get_related", entity_id=ana)["relations"]
    assert shown == {
        "id": id,
        "from_entity": ana,
        "to_entity": ben,
        "relation_type": "knows",
        "weight": 1.0,
    }


@requirement("knowledge/graph/same-triple", "knowledge/create_relation/weight")
def test_the_same_relation_again_takes_the_new_weight(world: World) -> None:
    ana, ben = world.entity("Ana"), world.entity("Ben")
    id = world.relate(ana, ben, weight=0.25)
    for weight in (0, 0.0, 1, 0.5):
        assert world.relate(ana, ben, weight=weight) == id
        (shown,) = world.call("get_related", entity_id=ana)["relations"]
        assert shown["weight"] == weight
    assert world.relate(ana, ben) == id
    assert len({id, world.relate(ben, ana), world.relate(ana, ben, "likes")}) == 3
    assert world.call("get_related", entity_id=ana, direction="both")["relation_count"] == 3


@requirement("knowledge/graph/needs-entities")
def test_a_relation_needs_both_entities(world: World) -> None:
    ana, memory = world.entity("Ana"), world.remember("a")
    before = world.contents()
    for source, target, missing in (
        (UNKNOWN, ana, UNKNOWN),
        (ana, UNKNOWN, UNKNOWN),
        (ana, memory, memory),
    ):
        text = world.refused(
            "create_relation", from_entity=source, to_entity=target, relation_type="knows"
        )
        assert text == f"Entity not found: {missing}"
    assert world.contents() == before


def test_entities_of_two_organizations_cannot_be_related(world: World) -> None:
    ana = world.by(organization="acme").entity("Ana")
    ben = world.by(organization="other").entity("Ben")
    ends = {"from_entity": ana, "to_entity": ben, "relation_type": "knows"}
    assert world.refused("create_relation", **ends) == (
        f"Conflict with {ben}: it is in the organization 'other'; an entity can be related only to one "
        "of its own organization, 'acme'."
    )
    held = world.by(organization="acme")
    assert held.refused("create_relation", **ends) == f"Entity not found: {ben}"
    assert held.refused("get_related", entity_id=ben) == f"Entity not found: {ben}"


def test_the_same_name_in_two_organizations_is_two_entities(world: World) -> None:
    ids = [world.by(organization=name).entity("Ana") for name in ("acme", "other")]
    assert len(set(ids)) == 2


def test_an_entity_made_in_one_repository_is_unknown_in_another(world: World) -> None:
    one = world.by(organization="acme", repositories=frozenset({"one"}))
    other = world.by(organization="acme", repositories=frozenset({"other"}))
    id = one.entity("Falcon")
    assert other.refused("get_related", entity_id=id) == f"Entity not found: {id}"
    assert other.call("get_status")["entities_count"] == 0
    assert other.entity("Falcon") != id


@requirement("knowledge/get_related/traversal", "knowledge/get_related/depth")
@requirement("knowledge/get_related/direction", "knowledge/get_related/output")
@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({}, "d"),
        ({"depth": 1}, "d"),
        ({"depth": 2}, "de"),
        ({"depth": 3}, "de"),
        ({"direction": "outgoing", "depth": 3}, "de"),
        ({"direction": "incoming"}, "b"),
        ({"direction": "incoming", "depth": 2}, "ab"),
        ({"direction": "both"}, "bd"),
        ({"direction": "both", "depth": 2}, "abde"),
    ],
)
def test_a_walk_goes_as_far_and_the_way_it_was_told(
    world: World, chain: dict[str, str], arguments: dict[str, object], found: str
) -> None:
    assert names(world, chain["c"], **arguments) == list(found)
    answer = world.call("get_related", entity_id=chain["c"], **arguments)
    assert answer["relation_count"] == len(found)


@requirement("knowledge/graph/without-start")
def test_a_cycle_comes_back_to_the_start_and_leaves_it_out(
    world: World, chain: dict[str, str]
) -> None:
    world.relate(chain["b"], chain["a"])
    world.relate(chain["a"], chain["a"], "is")
    answer = world.call("get_related", entity_id=chain["a"], depth=3)
    assert sorted(each["name"] for each in answer["entities"]) == ["b", "c", "d"]
    ends = {(each["from_entity"], each["to_entity"]) for each in answer["relations"]}
    a, b, c, d = (chain[name] for name in "abcd")
    assert ends == {(a, a), (a, b), (b, a), (b, c), (c, d)}


@requirement("knowledge/create_entity/create")
def test_an_entity_is_shown_without_what_it_does_not_have(world: World) -> None:
    ana = world.entity("Ana")
    world.relate(ana, world.entity("Ben", entity_type="dog", description="barks", user_id="u"))
    world.relate(ana, world.entity("Cleo"))
    shown = {each["name"]: each for each in world.call("get_related", entity_id=ana)["entities"]}
    assert set(shown["Ben"]) == {"id", "name", "entity_type", "description", "user_id"}
    assert set(shown["Cleo"]) == {"id", "name", "entity_type"}
    assert shown["Ben"]["entity_type"] == "dog"


@requirement("knowledge/graph/mentions")
def test_a_new_memory_mentions_the_entities_that_it_names(world: World) -> None:
    ana, falcon = world.entity("Ana"), world.entity("Project Falcon")
    memory = world.remember("ANA leads project falcon.")
    assert named_by(world, memory) == {ana, falcon}


@requirement("knowledge/graph/mentions")
def test_a_new_entity_is_mentioned_by_the_memories_that_name_it(world: World) -> None:
    memory = world.remember("ANA leads project falcon.")
    assert named_by(world, memory) == set()
    ana, falcon = world.entity("Ana"), world.entity("Project Falcon")
    assert named_by(world, memory) == {ana, falcon}


@requirement("knowledge/graph/mentions")
@pytest.mark.parametrize(
    ("name", "text", "is_named"),
    [
        ("Ana", "Banana bread", False),
        ("Ana", "Ana's bread", True),
        ("Ana", "(ana)", True),
        ("Project Falcon", "the falcon project", False),
        ("Project Falcon", "project\nFalcon!", True),
        ("Zoë", "zoe rows", True),
        ("東京", "彼は東京に住む", True),
        ("C++", "written in C++ and C", True),
        ("C++", "written in C", False),
        ("node.js", "uses node.js today", True),
        ("in_progress", "state in_progress", True),
        ("Ана", "Сегодня Ана дома", True),
        ("!!!", "wow!!!", False),
    ],
)
def test_a_name_is_found_as_whole_words_from_either_end(
    world: World, name: str, text: str, is_named: bool
) -> None:
    before = world.remember(text)
    entity = world.entity(name)
    after = world.remember(text)
    expected = {entity} if is_named else set()
    assert named_by(world, before) == named_by(world, after) == expected


@requirement("knowledge/graph/mentions")
def test_an_alias_is_as_good_as_the_name(world: World) -> None:
    ana = world.entity("Ana")
    kept = world.store.get(Entity, "default", ana)
    assert isinstance(kept, Entity)
    world.store.put(replace(kept, aliases=("Annie", "Miss Frost")))
    assert named_by(world, world.remember("Miss Frost rows")) == {ana}


def test_an_update_moves_the_mentions_and_a_deletion_ends_them(world: World) -> None:
    ana, ben = world.entity("Ana"), world.entity("Ben")
    memory = world.remember("Ana rows")
    world.call("update_memory", id=memory, content="Ben rows")
    assert named_by(world, memory) == {ben}
    world.call("update_memory", id=memory, metadata={"by": "Ana"})
    assert named_by(world, memory) == {ben}
    world.call("update_memory", id=memory, content="Ana and Ben row")
    assert named_by(world, memory) == {ana, ben}
    world.call("delete_memory", id=memory)
    assert world.edges(ana, Kind.MENTION) == world.edges(ben, Kind.MENTION) == []


def test_a_memory_mentions_nothing_of_another_organization(world: World) -> None:
    world.by(organization="acme").entity("Ana")
    memory = world.by(organization="other").remember("Ana rows")
    assert world.edges(memory, Kind.MENTION, "other") == []
    assert world.edges(memory, Kind.MENTION, "acme") == []


@requirement("knowledge/graph/derived")
def test_mentions_can_be_made_again_from_what_is_kept(world: World) -> None:
    ana, ben = world.entity("Ana"), world.entity("Ben")
    memories = [world.remember(text) for text in ("Ana rows", "Ana and Ben row", "nobody rows")]
    relation = world.relate(ana, ben)
    (mention,) = world.edges(memories[0], Kind.MENTION)
    world.store.delete(Mention, "default", mention.id)
    world.store.put(replace(mention, id=f"{memories[2]}.{ana}", source=memories[2], target=ana))
    world.app.doctor.repair(world.caller)
    assert [named_by(world, memory) for memory in memories] == [{ana}, {ana, ben}, set()]
    assert [edge.id for edge in world.edges(ana, Kind.RELATION)] == [relation]


@requirement("knowledge/graph/edges")
def test_an_explicit_link_lets_recall_walk_to_what_shares_no_word(world: World) -> None:
    found = world.remember("the boiler hums")
    linked = world.remember("call Ben on Tuesday")
    link(world, found, linked)
    link(world, linked, world.remember("the cat sleeps"))
    answer = world.call("recall", query="boiler", vector_weight=0)
    by_id = {each["id"]: each for each in answer["results"]}
    assert by_id[linked]["ppr_score"] > 0
    assert by_id[linked]["bm25_score"] == 0
    assert answer["subgraph_nodes"] == 3


@requirement("knowledge/graph/edges")
def test_a_supersession_leads_from_what_the_old_memory_named_to_the_new_one(world: World) -> None:
    world.entity("Zephyr")
    old = world.remember("Zephyr boiler serial 17")
    new = world.remember("use the spare in the cellar")
    other = world.remember("the cat sleeps")
    world.call("invalidate", id=old, superseded_by=new)
    answer = world.call("recall", query="Zephyr", vector_weight=0, bm25_weight=0, limit=50)
    shown = [each["id"] for each in answer["results"] if each["ppr_score"] > 0]
    assert shown == [new]
    assert other not in shown
    assert answer["subgraph_nodes"] == 3


def test_what_ended_without_a_successor_joins_nothing_any_more(world: World) -> None:
    world.entity("Zephyr")
    world.entity("P-17")
    joining = world.remember("Zephyr takes P-17")
    world.remember("order P-17 from Kiel")
    asked = {"query": "Zephyr", "vector_weight": 0, "limit": 50}
    assert world.call("recall", **asked)["subgraph_nodes"] == 4
    world.call("invalidate", id=joining)
    assert world.call("recall", **asked)["subgraph_nodes"] == 2


def test_no_walk_goes_through_the_entity_of_another_user(world: World) -> None:
    world.entity("Falcon", user_id="ben")
    for text in ("Falcon hums", "Falcon sleeps"):
        world.remember(text)
    assert world.by(user="ben").call("recall", query="Falcon")["subgraph_nodes"] == 3
    assert world.by(user="ana").call("recall", query="Falcon")["subgraph_nodes"] == 0


def link(world: World, source: str, target: str) -> None:
    world.store.put(
        Link(
            organization="default",
            id=f"{source}.{target}",
            source=source,
            target=target,
            type="related",
            created_at=world.clock.now,
        )
    )


def test_entities_and_relations_leave_entries(world: World) -> None:
    ana, ben = world.entity("Ana"), world.entity("Ben")
    relation = world.relate(ana, ben)
    assert [(e.act, e.outcome) for e in world.entries(ana)] == [("create", "done")]
    assert [(e.act, e.subject_kind) for e in world.entries(relation)] == [("relate", Kind.RELATION)]
    assert world.store.count(Entry, Filter(organization="default")) == 3
    assert world.app.trail.verify("default") is None


def test_an_entity_is_described_with_its_relations_and_the_memories_that_name_it(
    world: World,
) -> None:
    ana, parser = world.entity("Ana"), world.entity("parser")
    world.relate(ana, parser)
    kept = [world.remember(f"Ana maintains part {number}") for number in range(2)]
    world.remember("Nobody is named here")
    told = around_entity.act(world.app, world.caller, ana, 10)
    assert told.node.id == ana
    assert sorted(step.node.id for step in told.steps) == sorted([parser, *kept])
    assert not told.has_more
    assert around_entity.act(world.app, world.caller, ana, 1).has_more
