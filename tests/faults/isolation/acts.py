"""Every act by which a caller can come near what is not theirs, with what the policy has to be asked for it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from minutebook.record.ids import id_of, uuid_named, uuid_of
from minutebook.record.records import (
    Decision,
    Entity,
    Memory,
    Project,
    Proposal,
    Record,
    Summary,
    Turn,
)
from tests.faults.isolation.house import ANA, BEN, ONE, TWO, House, Request, Said
from tests.faults.isolation.oracle import SYSTEM, View, Who

Check = Callable[[Said], str | None]
"""Says what is wrong with an answer that is one; None if nothing is."""

WHY = "It keeps what it was given, through power cuts too."
TYPES = ("fact", "business_rule", "system_constraint", "preference", "decision_log")


@dataclass(frozen=True)
class Made:
    """A request, what it needs of which records, and what is to be seen of its answer.

    `who` is the caller as the request narrows them; `is_barred` tells that it must be refused whatever it is about,
    `may_fail` that more than the policy has a say in it.
    """

    asked: Request
    who: Who
    need: str = "free"
    targets: tuple[Record, ...] = ()
    reads: bool = False
    unlocks: bool = False
    is_barred: bool = False
    may_fail: bool = False
    check: Check | None = None


@dataclass(frozen=True)
class Hand:
    """Whoever acts next, with the chance that chooses for them."""

    house: House
    who: Who
    chance: Random

    @property
    def view(self) -> View:
        """What is kept."""
        return self.house.view

    def canary(self) -> str:
        """A word that nobody ever wrote."""
        return f"canary{self.chance.getrandbits(32):08x}"

    def words(self) -> str:
        """A text with a canary."""
        topic = self.chance.choice(("tea", "boiler", "harbour", "release", "index"))
        return f"The {topic} has {self.canary()} and {self.chance.choice(('five', 'six'))} doors"

    def one(self, kind: type[Record]) -> Any:
        """A record of a kind: as often one that the caller may see as any; None if there is none."""
        known = self.view.of(kind)
        mine = [each for each in known if self.view.sees(self.who, each)]
        among = mine if mine and self.chance.random() < 0.5 else known
        if not among:
            return None
        chosen = self.chance.choice(among)
        # Two organizations may have records of one id: who sees one of them means that one.
        meant = [each for each in mine if each.id == chosen.id] or [chosen]
        return meant[0] if len(meant) == 1 else None

    def query(self) -> str:
        """A question, perhaps with a word of a text that is kept."""
        found = self.one(Memory) or self.one(Turn)
        asked = "tea boiler" if found is None else found.text
        words = asked.split()
        return " ".join(self.chance.sample(words, min(3, len(words))))

    def seen(self, kind: type[Record]) -> list[Any]:
        """All of a kind that the caller may see, deleted memories left out."""
        return [
            each
            for each in self.view.of(kind)
            if self.view.sees(self.who, each) and getattr(each, "deleted_at", None) is None
        ]

    def tool(self, contract: str, name: str, arguments: dict[str, Any], **more: Any) -> Made:
        """A call of a tool, by one of the doors that it has, or an operation of a contract, by its path."""
        if name.startswith("/operations/"):
            return Made(Request("rest", "POST", contract, name, arguments), self.who, **more)
        doors = ["direct", "direct", "direct", "http", *(["rest"] if contract == "journal" else ())]
        door = self.chance.choice(doors)
        if door == "rest":
            method, path = REST[name]
            return Made(Request("rest", method, contract, path, arguments), self.who, **more)
        return Made(Request(door, "tool", contract, name, arguments), self.who, **more)

    def resource(self, contract: str, uri: str, **more: Any) -> Made:
        """A reading of a resource."""
        door = self.chance.choice(("direct", "http"))
        return Made(Request(door, "read", contract, uri), self.who, reads=True, **more)

    def command(self, *words: str, **more: Any) -> Made:
        """A command, typed here by who has no token, elsewhere by who has one."""
        door = "typed" if self.who.is_local else "endpoint"
        return Made(Request(door, "command", "typed", words[0], list(words)), self.who, **more)


Act = Callable[[Hand], Made | None]


def _operations() -> dict[str, tuple[str, str]]:
    from minutebook.features.http.protocols import openapi
    from tests.faults.isolation.house import OPENED

    return {
        each.tool.name: (each.method, each.path) for each in openapi.operations(OPENED["journal"])
    }


REST = _operations()


def uuid(id: str) -> str:
    """The UUID of a memory's id."""
    return str(uuid_of(id))


