"""A walk over machines in step: each does at random whatever changes records, and syncs now and then.

After each act the trail of the machine is held against its records, and at the end all machines are to hold the same.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import TypeAlias, TypeVar

from minutebook.config import settings_with
from minutebook.config.places import data_directory
from minutebook.features.archives.archive_lines import JOURNAL, OWN, Mode
from minutebook.features.archives.archives import Archives
from minutebook.features.archives.copies.backups import store_backups
from minutebook.features.archives.copies.restores import Restores
from minutebook.features.archives.notes.note_sync import Deletion, NoteSync
from minutebook.features.audit_proof.audit_proof import TrailProving
from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice
from minutebook.features.governance.governed import GovernedMemories
from minutebook.features.importers.source_imports import SourceImports
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.mirror.rebuilding import Rebuilds
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.screening.secret_scan import SecretScan
from minutebook.features.tidying.findings import State
from minutebook.features.tidying.inbox import Inbox
from minutebook.features.tidying.looking.rounds import Rounds
from minutebook.features.tidying.rows import TidyRows
from minutebook.record.caller import Caller
from minutebook.record.errors import MinutebookError
from minutebook.record.filters import default_organization
from minutebook.record.records import (
    Decision,
    DecisionStatus,
    Entity,
    Link,
    Memory,
    MemoryType,
    Proposal,
    ProposalStatus,
    Record,
    Relation,
    Role,
    Summary,
    Token,
    Turn,
)
from minutebook.record.rights.grants import Grant
from minutebook.record.writing.drafts import Draft
from minutebook.record.writing.source_drafts import MemoryDraft, SourcePlace
from tests.faults.invariants import unproven
from tests.features.ledger.decided import SECRET, draft
from tests.features.sync.joined_machines import Machines
from tests.world import Opener, World, everything, ready, worlds

PERSON = Caller(name="ana", role=Role.ADMIN, writes_system=True)
AT_WORK = Caller(name="ana", role=Role.ADMIN, organization="acme", writes_system=True)

WORDS = ("tea", "bread", "door", "Anna Berg", "anna-berg", "Acme", "acme gmbh")
TYPES = (MemoryType.FACT, MemoryType.BUSINESS_RULE, MemoryType.TASK, MemoryType.SEMANTIC)

R = TypeVar("R", bound=Record)


class Nothing(Exception):
    """There is nothing that the act could be done to."""


Acts: TypeAlias = "Mapping[str, tuple[float, Callable[[Walk], object]]]"
"""What may be done, with how often it comes."""


@dataclass
class Walk:
    """Machines that somebody uses at random, each with its own data directory below a folder."""

    home: Path
    open_one: Opener
    machines: Machines
    chance: Random
    done: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    at: int = 0
    """The machine that is in use."""
    caller: Caller = PERSON
    trace: list[str] = field(default_factory=list)
    acts: Acts = field(default_factory=lambda: ACTS)

    @property
    def world(self) -> World:
        return self.machines.worlds[self.at]

    @property
    def organization(self) -> str:
        return default_organization(self.caller)

    def text(self) -> str:
        """Something to say, at times what contradicts something else."""
        number = next(self.numbers)
        if self.chance.random() < 0.4:
            return f"The retry limit of service k{number % 4} is {number}."
        return f"{self.chance.choice(WORDS)} {number} {self.chance.choice(WORDS)}"

    def one(self, of: type[R], *, where: Callable[[R], bool] = lambda record: True) -> R:
        """Choose a record of this machine. Raises Nothing if there is none."""
        found = self.world.store.find(of, everything(self.organization))
        found = sorted((each for each in found if where(each)), key=lambda each: each.id)
        if self.chance.random() < 0.8:
            found = [each for each in found if not _is_over(each)] or found
        if not found:
            raise Nothing
        return self.chance.choice(found)

    def two(self, of: type[R]) -> tuple[R, R]:
        """Choose two records of this machine. Raises Nothing if there are not as many."""
        one = self.one(of)
        return one, self.one(of, where=lambda other: other.id != one.id)

    def file(self, name: str) -> Path:
        """Return a new path."""
        return self.home / f"{next(self.numbers)}-{name}"

    def reopen(self) -> None:
        """Open the machine anew, as its next process would."""
        worlds_here = list(self.machines.worlds)
        worlds_here[self.at] = opened(self.open_one, self.at)
        self.machines.worlds = worlds_here

    def step(self) -> None:
        """Have somebody do something on some machine, a while after what came before."""
        chance = self.chance
        self.at = chance.randrange(len(self.machines.worlds))
        self.caller = AT_WORK if chance.random() < 0.25 else PERSON
        self.world.clock.turn(chance.choice((1, 5, 90, 4000, -50)))
        name = chance.choices(list(self.acts), [weight for weight, _ in self.acts.values()])[0]
        outcome = "done"
        try:
            self.acts[name][1](self)
        except Nothing:
            return
        except MinutebookError as error:
            outcome = f"refused: {type(error).__name__}: {error}"
            self.refused += 1
        else:
            self.done[name] += 1
        self.trace.append(f"machine {self.at}, {self.organization}: {name}: {outcome}")
        self.check()

    def check(self) -> None:
        """Raise AssertionError unless the machine's records are as its trails say."""
        found = list(unproven(self.world.app.get(TrailProving).prove(PERSON)))
        assert not found, "\n".join(found)

    def settle(self) -> None:
        """Sync all until none has any news; then all must hold the same."""
        machines = self.machines
        self.trace.append("all sync")
        for number in range(len(machines.worlds)) if self.acts is not ACTS else ():
            # Who lacks what is gone says so until each has looked at what it left there.
            machines.sync(number)
        machines.settle()
        everywhere = [machines.held(number) for number in range(len(machines.worlds))]
        differing = {
            key
            for held in everywhere
            for key in held.keys() | everywhere[0].keys()
            if held.get(key) != everywhere[0].get(key)
        }
        assert not differing, f"machines differ in {sorted(differing)}"
        for self.at in range(len(machines.worlds)):
            self.check()
            compared = machines.compare(self.at)
            wrong = (compared.differences, compared.refused, compared.lost)
            assert wrong == ((), (), ()), compared
            findings = [
                each.finding
                for each in self.world.app.doctor.examine()
                # Two machines decided on one target; a person settles that.
                if "are active on" not in each.finding
            ]
            assert not findings, findings


