"""What the readers of a caller show, method by method: never a record that is not theirs to see."""

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import pytest

from minutebook.memory.access import visibility
from minutebook.memory.access.visibility import Records, Seen, View, VisibleMoment, everything_in
from minutebook.record.caller import Caller, FolderScope
from minutebook.record.errors import NotFound
from minutebook.record.filters import MemoryQuery
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Decision,
    Edge,
    Entity,
    Entry,
    Head,
    LedgerMark,
    Link,
    Memory,
    Mention,
    Record,
    Relation,
    Role,
    Summary,
    Token,
    Turn,
    Version,
)
from minutebook.store.sqlite import SqliteStore
from minutebook.text.words import TextQuery
from tests.store.samples import (
    SPACES,
    START,
    decision,
    edge,
    entity,
    entry,
    memory,
    summary,
    turn,
    unit,
    version,
)
from tests.world import World

ORGANIZATIONS = ("acme", "zoo", SYSTEM_ORGANIZATION)
PLACES = tuple(product((None, "one", "two"), (None, "ana", "ben")))
"""Repositories and users; each organization has records of these ids in every place."""

OWNED: tuple[type[Record], ...] = (Memory, Entity, Decision, Turn, Summary)
EDGES: tuple[type[Edge], ...] = (Relation, Link, Mention)

Told = set[tuple[str, str]]
"""Organizations and ids."""


def id_at(repository: str | None, user: str | None) -> str:
    return f"{repository}.{user}"


IDS = tuple(id_at(*place) for place in PLACES)
PAIRS = tuple(product(IDS, IDS))
GONE = f"{IDS[0]}.gone"
"""A memory of a whole organization that was soft-deleted."""


def owner(**bound: Any) -> Caller:
    return Caller(name="ana", role=Role.ADMIN, **bound)


CALLERS = {
    "owner": owner(),
    "organization": owner(organization="acme"),
    "repository": owner(organization="acme", repositories=frozenset({"one"})),
    "no repository": owner(organization="acme", repositories=frozenset()),
    "user": owner(organization="acme", user="ana"),
    "user of a repository": owner(organization="zoo", repositories=frozenset({"one"}), user="ana"),
    "user of any organization": owner(user="ben"),
    "folder": owner(folder_scope=FolderScope("two")),
    "unknown": owner(organization="unknown"),
}


def is_theirs(caller: Caller, organization: str, id: str, *, anywhere: bool = False) -> bool:
    """The rule, said once more and in other words than the code's."""
    repository, user = id.split(".")[:2]
    bound = caller.repositories
    if bound is None and caller.folder_scope is not None and not anywhere:
        bound = caller.folder_scope.shown
    return (
        caller.organization in (None, organization) or organization == SYSTEM_ORGANIZATION
    ) and (
        (bound is None or repository == "None" or repository in bound)
        and (caller.user is None or user in ("None", caller.user))
    )


def theirs(caller: Caller, *, anywhere: bool = False) -> Told:
    return {
        (organization, id)
        for organization, id in product(ORGANIZATIONS, IDS)
        if is_theirs(caller, organization, id, anywhere=anywhere)
    }


def their_edges(caller: Caller) -> Told:
    return {
        (organization, f"{source}.{target}")
        for organization, (source, target) in product(ORGANIZATIONS, PAIRS)
        if is_theirs(caller, organization, source) and is_theirs(caller, organization, target)
    }


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    folder: Path = tmp_path_factory.mktemp("visibility")
    kept = SqliteStore(folder / "store.db", durability="normal")
    for organization in ORGANIZATIONS:
        with kept.transaction(organization):
            _fill(kept, organization)
    yield kept
    kept.close()


def _fill(store: SqliteStore, organization: str) -> None:
    for repository, user in PLACES:
        id = id_at(repository, user)
        place: dict[str, Any] = {
            "organization": organization,
            "repository": repository,
            "user": user,
        }
        # Each leads to the next, and what is out of sight stands between.
        following = IDS[(IDS.index(id) + 1) % len(IDS)]
        store.put(memory(id, superseded_by=following, **place))
        for make in (entity, decision, turn, summary):
            store.put(make(id, **place))
        store.put(version(id, organization=organization))
        store.put_vectors(Memory, organization, id, SPACES[0], unit(1, 0, 0, 0)[None])
    store.put(memory(GONE, organization=organization, deleted_at=START))
    for of, (source, target) in product(EDGES, PAIRS):
        store.put(edge(of, source, target, organization=organization))
    store.put(edge(Link, GONE, IDS[0], organization=organization))
    store.put(entry(organization=organization))