def exact(expected: set[str], shown: Callable[[Any], Iterator[str]]) -> Check:
    """Check that an answer holds these ids and no other."""

    def check(said: Said) -> str | None:
        got = {id_of(each) or each for each in shown(said.data)}
        if got == expected:
            return None
        return f"it shows {len(got)}, not {len(expected)}: {sorted(got ^ expected)[:5]}"

    return check


def told(name: str, expected: object) -> Check:
    """Check what an answer says under a name."""

    def check(said: Said) -> str | None:
        got = said.data[name]
        return None if got == expected else f"{name} is {got}, not {expected}"

    return check


def both(*checks: Check) -> Check:
    """Make several checks."""
    return lambda said: next((wrong for each in checks if (wrong := each(said))), None)


def _bare(shown: Any) -> str:
    return str(shown if isinstance(shown, str) else shown["id"]["String"])


def is_in_chain(hand: Hand, memory: Memory) -> bool:
    """Whether other memories have a say in what becomes of one: those that it took the place of, or that took its own."""
    took = (each.superseded_by for each in hand.view.of(Memory))
    return memory.superseded_by is not None or memory.id in took


def on_memory(contract: str, tool: str, need: str, build: Callable[[Hand, Memory], Any]) -> Act:
    """Return the act of a tool on one memory."""

    def act(hand: Hand) -> Made | None:
        memory = hand.one(Memory)
        if memory is None:
            return None
        unlocks = need == "unlock"
        more = {"need": need, "targets": (memory,), "reads": need == "see", "unlocks": unlocks}
        more["may_fail"] = is_in_chain(hand, memory) and need != "see"
        return hand.tool(contract, tool, build(hand, memory), **more)

    return act


def governed(tool: str, need: str, build: Callable[[Hand, Memory], Any]) -> Act:
    """Return the act of a tool of governance: in a context that the caller may name, or may not."""
    intent = {"memory-write": "write", "memory.lock": "admin", "memory.deprecate": "write"}

    def act(hand: Hand) -> Made | None:
        memory = hand.one(Memory)
        if memory is None:
            return None
        who, chance = hand.who, hand.chance
        organization = memory.organization
        if who.organization is not None and chance.random() < 0.8:
            organization = who.organization
        if organization == SYSTEM:
            return None
        repository = chance.choice(sorted(who.repositories or {ONE, TWO}))
        if chance.random() < 0.1:
            repository = chance.choice((ONE, TWO))
        context = {
            "agent_id": who.name,
            "organization_id": str(uuid_named(organization)),
            "repository_id": str(uuid_named(repository)),
            "intent": intent.get(tool, "read"),
            "request_id": "r",
        }
        made = hand.tool("governance", tool, {"context": context, **build(hand, memory)})
        is_barred = not who.may_be_at(organization, repository)
        if repository not in (who.repositories or ()):
            # Whose token names none, names a repository by its UUID alone.
            repository = str(uuid_named(repository))
        targets = (memory,) if need != "free" else ()
        narrow = replace(made, who=who.at(organization, repository), need=need, targets=targets)
        may_fail = is_in_chain(hand, memory)
        reads = intent.get(tool) is None
        return replace(narrow, reads=reads, is_barred=is_barred, may_fail=may_fail)

    return act


def list_memories(hand: Hand) -> Made:
    """A page of all memories, and how many there are."""
    mine, count = {each.id for each in hand.seen(Memory)}, len(hand.seen(Memory))

    def check(said: Said) -> str | None:
        shown = [_bare(each["id"]) for each in said.data["memories"]]
        if not mine.issuperset(shown) or len(shown) != min(100, count):
            return f"it shows {len(shown)} of {count}"
        return told("total", count)(said)

    return hand.tool("knowledge", "list_memories", {"limit": 100}, reads=True, check=check)


def status(hand: Hand) -> Made:
    """How much there is."""
    check = both(
        told("memories_count", len(hand.seen(Memory))),
        told("entities_count", len(hand.seen(Entity))),
    )
    return hand.tool("knowledge", "get_status", {}, reads=True, check=check)


def everything_of_catalog(hand: Hand) -> Made:
    """A search without a query, which finds all."""
    mine = {each.id for each in hand.seen(Memory)}
    check = exact(mine, lambda data: (str(each["id"]) for each in data))
    return hand.tool("catalog", "memory-search", {}, reads=True, check=check)


