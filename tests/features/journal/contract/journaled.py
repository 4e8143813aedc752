"""A client of the journal contract: real answers, each held to its published schema."""

import json
from dataclasses import dataclass, replace
from typing import Any

from minutebook.features.journal.contract import journal
from minutebook.record.caller import Sample
from tests.world import World, validator

CONTRACT = journal()
ERRORS = CONTRACT.promise["errors"]
LEAD = "Tool Error: "
BETWEEN = ". Message: "


@dataclass(frozen=True)
class Client:
    """A client of the contract, on a connection with a session of its own."""

    world: World

    def by(self, **changes: Any) -> "Client":
        """The same client as another start-up identity, or another connection, makes it."""
        return replace(self, world=self.world.by(**changes))

    def asking(self, sample: Sample) -> "Client":
        """The same client, with a model of its own."""
        return self.by(sample=sample)

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must answer."""
        self.world.clock.turn()
        answer = self.world.speaking(CONTRACT).call(tool, **arguments)
        check_shape(tool, answer)
        return answer

    def refused(self, tool: str, /, **arguments: Any) -> tuple[str, str]:
        """Call a tool that must not answer; the error's name and message."""
        failure = self.world.speaking(CONTRACT).failure(tool, **arguments)
        return told(failure.text, failure.code, failure.structured, failure.name)

    def add(self, prompt: str, session: str | None = None, **more: str) -> dict[str, Any]:
        """Store a turn; what is answered."""
        said = {"prompt": prompt, "thought": "", "response": "", **more}
        return self.call("add_memory", **said, sessionId=session)

    def prompts(self, session: str, **page: int) -> list[str]:
        """Read a session; its prompts."""
        found = self.call("get_session_memories", sessionId=session, **page)
        return [each["prompt"] for each in found["memories"]]

    def found(self, query: str, **more: Any) -> list[str]:
        """Search turns; the prompts found, nearest first."""
        results = self.call("query_raw_memories", query=query, **more)["results"]
        distances = [each["distance"] for each in results if "distance" in each]
        assert distances == sorted(distances)
        return [each["prompt"] for each in results]


def check_shape(tool: str, answer: dict[str, Any]) -> None:
    """See that an answer is as its output schema says, and holds nothing more."""
    validator("journal", tool).validate(answer)


def told(text: str, code: int | None, structured: Any, name: str) -> tuple[str, str]:
    """The name and message of an error, in the form that the contract promises."""
    assert (code, structured) == (None, None)
    assert text.startswith(LEAD)
    said, between, message = text.removeprefix(LEAD).partition(BETWEEN)
    assert between
    assert said == name
    assert said in ERRORS
    assert message.endswith(".")
    # What goes over the wire is UTF-8.
    json.dumps(text, ensure_ascii=False).encode()
    return said, message