class Method(Protocol):
    def __call__(self, view: View, of: type[Record]) -> set[str]: ...


def ids(records: Any) -> set[str]:
    return {each.id for each in records if not each.id.startswith(GONE)}


OF_RECORDS: dict[str, Method] = {
    "find": lambda view, of: ids(view.find(of)),
    "each": lambda view, of: ids(view.each(of)),
    "get": lambda view, of: {id for id in IDS if view.get(of, id) is not None},
    "read_ids": lambda view, of: set(view.read_ids(of)),
    "values": lambda view, of: {id for (id,) in view.values(of, ["id"])},
    "passes": lambda view, of: ids(
        each for each in everything_in(view._store, view.organization).each(of) if view.passes(each)
    ),
}
OF_EDGES: dict[str, Method] = {
    "find": lambda view, of: ids(view.find(of)),
    "each": lambda view, of: ids(view.each(of)),
    "get": lambda view, of: {
        f"{one}.{other}" for one, other in PAIRS if view.get(of, f"{one}.{other}") is not None
    },
    "edges": lambda view, of: ids(each for each in view.edges(IDS) if isinstance(each, of)),
}
OF_MEMORIES: dict[str, Callable[[View], set[str]]] = {
    "match": lambda view: {each.id for each in view.match(Memory, TextQuery(("bread",)), 99)},
    "holding_words": lambda view: view.holding_words(Memory, [["bread"]])[0],
    "nearest": lambda view: {
        each.id for each in view.nearest(Memory, SPACES[0], unit(1, 0, 0, 0), 99, also=IDS)
    },
    "versions": lambda view: {each.memory for each in view.versions()},
    "entities_named": lambda view: set(view.entities_named(["ana"])),
    "groups": lambda view: {
        id_at(*group.values) for group in view.groups(Turn, ("repository", "user"), "at")
    },
}
COUNTS: dict[str, Callable[[View], int]] = {
    "count": lambda view: view.count(Memory),
    "count_vectors": lambda view: view.count_vectors(Memory, SPACES[0]),
}
NARROWING = {"where", "narrowed", "matching"}
OF_ORGANIZATIONS = {"organization", "ids"}
CHECKED_BY_THEIR_READERS = {"ties", "neighbours"}
"""What names ids, or sums bytes, whoever may see them."""


@pytest.fixture(params=CALLERS)
def caller(request: pytest.FixtureRequest) -> Caller:
    return CALLERS[request.param]


def over(store: SqliteStore, caller: Caller, method: Callable[[View], set[str]]) -> Told:
    """Ask each view in both ways in which one is had."""
    records = Records(store)
    found = set()
    for view in records.seen_by(caller):
        here = method(view)
        assert method(records.seen_in(view.organization, caller)) == here
        found |= {(view.organization, id) for id in here}
    return found


@pytest.mark.parametrize("name", OF_RECORDS)
def test_a_view_shows_what_is_the_callers(store: SqliteStore, caller: Caller, name: str) -> None:
    method = OF_RECORDS[name]
    for of in OWNED:
        assert over(store, caller, partial(method, of=of)) == theirs(caller), of


@pytest.mark.parametrize("name", OF_EDGES)
def test_a_view_shows_the_edges_of_which_the_caller_sees_both_ends(
    store: SqliteStore, caller: Caller, name: str
) -> None:
    method = OF_EDGES[name]
    for of in EDGES:
        found = over(store, caller, partial(method, of=of))
        assert found == their_edges(caller), of


@pytest.mark.parametrize("name", OF_MEMORIES)
def test_a_search_finds_what_is_the_callers(store: SqliteStore, caller: Caller, name: str) -> None:
    assert over(store, caller, OF_MEMORIES[name]) == theirs(caller)


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_is_of_what_is_the_callers(store: SqliteStore, caller: Caller, name: str) -> None:
    counted = sum(COUNTS[name](view) for view in Records(store).seen_by(caller))
    assert counted == len(theirs(caller))


def test_edges_are_counted_as_they_are_shown(store: SqliteStore, caller: Caller) -> None:
    assert Records(store).seen_by(caller).count(Relation) == len(their_edges(caller))


def test_an_edge_of_what_was_soft_deleted_is_seen_by_who_saw_that(
    store: SqliteStore, caller: Caller
) -> None:
    open_to = {organization for organization, _ in theirs(caller)}
    found = {
        view.organization
        for view in Records(store).seen_by(caller)
        if view.get(Link, f"{GONE}.{IDS[0]}") is not None
    }
    assert found == open_to