def index(hand: Hand) -> Made:
    """The index of memories."""
    mine, count = {each.id for each in hand.seen(Memory)}, len(hand.seen(Memory))

    def check(said: Said) -> str | None:
        shown = [id_of(each["id"]) for each in said.data]
        is_right = mine.issuperset(shown) and len(shown) == min(50, count)
        return None if is_right else f"it shows {len(shown)} of {count}"

    return hand.resource("catalog", "memory://index", check=check)


def decisions_index(hand: Hand) -> Made:
    """The index of decisions."""
    return hand.resource("ledger", "decision://index")


def listing(hand: Hand) -> Made:
    """The list of resources."""
    contract, door = hand.chance.choice(("catalog", "ledger")), hand.chance.choice(DOORS)
    return Made(Request(door, "list", contract), hand.who, reads=True)


DOORS = ("direct", "http")


def completion(hand: Hand) -> Made:
    """The values that complete what is typed."""
    contract, template = hand.chance.choice(
        (("catalog", "memory://{id}"), ("ledger", "decision://{id}"))
    )
    typed = hand.chance.choice(("", "t", "The", "Title", hand.query()[:3]))
    door = hand.chance.choice(DOORS)
    return Made(
        Request(door, "complete", contract, "", [template, "id", typed]), hand.who, reads=True
    )


def session(hand: Hand) -> Made | None:
    """The turns of a session."""
    turn = hand.one(Turn)
    if turn is None:
        return None
    mine = [each for each in hand.seen(Turn) if each.session == turn.session]
    check = told("total", len(mine))
    given = {"sessionId": turn.session}
    more = {"need": "see", "targets": (turn,)} if not mine else {"check": check}
    return hand.tool("journal", "get_session_memories", given, reads=True, **more)


def summaries(hand: Hand) -> Made:
    """All summaries."""
    check = told("total", len(hand.seen(Summary)))
    return hand.tool("journal", "get_all_summaries", {}, reads=True, check=check)


def projects(hand: Hand) -> Made:
    """All projects."""
    mine = {each.id for each in hand.seen(Project)}

    def check(said: Said) -> str | None:
        return None if set(said.data["projects"]) == mine else f"it shows {said.data}, not {mine}"

    return hand.tool("knowledge", "list_projects", {}, reads=True, check=check)


def found_by_word(hand: Hand) -> Made | None:
    """A search for the one memory with a canary."""
    memory = hand.one(Memory)
    if memory is None:
        return None
    is_valid = memory.valid_until is None and memory.deleted_at is None
    is_mine = hand.view.sees(hand.who, memory) and is_valid
    word = memory.content.split()[3] if len(memory.content.split()) > 3 else memory.content

    def check(said: Said) -> str | None:
        found = {_bare(each["id"]) for each in said.data["results"]}
        is_found = memory.id in found
        return None if is_found == is_mine else f"found: {is_found}, the caller's: {is_mine}"

    return hand.tool(
        "knowledge", "search_text", {"query": word, "limit": 50}, reads=True, check=check
    )


def write(hand: Hand) -> Made:
    """A new memory in the caller's own scope."""
    more = {"user_id": hand.chance.choice((ANA, BEN))} if hand.chance.random() < 0.3 else {}
    return hand.tool("knowledge", "store_memory", {"content": hand.words(), **more})


def put(hand: Hand) -> Made | None:
    """A memory under a key, or one that takes the place of another."""
    other = hand.one(Memory)
    given: dict[str, Any] = {"content": hand.words(), "type": "fact"}
    if other is not None and hand.chance.random() < 0.5:
        given["supersedes"] = [other.id]
        more: dict[str, Any] = {"targets": (other,), "may_fail": True}
        return hand.tool("knowledge", "/operations/remember", given, need="change", **more)
    given["key"] = hand.chance.choice(("alpha", "beta"))
    return hand.tool("knowledge", "/operations/remember", given)


def placed(hand: Hand, id: str | None = None) -> dict[str, Any]:
    """A memory of catalog in a scope that the call names."""
    chance, owner = hand.chance, hand.one(Memory)
    organization = hand.who.organization or (owner.organization if owner else "default")
    if chance.random() < 0.1 and owner is not None:
        organization = owner.organization
    scope = chance.choice(("system", "organization", "repository", "user"))
    given = {
        "organization": organization,
        "scope_type": scope,
        "memory_type": chance.choice(TYPES),
        "current_content": hand.words(),
        "title": f"Title {hand.canary()}",
    }
    if scope == "repository" or chance.random() < 0.2:
        given["repository"] = chance.choice((ONE, TWO))
    if id is not None:
        given["id"] = id
    return given