def _is_over(record: Record) -> bool:
    """Tell whether a record is one to which little can be done any more."""
    match record:
        case Memory():
            return record.deleted_at is not None or record.valid_until is not None
        case Decision():
            return record.status is not DecisionStatus.ACTIVE
        case Proposal():
            return record.status is not ProposalStatus.PENDING
        case _:
            return False


def opened(open_one: Opener, number: int) -> World:
    """Open a machine's store."""
    world = open_one(
        ready(), name=f"machine{number}", review_window=0.0, agent_memory_secret=SECRET
    )
    for caller in (PERSON, AT_WORK):
        with suppress(MinutebookError):
            world.app.get(ApprovalSecret).set(caller, SECRET)
    return world


@contextmanager
def walk(home: Path, chance: Random, count: int) -> Iterator[Walk]:
    """Open some machines that meet in a folder."""
    (home / "shared").mkdir()
    with worlds(home) as open_one:
        machines = Machines(home / "shared", [opened(open_one, n) for n in range(count)])
        machines.person = PERSON
        walked = Walk(home, open_one, machines, chance)
        try:
            yield walked
        except Exception as error:
            error.add_note("\n".join(walked.trace))
            raise


def walked(home: Path, chance: Random, steps: int, acts: "Acts | None" = None) -> Walk:
    """Walk so many steps on two or three machines, then sync them. Raises AssertionError for what is wrong."""
    with walk(home, chance, chance.choice((2, 3))) as made:
        made.acts = ACTS if acts is None else acts
        for _ in range(steps):
            made.step()
        made.settle()
    return made


# Memories