def test_a_chain_leads_through_what_is_out_of_sight_to_what_is_not(
    store: SqliteStore, caller: Caller
) -> None:
    for view in Records(store).seen_by(caller):
        for at, id in enumerate(IDS):
            ahead = (*IDS[at:], *IDS[:at])
            wanted = (each for each in ahead if is_theirs(caller, view.organization, each))
            assert view.successor(id) == next(wanted, None)


def test_all_organizations_together_show_what_each_does(store: SqliteStore, caller: Caller) -> None:
    seen = Records(store).seen_by(caller)
    wanted = theirs(caller)

    def told(records: list[Memory]) -> Told:
        return {(each.organization, each.id) for each in records}

    assert told(seen.find(Memory)) == wanted
    assert told(seen.page(Memory, "-ingestion_time", 99)) == wanted
    assert seen.count(Memory) == len(wanted)
    assert seen.organizations == sorted({organization for organization, _ in wanted})
    assert [each.organization for each in seen.views] == seen.organizations
    for organization in ORGANIZATIONS:
        assert (seen.view_of(organization) is not None) == (organization in seen.organizations)
    pages = [seen.listing(Memory, "title", 4, offset) for offset in range(0, 32, 4)]
    assert {total for _, total in pages} == {len(wanted)}
    assert set[tuple[str, str]]().union(*(told(page) for page, _ in pages)) == wanted


def test_a_moment_shows_what_is_the_callers(store: SqliteStore, caller: Caller) -> None:
    with Records(store).seen_by(caller).moments() as moments:
        for of in OWNED:
            found = {(each.organization, id) for each in moments for id in ids(each.each(of))}
            assert found == theirs(caller)
            assert sum(each.count(of) for each in moments) == len(theirs(caller))
        for moment in moments:
            narrowed = moment.narrowed(author="ana").where(equal={}, with_deleted=True)
            assert ids(narrowed.each(Memory)) == ids(moment.each(Memory))


def test_what_is_named_by_its_id_is_read_wherever_the_caller_works(
    store: SqliteStore, caller: Caller
) -> None:
    records = Records(store)
    wanted = {id for _, id in theirs(caller, anywhere=True)}
    for id in IDS:
        if id in wanted:
            found = records.read(caller, Memory, id)
            assert (found.organization, id) in theirs(caller, anywhere=True)
        else:
            with pytest.raises(NotFound):
                records.read(caller, Memory, id)


def test_an_organization_that_is_not_open_is_not_found(store: SqliteStore, caller: Caller) -> None:
    for organization in ORGANIZATIONS:
        if caller.organization in (None, organization) or organization == SYSTEM_ORGANIZATION:
            assert Records(store).seen_in(organization, caller).organization == organization
        else:
            with pytest.raises(NotFound):
                Records(store).seen_in(organization, caller)


def test_no_condition_widens_what_is_seen(store: SqliteStore, caller: Caller) -> None:
    for each in Records(store).seen_by(caller):
        narrowed = (
            each.narrowed(author="ana").where(ids=frozenset(IDS)),
            each.where(equal={"repository": "two"}),
            each.where(equal={"user": "ben"}, with_deleted=True),
            each.narrowed(repository="one").where(equal={}, ids=None, valid_at=START),
            each.matching(MemoryQuery(organization="zoo", repository="two")),
        )
        for view in narrowed:
            assert ids(view.find(Memory)) <= ids(each.find(Memory))
    for seen in (
        Records(store).seen_by(caller).narrowed(author="ana"),
        Records(store).seen_by(caller).where(with_deleted=True, ids=frozenset(IDS)),
        Records(store).seen_by(caller).matching(MemoryQuery(organization="zoo")),
    ):
        assert {(each.organization, each.id) for each in seen.find(Memory)} == theirs(caller)


@pytest.mark.parametrize("of", [Version, Entry, Head, LedgerMark, Token])
def test_what_does_not_say_whom_it_concerns_is_not_read_through_a_view(
    store: SqliteStore, of: type[Record]
) -> None:
    view = Records(store).seen_in("acme", CALLERS["repository"])
    seen = Records(store).seen_by(CALLERS["repository"])
    for read in (
        lambda: view.get(of, "a"),
        lambda: view.find(of),
        lambda: list(view.each(of)),
        lambda: view.read_ids(of),
        lambda: view.values(of, ["id"]),
        lambda: view.groups(of, ["id"], "at"),
        lambda: view.count(of),
        lambda: seen.page(of, "id", 1),
    ):
        with pytest.raises(TypeError):
            read()