def place(hand: Hand) -> Made:
    """A write of catalog, at times under an id that is taken."""
    other = hand.one(Memory) if hand.chance.random() < 0.3 else None
    given = placed(hand, None if other is None else other.uuid)
    if hand.chance.random() < 0.5:
        return hand.tool("catalog", "memory-write", given)
    return hand.tool("catalog", "memory-batch-write", {"items": [placed(hand), given]})


def linked(hand: Hand) -> Made | None:
    """A link between two memories."""
    ends = [hand.one(Memory), hand.one(Memory)]
    if None in ends or ends[0].id == ends[1].id:
        return None
    is_far = ends[0].organization != ends[1].organization
    if hand.who.is_local or hand.chance.random() < 0.3:
        words = ("link", ends[0].id, ends[1].id)
        return hand.command(*words, need="link", targets=tuple(ends), may_fail=is_far)
    given = {"source_id": ends[0].uuid, "target_id": ends[1].uuid}
    more = {"targets": tuple(ends), "may_fail": is_far}
    return hand.tool("catalog", "memory-link", given, need="link", **more)


def superseded(hand: Hand) -> Made | None:
    """An end in favour of another memory."""
    old, new = hand.one(Memory), hand.one(Memory)
    if old is None or new is None or old.id == new.id:
        return None
    if hand.view.sees(hand.who, old):
        more = {"need": "see", "targets": (new,)} if not hand.view.sees(hand.who, new) else {}
    else:
        more = {"need": "see", "targets": (old,)}
    given = {"id": old.id, "superseded_by": new.id}
    return hand.tool("knowledge", "invalidate", given, **more)


def related(hand: Hand) -> Made | None:
    """The entities around one."""
    entity = hand.one(Entity)
    if entity is None:
        return None
    more: dict[str, Any] = {"need": "see", "targets": (entity,), "reads": True}
    if hand.chance.random() < 0.5:
        return hand.tool("knowledge", "get_related", {"entity_id": entity.id}, **more)
    if hand.chance.random() < 0.5:
        given = {"id": entity.id, "depth": 3, "direction": "both"}
        return hand.tool("knowledge", "/operations/related", given, **more)
    given = {"id": entity.id, "limit": 50}
    return hand.tool("knowledge", "/operations/around_entity", given, **more)


def relation(hand: Hand) -> Made | None:
    """A relation between two entities."""
    ends = [hand.one(Entity), hand.one(Entity)]
    if None in ends:
        return None
    given = {"from_entity": ends[0].id, "to_entity": ends[1].id, "relation_type": "near"}
    unseen = tuple(each for each in ends if not hand.view.sees(hand.who, each))[:1]
    more = {"need": "see", "targets": unseen} if unseen else {}
    return hand.tool("knowledge", "create_relation", given, **more)


def entity(hand: Hand) -> Made:
    """An entity, at times of a name that is taken."""
    other = hand.one(Entity) if hand.chance.random() < 0.5 else None
    name = f"Thing {hand.canary()}" if other is None else other.name
    return hand.tool("knowledge", "create_entity", {"name": name, "entity_type": "thing"})


def decide(hand: Hand) -> Made:
    """A decision or proposal, at times on a target that is taken."""
    other = hand.one(Decision) if hand.chance.random() < 0.4 else None
    target = f"target {hand.canary()}" if other is None else other.target
    given = {"title": f"Use {hand.canary()}", "target": target, "rationale": WHY}
    return hand.tool("ledger", hand.chance.choice(("record_decision", "propose_decision")), given)


def supersede(hand: Hand) -> Made | None:
    """A decision in the place of another."""
    old = hand.one(Decision)
    if old is None:
        return None
    given = {"title": f"Use {hand.canary()}", "target": old.target, "rationale": WHY}
    given["old_decision_ids"] = [old.id]
    more = {"need": "supersede", "targets": (old,)}
    return hand.tool("ledger", "supersede_decision", given, **more)


def accept(hand: Hand) -> Made | None:
    """An acceptance of a proposal."""
    proposal = hand.one(Proposal)
    if proposal is None:
        return None
    given = {"proposal_id": proposal.id}
    return hand.tool("ledger", "accept_proposal", given, need="accept", targets=(proposal,))


