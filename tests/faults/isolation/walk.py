"""A walk: steps at random by callers at random, each answer and each change held to the policy; and what is left of it
when every step that a failure does not need is taken out."""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from minutebook.features.audit_proof.audit_proof import TrailProving
from minutebook.features.code.projects import Projects
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.record.caller import Caller
from minutebook.record.ids import uuid_of
from minutebook.record.records import (
    Decision,
    Entity,
    Memory,
    MemoryType,
    Project,
    Proposal,
    Record,
    Role,
    Turn,
)
from minutebook.record.writing.decision_drafts import DecisionDraft
from minutebook.record.writing.drafts import Draft
from tests.faults.invariants import unproven
from tests.faults.isolation.acts import WHY, Hand, Made, as_typed
from tests.faults.isolation.house import (
    ACME,
    ANA,
    BEN,
    ONE,
    OWNER,
    TWO,
    ZOO,
    House,
    Said,
    houses,
    visitors,
)
from tests.faults.isolation.oracle import SYSTEM, Rule, leaks, trespasses
from tests.faults.isolation.table import ACTS, AT_KEYBOARD

PLACES: Sequence[tuple[str, str | None, str | None]] = (
    (ACME, None, None),
    (ACME, ONE, None),
    (ACME, TWO, None),
    (ACME, None, ANA),
    (ACME, ONE, BEN),
    (ZOO, None, None),
    (ZOO, ONE, None),
    (ZOO, None, ANA),
    (SYSTEM, None, None),
)
PROVING = 100
"""Steps after which the trail is proved: a reset removes what it could show."""

_TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|req_[0-9a-f]+|request [0-9a-z-]+")


@dataclass(frozen=True)
class Step:
    """One act of one caller; its seed makes all choices within it."""

    number: int
    who: int
    act: str
    seed: int


@dataclass
class Figures:
    """What a walk came to."""

    steps: int = 0
    refused: int = 0
    unknown: int = 0
    changed: int = 0
    seconds: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    acts: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    tools: set[tuple[str, str]] = field(default_factory=set)
    proofs: int = 0


def steps_of(seed: int, count: int) -> list[Step]:
    """Choose who does what."""
    chance = Random(seed)
    everybody = visitors()
    names = [name for name, (weight, _) in ACTS.items() for _ in range(weight)]
    remote = sum(not each.is_local for each in everybody)
    steps = []
    for number in range(count):
        among = len(everybody) if chance.random() < 0.25 else remote
        who = chance.randrange(among)
        act = chance.choice(AT_KEYBOARD if everybody[who].is_local else names)
        if number < len(ACTS):
            # Every act once, by somebody with a token.
            who, act = chance.randrange(remote), list(ACTS)[number]
        steps.append(Step(number, who, act, chance.getrandbits(32)))
    return steps


def settle(house: House) -> None:
    """Keep records of every kind in every place."""
    chance, app = Random(7), house.app
    founders = Hand(house, visitors()[0], chance)
    for number, (organization, repository, user) in enumerate(PLACES):
        who = Caller(
            name=f"human{number}",
            role=Role.ADMIN,
            organization=organization,
            repositories=None if repository is None else frozenset({repository}),
            user=user,
            writes_system=True,
        )
        ids = []
        for type in (MemoryType.FACT, MemoryType.BUSINESS_RULE, MemoryType.FACT, MemoryType.TASK):
            house.world.clock.turn()
            title = f"Title {founders.canary()}"
            draft = Draft(content=founders.words(), type=type, title=title)
            ids.append(app.memories.store(who, draft).id)
        app.status.lock(who, ids[2])
        app.memories.remove(who, ids[3])
        names = [f"Thing {founders.canary()}" for _ in range(2)]
        ends = [app.entities.create_entity(who, name, "thing", None, None) for name in names]
        app.entities.create_relation(who, ends[0].id, ends[1].id, "near", 1.0)
        if organization != SYSTEM:
            for _ in range(2):
                given = {"title": f"Use {founders.canary()}", "target": f"door {founders.canary()}"}
                app.get(DecisionActs).record(
                    who, DecisionDraft(**given, rationale=WHY, consequences=())
                )
            given["target"] = f"gate {founders.canary()}"
            app.get(Proposals).propose(who, DecisionDraft(**given, rationale=WHY, consequences=()))
        session = f"session {founders.canary()}"
        app.sessions.add(who, session, founders.words(), "", founders.words())
        app.summaries.summarize(who, session)
        folder = house.home / f"code{number}{founders.canary()}"
        folder.mkdir()
        (folder / "a.py").write_text(f"def brew_{founders.canary()}():\n    return 'door'\n")
        app.get(Projects).index(who, str(folder))
    house.app.embedding.settle()