@pytest.mark.parametrize("of", EDGES)
def test_edges_are_not_read_where_their_ends_are_not_looked_at(
    store: SqliteStore, of: type[Edge]
) -> None:
    view = Records(store).seen_in("acme", CALLERS["repository"])
    seen = Records(store).seen_by(CALLERS["repository"])
    for read in (
        lambda: view.read_ids(of),
        lambda: view.values(of, ["id"]),
        lambda: view.groups(of, ["type"], "created_at"),
        lambda: seen.page(of, "id", 1),
    ):
        with pytest.raises(TypeError):
            read()


def test_what_belongs_to_a_record_in_hand_is_that_records(store: SqliteStore) -> None:
    records = Records(store)
    for organization, id in product(ORGANIZATIONS, IDS):
        own = records.read(owner(organization=organization), Memory, id)
        if own.organization != organization:
            continue
        assert [each.memory for each in records.versions(own)] == [id]
        assert records.version(own, f"{id}.1") is not None
        assert all(records.version(own, f"{other}.1") is None for other in IDS if other != id)
        assert records.kept(own) == own
        assert {each.subject for each in records.entries(own)} <= {id}


def test_the_readers_have_no_method_that_is_not_tried_here() -> None:
    def public(of: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(of) if not name.startswith("_")}

    tried = {*OF_RECORDS, *OF_EDGES, *OF_MEMORIES, *COUNTS, "successor"}
    assert public(View) == tried | NARROWING | OF_ORGANIZATIONS | CHECKED_BY_THEIR_READERS
    assert public(VisibleMoment) == {"organization", "each", "count", "where", "narrowed"}
    assert public(Seen) == NARROWING | {
        *("find", "page", "count", "listing"),
        *("view_of", "organizations", "views", "moments"),
    }
    assert public(Records) == {
        *("seen_by", "seen_in", "read"),
        *("kept", "version", "versions", "entries", "first_act", "summary", "owned_by", "vectors"),
        *("tokens", "is_taken", "are_linked", "sequence", "organization_with"),
        *("one_moment", "scrub", "key", "states_size"),
    }


@pytest.mark.parametrize("far", [0, 2, 1000])
@pytest.mark.parametrize("order", ["-ingestion_time", "title"])
def test_a_page_is_the_same_from_either_end(
    world: World, monkeypatch: pytest.MonkeyPatch, far: int, order: str
) -> None:
    monkeypatch.setattr(visibility, "FAR", far)
    for number in range(5):
        world.remember(f"note {number}")
    seen = Records(world.store).seen_by(world.caller)
    every = seen.page(Memory, order, 9)
    for offset in range(7):
        for limit in range(7):
            page = seen.listing(Memory, order, limit, offset)
            assert page == (every[offset : offset + limit], 5)


def test_every_page_over_organizations_tells_the_total(world: World) -> None:
    for name in ("acme", "other", "acme", "third", "other"):
        world.by(organization=name).remember(name)
    seen = Records(world.store).seen_by(world.by(organization=None).caller)
    newest = seen.listing(Memory, "-ingestion_time", 9, 0)[0]
    assert [each.organization for each in newest] == ["other", "third", "acme", "other", "acme"]
    for offset in range(7):
        for limit in range(7):
            page = seen.listing(Memory, "-ingestion_time", limit, offset)
            assert page == (newest[offset : offset + limit], 5)


def test_a_record_of_another_kind_is_not_found(world: World) -> None:
    memory, entity = world.remember("a"), world.entity("a")
    records = Records(world.store)
    assert records.read(world.caller, Memory, memory).content == "a"
    assert records.read(world.caller, Entity, entity).name == "a"
    with pytest.raises(NotFound) as missing:
        records.read(world.caller, Memory, entity)
    assert (missing.value.kind, missing.value.id) == ("memory", entity)
    with pytest.raises(NotFound):
        records.read(world.caller, Entity, memory)


def test_of_many_edges_those_are_seen_that_are_looked_up_later_too(world: World) -> None:
    store, many = world.store, 2_500
    with store.transaction("default"):
        store.put(entity("hub", organization="default"))
        for number in range(many):
            store.put(entity(f"{number}", organization="default"))
            store.put(edge(Relation, "hub", f"{number}", organization="default"))
    view = Records(store).seen_in("default", owner(user="ana"))
    assert len(view.find(Relation)) == len(view.edges(["hub"])) == view.count(Relation) == many
