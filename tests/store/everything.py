"""A drive through everything that an engine can be told and asked, for who watches its statements."""

from dataclasses import replace

from minutebook.record.filters import Filter
from minutebook.record.records import (
    CLASSES,
    TEXT_CLASSES,
    Entity,
    Link,
    Memory,
    Mention,
    Record,
    Relation,
    Turn,
)
from minutebook.store.protocol import Tended
from minutebook.text.words import parse_query
from tests.store import samples

ACME = Filter(organization="acme")
SPACE = replace(samples.SPACES[0], states="one")
EAST = samples.unit(1, 0, 0, 0)


def one_of_each() -> list[Record]:
    return [
        samples.memory(),
        samples.version(),
        samples.entity(),
        *(samples.edge(of, "a", "b") for of in (Relation, Link, Mention)),
        samples.entry(),
        samples.head(),
        samples.project(),
        samples.file(),
        samples.chunk(),
        samples.commit(),
        samples.decision(),
        samples.proposal(),
        samples.mark(),
        samples.token(),
        samples.turn(),
        samples.summary(),
    ]


def write_everything(store: Tended) -> None:
    for record in one_of_each():
        store.put(record)
        store.put(record)
    for of in TEXT_CLASSES.values():
        store.put_vectors(of, "acme", "a", SPACE, EAST[None], b"states")
        store.put_vectors(of, "acme", "a", SPACE, EAST[None])
    with store.transaction("acme", "zoo"):
        for record in one_of_each():
            store.put(replace(record, organization="zoo"))
        for record in one_of_each():
            store.delete(type(record), "zoo", record.id)


def ask_everything(store: Tended) -> None:
    for of in CLASSES.values():
        store.get(of, "acme", "a")
        store.find(of, ACME, limit=3)
        list(store.each(of, ACME, ()))
        store.ids(of, ACME, ())
        store.count(of, ACME)
        store.page(of, [ACME, Filter(organization="zoo")], order=["id"], limit=3)
        with store.snapshot("acme") as moment:
            moment.count(of, ACME)
            list(moment.each(of, ACME))
    for text_class in TEXT_CLASSES.values():
        store.match(text_class, ACME, parse_query("bread"), 3)
        store.match(text_class, ACME, parse_query('"bread"'), 3)
        store.matches_phrase(text_class, ACME, ["bread"])
        store.holding_words(text_class, ACME, [["bread"]])
        store.vectors(text_class, "acme", "a")
        store.token_states(text_class, "acme", ["a"], SPACE)
        store.upkeep.states_size(text_class, "acme")
        store.count_vectors(text_class, ACME, SPACE)
        store.nearest(text_class, ACME, SPACE, EAST, 3)
    store.without_vectors([*TEXT_CLASSES.values()], SPACE, 3)
    store.without_vectors([Memory], SPACE, 3, ["acme"])
    store.groups(Turn, ACME, ["session"], "at")
    store.neighbours(Memory, "acme", ["a"], 2)
    store.edges("acme", ["a"])
    store.edges("acme", ["a"], 3)
    store.ties("acme", ["a"], 3)
    store.entities_named(ACME, ["ana"])
    store.find(Entity, replace(ACME, ids=frozenset({"a"})))
    store.changes("acme", 0)
    store.sequence("acme")
    store.organizations()
    store.organizations(["acme"])
