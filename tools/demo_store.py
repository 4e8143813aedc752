"""A store for the pictures of the pages: two months of a small team that rebuilds its billing, made up."""

import secrets
import tomllib
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from minutebook.app import App, now, open_app
from minutebook.config import Settings
from minutebook.memory.search.recall import WEIGHTS
from minutebook.record.caller import Call, Caller
from minutebook.record.errors import MinutebookError, Refused
from minutebook.record.ids import RandomBits
from minutebook.record.origin import Origin
from minutebook.record.records import DEFAULT_ORGANIZATION, Memory, MemoryType, Role
from minutebook.record.writing.drafts import Draft
from minutebook.serve.contracts.registry import CONTRACTS

BEGAN = timedelta(days=42)
"""How long ago the story begins: its last steps are taken at its end, so that *Today* has something to tell."""

STEP = timedelta(days=2, hours=1)
"""How much of the story's time passes from one thing that happens to the next."""


def fill(
    settings: Settings, ends: datetime | None = None, randbits: RandomBits = secrets.randbits
) -> None:
    """Fill the new store of these settings with the story; texts get their vectors once it is opened.

    The story ends at an instant, by default a minute ago.
    """
    clock = _Clock((ends or now()) - timedelta(minutes=1))
    with closing(open_app(settings, clock=clock, randbits=randbits)) as app:
        _Story(app, clock).tell(settings.home / "billing")


class _Clock:
    """The story's time: it passes as the story tells, and a little with each look."""

    def __init__(self, ends: datetime) -> None:
        self._now, self._ends = ends - BEGAN, ends

    def __call__(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now

    def pass_on(self) -> None:
        """Let some time pass, but not beyond the end."""
        self._now = min(self._now + STEP, self._ends)


class _Story:
    """Tells the story to an app."""

    def __init__(self, app: App, clock: _Clock) -> None:
        story = Path(__file__).with_name("demo_store.toml").read_text(encoding="utf-8")
        self._told = tomllib.loads(story)
        self._app = app
        self._clock = clock
        self._agent = _caller("scribe", Role.AGENT, "scribe")
        self._ada = _caller("ada", Role.MANAGER, "browser")
        self._grace = _caller("grace", Role.HUMAN, "browser")

    def tell(self, code: Path) -> None:
        """Tell it from beginning to end; the team's code is written to a folder."""
        self._know_things()
        memories = [
            self._remember(each["content"], MemoryType(each["type"]), each.get("title"))
            for each in self._told["facts"]
        ]
        if "ledger" in CONTRACTS:
            self._decide()
        self._correct(memories)
        self._talk()
        self._ask()
        if "index_project" in CONTRACTS["knowledge"]().names:
            self._write_code(code)

    def _know_things(self) -> None:
        ids = {}
        for type, names in self._told["entities"].items():
            for name in names:
                entity = self._app.entities.create_entity(self._agent, name, type, None, None)
                ids[name] = entity.id
        for source, target, type in self._told["graph"]["relations"]:
            self._app.entities.create_relation(self._agent, ids[source], ids[target], type, 1.0)

    def _remember(
        self, content: str, type: MemoryType, title: str | None = None, by: Caller | None = None
    ) -> Memory:
        self._clock.pass_on()
        draft = Draft(content=content, type=type, title=title)
        return self._app.memories.store(by or self._agent, draft)

    def _decide(self) -> None:
        first, second, proposed = self._told["decisions"]
        old = self._put(self._grace, "record_decision", first)["decision_id"]
        old = self._put(self._grace, "supersede_decision", second, old_decision_ids=[old])[
            "decision_id"
        ]
        self._put(self._agent, "propose_decision", proposed, supersedes=[old])

    def _put(
        self, caller: Caller, tool: str, decision: Mapping[str, Any], **named: Any
    ) -> Mapping[str, Any]:
        self._clock.pass_on()
        return self._call(
            caller,
            "ledger",
            tool,
            title=decision["title"],
            target="queue before the gateway",
            rationale=decision["why"],
            consequences=decision["follows"],
            **named,
        )

    def _correct(self, memories: list[Memory]) -> None:
        app, cents, tasks = self._app, memories[0], memories[10]
        self._clock.pass_on()
        app.status.verify(self._grace, cents.id)
        app.memories.update(
            self._agent, memories[2].id, {"content": memories[2].content.replace("7443", "8443")}
        )
        self._clock.pass_on()
        port = self._remember("The staging database listens on port 5432.", MemoryType.FACT)
        self._clock.pass_on()
        moved = Draft(content="The staging database listens on port 6543.", type=MemoryType.FACT)
        app.memories.store_joined(self._grace, moved, [], [port.id], "moved behind the pooler")
        app.status.deprecate(self._grace, tasks.id, "The new checkout is live")
        rule = self._remember(
            "Card numbers are written to no log, no memory and no ticket.",
            MemoryType.BUSINESS_RULE,
            "Card numbers stay out",
            self._ada,
        )
        app.status.lock(self._ada, rule.id)
        app.links.link(self._agent, memories[1].id, memories[6].id, "learned from")
        app.links.link(self._agent, memories[11].id, memories[8].id, "limits")
        try:
            # Refused, and on the trail.
            app.memories.delete(self._agent, rule.id)
        except Refused:
            self._clock.pass_on()

    def _talk(self) -> None:
        for turn in self._told["turns"]:
            self._clock.pass_on()
            self._app.sessions.add(self._agent, "checkout-fails", **turn)
        self._app.summaries.summarize(self._agent, "checkout-fails")

    def _ask(self) -> None:
        for question in self._told["questions"]:
            found = self._app.recall.recall(self._agent, question, 4, WEIGHTS).hits
            got = [(each.record, each.hit.score) for each in found]
            self._app.note_answer(self._agent, "recall", question, got)

    def _write_code(self, folder: Path) -> None:
        self._clock.pass_on()
        for name, text in self._told["code"].items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self._call(self._agent, "knowledge", "index_project", path=str(folder))

    def _call(
        self, caller: Caller, contract: str, tool: str, **arguments: Any
    ) -> Mapping[str, Any]:
        """Return a tool's answer. Raises MinutebookError if it answers with an error."""
        answer = CONTRACTS[contract]().call(self._app, caller, tool, arguments)
        if answer.content is None:
            raise MinutebookError(f"{tool}: {answer.text}")
        return answer.content


def _caller(name: str, role: Role, client: str) -> Caller:
    origin = Origin(client=client, session="checkout-fails")
    call = Call(session="checkout-fails", origin=origin)
    return Caller(name=name, role=role, organization=DEFAULT_ORGANIZATION, call=call)