def remember(w: Walk) -> None:
    """Store a memory."""
    told = Draft(content=w.text(), type=w.chance.choice(TYPES), metadata={"a": 1.5})
    w.world.app.memories.store(w.caller, told)


def remember_many(w: Walk) -> None:
    """Store several at once."""
    drafts = [Draft(content=w.text(), type=MemoryType.FACT) for _ in range(3)]
    w.world.app.memories.write_all([(w.caller, each) for each in drafts])


def update(w: Walk) -> None:
    """Change a memory."""
    changes: Sequence[dict[str, object]] = (
        {"content": w.text()},
        {"importance": 0.5},
        {"title": w.text()},
        {"metadata": {"b": w.text()}},
    )
    w.world.app.memories.update(w.caller, w.one(Memory).id, w.chance.choice(changes))


def put(w: Walk) -> None:
    """Store a memory in the place of others, with a link to another."""
    old, other = w.two(Memory)
    told = Draft(content=w.text(), type=MemoryType.FACT)
    w.world.app.memories.store_joined(w.caller, told, [(other.id, "related")], [old.id])


def invalidate(w: Walk) -> None:
    """End a memory, at times in favour of another."""
    one, other = w.two(Memory)
    successor = other.id if w.chance.random() < 0.5 else None
    w.world.app.memories.invalidate(w.caller, one.id, "old", successor)


def link(w: Walk) -> None:
    """Link two memories."""
    type = w.chance.choice(("related", "owes money to"))
    one, other = w.two(Memory)
    w.world.app.links.link(w.caller, one.id, other.id, type)


def unlink(w: Walk) -> None:
    """Remove a link."""
    found = w.one(Link)
    w.world.app.links.unlink(w.caller, found.source, found.target, found.type)


def governed_edit(w: Walk) -> None:
    """Edit a memory as a governed caller does."""
    w.world.app.get(GovernedMemories).edit(w.caller, w.one(Memory).id, w.text(), MemoryType.FACT)


# Entities


def entity(w: Walk) -> None:
    """Create an entity, at times of a name that is taken."""
    name = w.chance.choice(WORDS)
    description = w.chance.choice((None, w.text()))
    w.world.app.entities.create_entity(w.caller, name, "person", description, None)


def relate(w: Walk) -> None:
    """Relate two entities."""
    ends, weight = (w.one(Entity).id, w.one(Entity).id), w.chance.choice((0.5, 1.0))
    w.world.app.entities.create_relation(
        w.caller, *ends, w.chance.choice(("knows", "near")), weight
    )


# Decisions


def decide(w: Walk) -> None:
    """Decide something, at times on a target that is taken."""
    target = f"target {w.chance.randrange(6)}"
    w.world.app.get(DecisionActs).record(w.caller, draft(target, w.text()))


def decide_anew(w: Walk) -> None:
    """Supersede a decision."""
    old = w.one(Decision)
    w.world.app.get(DecisionActs).supersede(w.caller, [old.id], draft(old.target, w.text()))


def propose(w: Walk) -> None:
    """Propose something."""
    w.world.app.get(Proposals).propose(w.caller, draft(f"target {w.chance.randrange(9)}", w.text()))


def accept(w: Walk) -> None:
    """Accept a proposal."""
    w.world.app.get(Proposals).accept(w.caller, w.one(Proposal).id, SECRET)


# The journal


def converse(w: Walk) -> None:
    """Add a turn to a session."""
    session = f"session {w.chance.randrange(3)}"
    w.world.app.sessions.add(w.caller, session, w.text(), "", w.text())


# The whole store


def tidy(w: Walk) -> None:
    """Look for disorder, and settle some of what is found."""
    app = w.world.app
    app.get(Rounds).run(w.caller)
    for waiting in app.get(Inbox).listing(w.caller, 5).suggestions:
        settle = w.chance.choice((app.get(Inbox).apply, app.get(Inbox).refuse))
        with suppress(MinutebookError):
            settle(w.caller, waiting.name)
        w.check()


