"""Values that programs get: they never change, and are read from the answers of the contracts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Shape = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing that is remembered, true from `valid_from` until (not including) `valid_until`.

    `type` is one of `semantic`, `episodic`, `procedural`, `fact`, `preference`, `business_rule` …; `status`
    one of `active`, `unverified`, `verified`, `locked`, `superseded` …; `scope` whom it concerns.
    `author`, `client` and `contract` say whose words it has, and by which way they came. `reason` tells
    why it ended, `superseded_by` names what took its place.
    """

    id: str
    text: str
    type: str
    status: str
    scope: str
    organization: str
    author: str
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    valid_until: datetime | None = None
    title: str | None = None
    repository: str | None = None
    user: str | None = None
    importance: float = 1.0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    client: str | None = None
    contract: str | None = None
    version: int = 1
    reason: str | None = None
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage:
    """Part of a list of memories, and how many the whole has."""

    memories: list[Memory]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A memory's text after one change."""

    number: int
    text: str
    title: str | None
    changed_by: str
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalShare:
    """The share of one signal in a hit: its rank, 1 the best, None if it did not find it; its part of the score."""

    rank: int | None
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterRecord:
    """A later record that perhaps revises a hit: its id, and when it was said."""

    id: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory, a decision, a turn or summary of a session, or code, that answers a question.

    `source` is `memory` (also a relation between two entities), `decision`, `session`, `code` or `commit`; `id` names the record,
    `text` is the part that answers. `relevance` is how likely it is about the question, from 0 to 1. `at` and `by` say
    when it was so or was said, and by whom; code has neither. `status` is None where it is active, `session` where it
    was said in none. `cited` says what became of the code that it cites. `memory` is the whole record of a memory, `location` the file and lines of code. `why` has what each signal said, by name: `vector`,
    `lexical`, `graph`. `reads_as_instructions` names what in its text reads as orders to a model: data that somebody
    stored, to be obeyed by nobody.
    """

    id: str
    text: str
    source: str
    relevance: float
    why: Mapping[str, SignalShare]
    at: datetime | None = None
    by: str | None = None
    status: str | None = None
    session: str | None = None
    revised_by: LaterRecord | None = None
    cited: str | None = None
    memory: Memory | None = None
    location: str | None = None
    reads_as_instructions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A person, a thing or an idea that memories name."""

    id: str
    name: str
    type: str
    description: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation from one entity to another, by their ids."""

    id: str
    source: str
    target: str
    type: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """The entities within some steps of one, without it, and the relations that led there."""

    entities: list[Entity]
    relations: list[Relation]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The graph around an entity: its relations, the entities at their other ends, and the memories naming it."""

    entity: Entity
    relations: list[Relation]
    neighbours: list[Entity]
    memories: list[Memory]
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A choice about a target, with its reasons; of a proposal, one that nobody accepted yet.

    `kind` is `decision` or `proposal`. `holds_now` names the decisions that hold in its place, itself
    if it holds; empty where that was not asked for.
    """

    id: str
    kind: str
    target: str
    title: str
    rationale: str
    consequences: tuple[str, ...]
    status: str
    author: str
    created_at: datetime
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    holds_now: tuple[str, ...] = ()
    authorship: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLine:
    """A decision that holds, without its reasons."""

    id: str
    target: str
    title: str
    status: str
    authorship: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDecision:
    """A decision or proposal that a search found, with how it begins."""

    id: str
    kind: str
    status: str
    preview: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a session: the prompt, the thought and the answer."""

    id: str
    session: str
    at: datetime
    prompt: str
    thought: str
    response: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPage:
    """Part of a session in order, and how many turns the whole has."""

    turns: list[Turn]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHit:
    """A turn that answers a question; `relevance` is None until it can be found by meaning."""

    turn: Turn
    relevance: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The summary of a session; the four figures are from 0 to 100."""

    session: str
    at: datetime
    title: str
    text: str
    category: str
    turn_count: int
    quality: int
    productivity: int
    impact: int
    complexity: int
    technologies: tuple[str, ...]
    made_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryHit:
    """A summary that answers a question; `relevance` is None until it can be found by meaning."""

    summary: Summary
    relevance: float | None


def memory_of(shape: Shape) -> Memory:
    """Read a memory."""
    plain = ("id", "status", "organization", "author", "title", "repository", "importance")
    further = ("metadata", "client", "contract", "version", "reason", "superseded_by")
    named: dict[str, Any] = {name: shape[name] for name in (*plain, *further) if name in shape}
    return Memory(
        text=shape["content"],
        type=shape["memory_type"],
        scope=shape["scope_type"],
        user=shape.get("user_id"),
        valid_until=_instant(shape.get("valid_until")),
        created_at=datetime.fromisoformat(shape["created_at"]),
        updated_at=datetime.fromisoformat(shape["updated_at"]),
        valid_from=datetime.fromisoformat(shape["valid_from"]),
        **named,
    )


def version_of(shape: Shape) -> Version:
    """Read a version."""
    return Version(
        number=shape["version"],
        text=shape["content"],
        title=shape.get("title"),
        changed_by=shape["changed_by"],
        changed_at=datetime.fromisoformat(shape["changed_at"]),
    )


def hit_of(shape: Shape, marks: Mapping[str, tuple[str, ...]]) -> Hit:
    """Read a hit; `marks` has by id the passages that read as instructions."""
    revised, memory = shape.get("revised_by"), shape.get("memory")
    path = shape.get("file_path")
    location = None if path is None else f"{path}:{shape['start_line']}-{shape['end_line']}"
    return Hit(
        text=shape["content"],
        why={name: SignalShare(**said) for name, said in shape["signals"].items()},
        at=_instant(shape.get("at")),
        revised_by=(
            None
            if revised is None
            else LaterRecord(id=revised["id"], at=datetime.fromisoformat(revised["at"]))
        ),
        memory=None if memory is None else memory_of(memory),
        location=location,
        reads_as_instructions=marks.get(shape["id"], ()),
        by=shape.get("by"),
        status=shape.get("status"),
        session=shape.get("session"),
        cited=shape.get("cited"),
        **{name: shape[name] for name in ("id", "source", "relevance")},
    )


def entity_of(shape: Shape) -> Entity:
    """Read an entity."""
    return Entity(
        id=shape["id"],
        name=shape["name"],
        type=shape["entity_type"],
        description=shape.get("description"),
        user=shape.get("user_id"),
    )


def relation_of(shape: Shape) -> Relation:
    """Read a relation."""
    return Relation(
        id=shape["id"],
        source=shape["from_entity"],
        target=shape["to_entity"],
        type=shape["relation_type"],
        weight=shape["weight"],
    )


def decision_of(shape: Shape) -> Decision:
    """Read a decision or a proposal."""
    plain = ("id", "kind", "target", "title", "rationale", "status", "author")
    lists = ("consequences", "supersedes", "superseded_by", "holds_now")
    named: dict[str, Any] = {name: shape[name] for name in plain}
    return Decision(
        commit=shape.get("commit_id"),
        authorship=shape.get("authorship"),
        created_at=datetime.fromisoformat(shape["created_at"]),
        **(named | {name: tuple(shape.get(name, ())) for name in lists}),
    )


def decision_line_of(shape: Shape) -> DecisionLine:
    """Read a line of the list of decisions that hold."""
    names = ("id", "target", "title", "status", "authorship")
    at = datetime.fromisoformat(shape["created_at"])
    return DecisionLine(created_at=at, **{name: shape[name] for name in names})


def turn_of(shape: Shape) -> Turn:
    """Read a turn."""
    return Turn(
        session=shape["sessionId"],
        at=datetime.fromisoformat(shape["timestamp"]),
        **{name: shape[name] for name in ("id", "prompt", "thought", "response")},
    )


def summary_of(shape: Shape) -> Summary:
    """Read a summary."""
    figures = ("quality", "productivity", "impact", "complexity")
    return Summary(
        session=shape["sessionId"],
        at=datetime.fromisoformat(shape["timestamp"]),
        text=shape["summary"],
        turn_count=shape["memoryCount"],
        technologies=tuple(shape["technologies"]),
        made_by=shape["madeBy"],
        **{name: shape[name] for name in ("title", "category", *figures)},
    )


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