class Walk:
    """Takes steps in a house, and says what is wrong."""

    def __init__(self, house: House, figures: Figures) -> None:
        self._house = house
        self._figures = figures
        self._everybody = visitors()
        self._asked: dict[str | None, list[str]] = {}
        settle(house)
        self._look()
        self._draw()

    def _draw(self) -> None:
        """Note every tool that an act may call."""
        chance = Random(1)
        for _, act in ACTS.values():
            for _ in range(20):
                made = act(Hand(self._house, chance.choice(self._everybody), chance))
                if made is not None:
                    self._figures.tools.add((made.asked.contract, made.asked.name))

    def _look(self) -> list[tuple[Record | None, Record | None]]:
        return self._house.view.update(self._house.kept.records())

    def take(self, step: Step) -> tuple[str, list[str]]:
        """Take a step: what was done, and what is wrong with it."""
        hand = Hand(self._house, self._everybody[step.who], Random(step.seed))
        made = ACTS[step.act][1](hand)
        if made is None:
            return "", []
        verdict = self._verdict(made)
        said = self._house.ask(hand.who, made.asked)
        figures = self._figures
        figures.steps += 1
        figures.acts[step.act] += 1
        figures.done[step.act] += said.is_done
        figures.refused += verdict == "refused"
        figures.unknown += verdict == "unknown"
        wrong = list(self._wrong(step, hand, made, verdict, said))
        return as_typed(made), wrong

    def _verdict(self, made: Made) -> str:
        """Return what an act must come to: the worst that the policy says of anything it is about."""
        if made.is_barred:
            return "refused"
        rule = Rule(made.who, self._house.policy, made.asked.contract)
        need = "change" if made.need == "link" else made.need
        if need == "free":
            return "free"
        view = self._house.view
        verdicts = [rule.verdict(view, need, each) for each in made.targets]
        worst = next((each for each in ("unknown", "refused", "free") if each in verdicts), "done")
        return "free" if worst == "done" and made.may_fail else worst

    def _wrong(self, step: Step, hand: Hand, made: Made, verdict: str, said: Said) -> Iterator[str]:
        changes = self._look()
        view, who, sent = self._house.view, hand.who, made.asked.sent
        self._figures.changed += bool(changes)
        if (
            said.status >= 500
            or "Traceback" in said.text
            or str(self._house.home / "one") in said.text
        ):
            yield f"status {said.status}: {said.text[:300]}"
        asked = self._asked.setdefault(who.organization, [])
        asked.append(sent)
        if step.act == "command audit":
            # The trail of an organization names what its people asked for, and what is no longer there.
            sent = "".join(asked if who.organization else chain.from_iterable(self._asked.values()))
        for each in leaks(view, made.who, said.text, sent, changes):
            if step.act != "command audit" or not each.endswith("nothing that is kept"):
                yield f"shown: {each}"
        rule = Rule(made.who, self._house.policy, made.asked.contract)
        yield from trespasses(
            view,
            made.who,
            changes,
            sent,
            writes_system=rule.writes_system,
            unlocks=made.unlocks,
        )
        if changes and (made.reads or verdict in ("unknown", "refused")):
            yield f"{len(changes)} records were changed by what is {verdict}: {changes[0]}"
        if verdict == "refused" and said.is_done:
            yield f"done, and the policy refuses it: {said.text[:200]}"
        if verdict == "done" and not said.is_done:
            yield f"refused, and the policy lets it: {said.text[:300]}"
        if made.check is not None:
            complaint = made.check(said) if said.is_done else f"refused: {said.text[:300]}"
            if complaint is not None:
                yield complaint
        if verdict == "unknown":
            yield from self._as_unknown(hand, made, said)

    def _as_unknown(self, hand: Hand, made: Made, said: Said) -> Iterator[str]:
        """Ask the same of what is not there: what is said must not differ."""
        exchange = {}
        for number, target in enumerate(made.targets):
            for old, new in _names_of(target, number):
                exchange[old] = new
        twin = made.asked.instead(exchange)
        other = self._house.ask(hand.who, twin)
        if self._look():
            yield f"something was changed by what is about nothing: {twin.sent}"
        kind = f"{made.asked.contract} {made.asked.name.split('/')[0]} {made.asked.door}"
        # The first question after a change is slow, whatever it is about; these follow two others.
        both = [("not yours", made.asked), ("not there", twin)]
        hand.chance.shuffle(both)
        for name, asked in both:
            began = time.perf_counter()
            self._house.ask(hand.who, asked)
            self._figures.seconds[kind, name].append(time.perf_counter() - began)
        one, two = (
            (each.is_done, each.status, _without(each.text, exchange)) for each in (said, other)
        )
        if one != two:
            yield f"not as what is not there: {one} and {two}"