def decision(hand: Hand) -> Made | None:
    """One decision, or its history."""
    found = hand.one(Decision)
    if found is None:
        return None
    more: dict[str, Any] = {"need": "see", "targets": (found,)}
    if hand.chance.random() < 0.5:
        end = hand.chance.choice(("", "/history"))
        return hand.resource("ledger", f"decision://{found.id}{end}", **more)
    asked = {"read_decision": "id", "decision_history": "id", "holding": "of"}
    name, argument = hand.chance.choice(list(asked.items()))
    return hand.tool("ledger", f"/operations/{name}", {argument: found.id}, reads=True, **more)


def memory_resource(hand: Hand) -> Made | None:
    """One memory, or its history."""
    found = hand.one(Memory)
    if found is None:
        return None
    end = hand.chance.choice(("", "/history"))
    return hand.resource("catalog", f"memory://{found.uuid}{end}", need="see", targets=(found,))


def turn(hand: Hand) -> Made:
    """A turn, at times in a session of a name that is taken."""
    other = hand.one(Turn) if hand.chance.random() < 0.6 else None
    name = f"session {hand.canary()}" if other is None else other.session
    given = {"prompt": hand.words(), "thought": "", "response": hand.words(), "sessionId": name}
    return hand.tool("journal", "add_memory", given)


def summarize(hand: Hand) -> Made | None:
    """A summary of one session."""
    found = hand.one(Turn)
    if found is None:
        return None
    given = {"sessionId": found.session}
    mine = [each for each in hand.seen(Turn) if each.session == found.session]
    more = {} if mine else {"need": "see", "targets": (found,)}
    return hand.tool("journal", "summarize_sessions", given, **more)


def project(hand: Hand) -> Made | None:
    """The index of a project, or its end."""
    found = hand.one(Project)
    if found is None:
        return None
    given = {"project_id": found.id}
    # Two organizations may have a project of one name.
    mine = [each for each in hand.seen(Project) if each.id == found.id]
    more = {} if mine else {"need": "see", "targets": (found,)}
    if hand.chance.random() < 0.3:
        return hand.tool("knowledge", "delete_project", given, **more)
    return hand.tool("knowledge", "get_index_status", given, reads=True, **more)


def searched(contract: str, tool: str, build: Callable[[Hand], dict[str, Any]]) -> Act:
    """Return the act of a tool that only reads."""
    return lambda hand: hand.tool(contract, tool, build(hand), reads=True)


def typed_on(command: str, need: str, *options: str) -> Act:
    """Return the act of a command on one memory."""

    def act(hand: Hand) -> Made | None:
        memory = hand.one(Memory)
        if memory is None:
            return None
        more = {"reads": need == "see", "unlocks": need == "unlock"}
        more["may_fail"] = is_in_chain(hand, memory) and need != "see"
        words = (command, memory.id, *options)
        return hand.command(*words, need=need, targets=(memory,), **more)

    return act


def marked(hand: Hand) -> Made | None:
    """Another status of a memory."""
    stand, need, *options = hand.chance.choice(STANDS)
    return typed_on("mark", need, stand, *options)(hand)


STANDS = (
    ("lock", "lock"),
    ("unlock", "unlock"),
    ("verify", "verify"),
    ("deprecate", "change", "--reason", "old"),
)


def typed(*words: str) -> Act:
    """Return the act of a command that only reads."""
    return lambda hand: hand.command(*words, reads=True)


def reset(hand: Hand) -> Made:
    """An end of everything, at times confirmed."""
    return hand.tool("knowledge", "reset_all_memory", {"confirm": hand.chance.random() < 0.1})


def imported(hand: Hand) -> Made | None:
    """An import of an archive that somebody of the organization exported."""
    folder = hand.house.home / "archives" / (hand.who.organization or "none")
    found = sorted(each.name for each in folder.glob("**/*.jsonl"))
    if not found:
        return None
    given = {"file": hand.chance.choice(found), "mode": hand.chance.choice(("merge", "replace"))}
    return hand.tool("journal", "import_database", given)


def export(hand: Hand) -> Made:
    """An archive of the journal, whose content is looked at as well."""
    return hand.tool("journal", "export_database", {})


def as_typed(made: Made) -> str:
    """Write a step so that a person can repeat it."""
    asked = made.asked
    sent = json.dumps(asked.payload, ensure_ascii=False)
    return f"{made.who.name}: {asked.door} {asked.contract} {asked.what} {asked.name} {sent}"