def undo(w: Walk) -> None:
    """Take back what tidying changed."""
    rows = [
        each
        for each in TidyRows(w.world.store.database).everything(w.organization)
        if each.state in (State.APPLIED, State.REFUSED)
    ]
    if not rows:
        raise Nothing
    w.world.app.get(Inbox).undo(w.caller, str(w.chance.choice(rows).number))


ERASED: Sequence[type[Record]] = (
    *(Memory, Memory, Entity, Relation, Decision, Proposal, Turn, Summary),
)


def erase(w: Walk) -> None:
    """Erase a record, at times from backups, too."""
    app, found = w.world.app, w.one(w.chance.choice(ERASED))
    if isinstance(found, Summary):
        records = app.get(Erasing).find(w.caller, Choice(session=found.session))
    else:
        records = app.get(Erasing).find(w.caller, Choice((found.id,)))
    backups = w.chance.random() < 0.5
    done = app.get(Erasing).erase(w.caller, records, backups=backups, from_ledger=True)
    if backups:
        assert not [each for each in done.left if "written anew" in each], done.left


def back_up(w: Walk) -> None:
    """Make a backup."""
    w.world.app.get(store_backups).make(PERSON, w.file(f"{w.at}.tar"))


def restore(w: Walk) -> None:
    """Bring a machine back to one of its backups, as the command does."""
    found = sorted(w.home.glob(f"*-{w.at}.tar"))
    if not found:
        raise Nothing
    w.world.app.close()
    home, at = w.home / f"machine{w.at}", w.world.clock()
    Restores(data_directory(settings_with(home=home))).run(PERSON, w.chance.choice(found), at)
    w.reopen()


def export(w: Walk) -> None:
    """Write an archive of all, or of the journal."""
    kinds = w.chance.choice((OWN, JOURNAL))
    name = "whole" if kinds == OWN else "journal"
    w.world.app.get(Archives).export_to(w.caller, kinds, w.file(f"{name}.jsonl"))


def import_archive(w: Walk) -> None:
    """Bring in an archive that was made here or elsewhere."""
    found = sorted(w.home.glob("*-*.jsonl"))
    if not found:
        raise Nothing
    path = w.chance.choice(found)
    modes = (Mode.MERGE, Mode.REPLACE) if "journal" in path.name else (Mode.MERGE,)
    w.world.app.get(Archives).import_from(w.caller, path, w.chance.choice(modes))


def import_notes(w: Walk) -> None:
    """Bring in what another program kept."""
    drafts = [
        MemoryDraft(
            key=f"{w.chance.randrange(9)}",
            place=SourcePlace("/notes.md"),
            program="notes",
            content=w.text(),
            type=MemoryType.FACT,
        )
        for _ in range(2)
    ]
    w.world.app.get(SourceImports).run(w.caller, "notes", drafts, lambda: 1.0, dry_run=False)


def sync_notes(w: Walk) -> None:
    """Edit a note of a folder and bring folder and store in step."""
    folder = w.home / f"notes{w.at}"
    folder.mkdir(exist_ok=True)
    run = w.world.app.get(NoteSync).run
    answer = w.chance.choice(tuple(Deletion))
    run(PERSON, folder, lambda name, label: answer)
    notes = sorted((folder / "memories").glob("*.md"))
    if notes:
        note = w.chance.choice(notes)
        if w.chance.random() < 0.2:
            note.unlink()
        else:
            note.write_text(note.read_text() + f"\n{w.text()}\n")
        w.world.clock.turn()
        run(PERSON, folder, lambda name, label: answer)


def move(w: Walk) -> None:
    """Move what may be a memory to a repository."""
    found = w.one(w.chance.choice((Memory, Turn, Proposal, Entity)))
    w.world.app.memories.move(w.caller, [found.id], w.chance.choice(("one", "two", None)))


def mask(w: Walk) -> None:
    """Keep a secret and replace it in all that is kept."""
    told = f"{w.text()} AKIA{'Q' * 12}{next(w.numbers):04}"
    w.world.app.memories.store(w.caller, Draft(content=told, type=MemoryType.FACT))
    w.world.app.get(SecretScan).mask(w.caller)