def _names_of(record: Record, number: int) -> Iterator[tuple[str, str]]:
    """By what a request names a record, and the like that nothing is named by."""
    match record:
        case Memory():
            none = f"{'0' * 19}{number}"
            yield record.uuid, str(uuid_of(none))
            yield record.id, none
        case Entity():
            yield record.id, f"{'0' * 19}{number}"
        case Decision() | Proposal():
            yield record.id, f"{record.id.partition('_')[0]}_20200101T000000000000Z_00000000"
        case Turn():
            yield record.session, "session canary00000000"
        case Project():
            yield record.id, "code0canary00000000"
        case _:
            raise AssertionError(f"no name for {record.kind}")


def _without(text: str, exchange: dict[str, str]) -> str:
    """What is said but for the names and the time."""
    for names in exchange.items():
        for name in names:
            text = text.replace(name, "X")
    return _TIMES.sub("T", text)


def play(
    policy: str, steps: Sequence[Step], figures: Figures, proving: int = 0
) -> tuple[list[str], list[str]]:
    """Take steps in a house of its own until something is wrong: what was done, what is wrong.

    The trail and the records are held against one another at the end, and after each `proving` steps.
    """
    done: list[str] = []
    with TemporaryDirectory(prefix="walk") as home, houses(Path(home), policy) as house:
        walk = Walk(house, figures)
        for step in steps:
            typed, wrong = walk.take(step)
            done.append(typed)
            if not wrong and (len(done) == len(steps) or (proving and len(done) % proving == 0)):
                wrong = list(unproven(house.app.get(TrailProving).prove(OWNER)))
                figures.proofs += 1
            if wrong:
                return done, wrong
    return done, []


def shrunk(policy: str, steps: Sequence[Step], attempts: int = 40) -> list[Step]:
    """Take out of failing steps all that the failure of the last does not need, in so many attempts."""
    left, size = list(steps), max(1, len(steps) // 2)
    while attempts > 0 and len(left) > 1:
        for start in range(0, len(left) - 1, size):
            fewer = left[:start] + left[min(start + size, len(left) - 1) :]
            attempts -= 1
            if attempts <= 0:
                break
            done, wrong = play(policy, fewer, Figures())
            if wrong and len(done) == len(fewer):
                left = fewer
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
            continue
        size = min(size, max(1, len(left) // 2))
    return left


def walked(policy: str, seed: int, count: int, figures: Figures) -> None:
    """Walk so many steps. Raises AssertionError with the few steps that show what is wrong."""
    steps = steps_of(seed, count)
    done, wrong = play(policy, steps, figures, PROVING)
    if not wrong:
        return
    few = shrunk(policy, steps[: len(done)])
    again, still = play(policy, few, Figures())
    shown = [line for line in again if line]
    raise AssertionError(
        "\n".join(
            [f"policy {policy}, seed {seed}, step {len(done) - 1}:", *shown, *(still or wrong)]
        )
    )
