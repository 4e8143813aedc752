"""Programs to be killed at work: `python -m tests.faults.victims ACT HOME NAME [ARGUMENT]`.

Each acknowledged act is a line `kept KIND TEXT` or `gone KIND TEXT` of standard output, and before one that takes away
a text stands `asks KIND TEXT`; `told` reads them. NAME is in every text, so that no two victims write the same.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from minutebook.app import App, open_app
from minutebook.config.models import models_of
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.ledger.repositories import Ledgers
from minutebook.features.tidying.inbox import Inbox
from minutebook.features.tidying.looking.rounds import Rounds
from minutebook.record.caller import Caller
from minutebook.record.records import (
    Decision,
    Entity,
    Memory,
    MemoryType,
    Proposal,
    Record,
    Relation,
    Role,
    Summary,
    Turn,
)
from minutebook.record.writing.drafts import Draft
from minutebook.record.writing.turns import Session
from minutebook.text.fusion import Signal
from tests.faults.invariants import Acknowledged
from tests.features.ledger.decided import draft
from tests.homes import settings_at
from tests.store.next_format import next_format
from tests.store.small_index import SMALL, make
from tests.world import ready

AGENT = Caller(name="robot", role=Role.AGENT)
PERSON = Caller(name="ann", role=Role.HUMAN)
KINDS: Mapping[str, type[Record]] = {
    each.__name__: each for each in (Memory, Entity, Relation, Decision, Proposal, Turn, Summary)
}
WEIGHTS = {Signal.VECTOR: 0.6, Signal.LEXICAL: 0.4, Signal.GRAPH: 0.2}
ACTS = 7
"""How many acts a writer does, if it is let."""


def told(lines: str) -> Acknowledged:
    """Read what a victim said; a last line without its end was not said."""
    said = Acknowledged()
    for line in lines.splitlines(keepends=True):
        if line.endswith("\n") and line.startswith(("kept ", "gone ", "asks ")):
            what, kind, text = line[:-1].split(" ", 2)
            notes = {"kept": said.note, "gone": said.note_gone, "asks": said.note_unknown}
            notes[what](KINDS[kind], text)
    return said


def say(what: str, of: type[Record], text: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{what} {of.__name__} {text}\n")
    sys.stdout.flush()


def write(home: str, name: str, embedder: str = "none") -> None:
    """Write records of all kinds, change and remove some."""
    app = open_app(settings_at(home, embedder=embedder))
    app.start()
    if embedder != "none":
        app.embedding.wait(120)
    acts = cycle((_remember, _change, _join, _converse, _decide, _propose, _forget))
    for number, act in zip(range(ACTS), acts, strict=False):
        act(app, f"{name} {number}")
    app.close()


def _store(app: App, text: str) -> Memory:
    memory = app.memories.store(AGENT, Draft(content=text, type=MemoryType.FACT))
    say("kept", Memory, text)
    return memory


def _remember(app: App, text: str) -> None:
    _store(app, text)
    app.recall.recall(AGENT, text, 3, WEIGHTS)


def _change(app: App, text: str) -> None:
    memory = _store(app, text)
    after = f"{text}, changed"
    say("asks", Memory, text)
    app.memories.update(AGENT, memory.id, {"content": after})
    say("kept", Memory, after)
    say("gone", Memory, text)


def _forget(app: App, text: str) -> None:
    memory = _store(app, text)
    say("asks", Memory, text)
    app.memories.delete(AGENT, memory.id)
    say("gone", Memory, text)


def _join(app: App, text: str) -> None:
    ends = []
    for end in ("here", "there"):
        entity = app.entities.create_entity(AGENT, f"{text} {end}", "place", None, None)
        say("kept", Entity, entity.name)
        ends.append(entity.id)
    app.entities.create_relation(AGENT, ends[0], ends[1], f"{text} leads to", 1.0)
    say("kept", Relation, f"{text} leads to")


def _converse(app: App, text: str) -> None:
    app.sessions.add(AGENT, text, text, "I look.", "It is done.")
    say("kept", Turn, text)


def _decide(app: App, text: str) -> None:
    app.get(DecisionActs).record(PERSON, draft(text, text))
    say("kept", Decision, text)


def _propose(app: App, text: str) -> None:
    app.get(Proposals).propose(AGENT, draft(text, text))
    say("kept", Proposal, text)


def decide(home: str, name: str, ledger: str) -> None:
    """Record decisions in a folder of a person's repository."""
    app = open_app(settings_at(home, embedder="none", ledger=Path(ledger)))
    app.get(Ledgers).recover()
    for number in range(3):
        _decide(app, f"{name} {number}")
    app.close()


def grow(home: str, name: str) -> None:
    """Write texts so long that the log is carried over into the database meanwhile, and at the end."""
    app = open_app(settings_at(home, embedder="none", durability="normal"))
    for number in range(6):
        text = f"{name} {number} " + "long " * 60_000
        app.memories.store(AGENT, Draft(content=text[:300_000], type=MemoryType.FACT))
        say("kept", Memory, text[:300_000])
    app.close()


def search(home: str, name: str) -> None:
    """Write and search by meaning, with an index that is saved at each change."""
    make(SMALL)
    settings = settings_at(home, durability="normal")
    app = open_app(settings, models=replace(models_of(settings), embedding=ready()))
    app.embedding.wait(60)
    for number in range(8):
        _remember(app, f"{name} {number}")
    app.close()


def migrate(home: str, name: str) -> None:
    """Bring the store to the next format."""
    del name
    with next_format():
        open_app(settings_at(home, embedder="none")).close()


def summarize(home: str, name: str) -> None:
    """Summarize every session."""
    del name
    app = open_app(settings_at(home, embedder="none"))
    session: Session
    for session in app.sessions.all(AGENT):
        app.summaries.summarize(AGENT, session.name)
        say("kept", Summary, session.name)
    app.summaries.summarize_all(AGENT)
    app.close()


def tidy(home: str, name: str) -> None:
    """Look for disorder, apply all that is suggested, take every second change back."""
    del name
    app = open_app(settings_at(home, embedder="none"))
    app.get(Rounds).run(PERSON)
    for number, each in enumerate(app.get(Inbox).listing(PERSON, 99).suggestions):
        app.get(Inbox).apply(PERSON, each.name)
        if number % 2:
            app.get(Inbox).undo(PERSON, each.name)
    app.close()


ACTS_BY_NAME: Mapping[str, Callable[..., None]] = {
    each.__name__: each for each in (write, decide, grow, search, migrate, summarize, tidy)
}


if __name__ == "__main__":
    ACTS_BY_NAME[sys.argv[1]](*sys.argv[2:])