def token(w: Walk) -> None:
    """Make a token, or change one."""
    tokens = w.world.app.tokens
    found = w.world.store.find(Token, everything("~system"))
    if not found or w.chance.random() < 0.3:
        tokens.create(PERSON, Grant(name="ci", role=Role.AGENT, organization=w.caller.organization))
        return
    chosen = w.chance.choice(found)
    if w.chance.random() < 0.5:
        tokens.revoke(PERSON, chosen.id)
    else:
        tokens.rotate(PERSON, chosen.id, None)


def reset(w: Walk) -> None:
    """Remove all there is."""
    w.world.app.overview.reset(w.caller)


def sync(w: Walk) -> None:
    """Sync the machine, at times with a snapshot."""
    report = w.machines.sync(w.at, compact=w.chance.random() < 0.1)
    assert not report.refused, report.refused


def on_memory(act: Callable[[World, Caller, str], object]) -> Callable[[Walk], object]:
    """Return the act on one memory."""
    return lambda w: act(w.world, w.caller, w.one(Memory).id)


def locked(memory: Memory) -> bool:
    """Tell whether a memory is locked."""
    return memory.locked_by is not None


ACTS: Acts = {
    "remember": (6, remember),
    "remember many": (1, remember_many),
    "update": (8, update),
    "put": (3, put),
    "invalidate": (3, invalidate),
    "reinstate": (
        1,
        lambda w: w.world.app.memories.reinstate(w.caller, w.one(Memory, where=_is_over).id),
    ),
    "remove": (2, on_memory(lambda w, who, mine: w.app.memories.remove(who, mine))),
    "restore memory": (
        2,
        lambda w: w.world.app.memories.restore(w.caller, w.one(Memory, where=_is_over).id),
    ),
    "delete": (2, on_memory(lambda w, who, mine: w.app.memories.delete(who, mine))),
    "lock": (1, on_memory(lambda w, who, mine: w.app.status.lock(who, mine))),
    "unlock": (1, lambda w: w.world.app.status.unlock(w.caller, w.one(Memory, where=locked).id)),
    "verify": (1, on_memory(lambda w, who, mine: w.app.status.verify(who, mine))),
    "deprecate": (2, on_memory(lambda w, who, mine: w.app.status.deprecate(who, mine, "old"))),
    "link": (3, link),
    "unlink": (1, unlink),
    "governed edit": (1, governed_edit),
    "entity": (4, entity),
    "relate": (3, relate),
    "decide": (2, decide),
    "decide anew": (2, decide_anew),
    "propose": (2, propose),
    "accept": (1, accept),
    "decline": (
        1,
        lambda w: w.world.app.get(Proposals).decline(w.caller, w.one(Proposal).id),
    ),
    "reopen": (
        1,
        lambda w: w.world.app.get(Proposals).reopen(w.caller, w.one(Proposal, where=_is_over).id),
    ),
    "converse": (3, converse),
    "summarize": (2, lambda w: w.world.app.summaries.summarize(w.caller, w.one(Turn).session)),
    "delete summaries": (0.3, lambda w: w.world.app.summaries.delete_all(w.caller)),
    "tidy": (3, tidy),
    "undo": (3, undo),
    "erase": (3, erase),
    "back up": (1.5, back_up),
    "restore": (1.5, restore),
    "export": (1, export),
    "import": (2, import_archive),
    "import notes": (1, import_notes),
    "sync notes": (0.5, sync_notes),
    "move": (1, move),
    "mask": (0.3, mask),
    "token": (1, token),
    "rebuild": (0.5, lambda w: w.world.app.get(Rebuilds).rebuild(w.caller)),
    "mend": (0.5, lambda w: w.world.app.doctor.repair(PERSON)),
    "reset": (0.1, reset),
    "sync": (20, sync),
}
"""Every act that changes what machines exchange or what the trail covers, with how often it comes."""
