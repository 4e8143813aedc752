"""The `ledger` contract as a client meets it: every answer held to its published schema."""

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jsonschema

from minutebook.features.ledger.contract import ledger
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.record.records import Decision, Proposal, Role
from tests.world import World

CONTRACT = ledger()
SECRET = "open sesame, said the admin"
WHY = "It keeps what it was given, through power cuts too."
UNKNOWN = "decision_20200101T000000000000Z_00000000"
WINDOW = 3600.0

Refusal = tuple[int, str, list[str]]
"""An error's code, its reason, and the ids concerned."""


@dataclass(frozen=True)
class Client:
    """A client of the contract."""

    world: World

    def by(self, **changes: Any) -> "Client":
        """The same client as another start-up identity makes it."""
        return replace(self, world=self.world.by(**changes))

    def of(self, role: Role, name: str = "ana") -> "Client":
        """The same client in another role."""
        return self.by(role=role, name=name)

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must answer."""
        self.world.clock.turn()
        answer = self.world.speaking(CONTRACT).call(tool, **arguments)
        _validator(tool).validate(answer)
        assert set(answer) == set(CONTRACT.tools[tool].promise["outputSchema"]["properties"])
        assert answer["status"] == "success"
        assert answer["message"].endswith(".")
        return answer

    def refused(self, tool: str, /, **arguments: Any) -> Refusal:
        """Call a tool that must not answer; the error, whose form is checked."""
        failure = self.world.speaking(CONTRACT).failure(tool, **arguments)
        return told(failure.text, failure.code, failure.structured)

    def record(self, target: str, title: str = "Use SQLite", why: str = WHY, **more: Any) -> str:
        """Record a first decision; its id."""
        arguments = {"target": target, "title": title, "rationale": why, **more}
        id: str = self.call("record_decision", **arguments)["decision_id"]
        return id

    def supersede(
        self, target: str, *old: str, title: str = "Use PostgreSQL", why: str = WHY, **more: Any
    ) -> str:
        """Record a decision in place of others; its id."""
        arguments = {"target": target, "title": title, "rationale": why, **more}
        done = self.call("supersede_decision", old_decision_ids=[*old], **arguments)
        id: str = done["decision_id"]
        return id

    def propose(self, target: str, title: str = "Use DuckDB", why: str = WHY, **more: Any) -> str:
        """Propose a decision; the proposal's id."""
        arguments = {"target": target, "title": title, "rationale": why, **more}
        id: str = self.call("propose_decision", **arguments)["proposal_id"]
        return id

    def search(self, query: str, mode: str = "balanced", limit: int = 20) -> list[dict[str, Any]]:
        """Search; the results, best first."""
        found = self.call("search_decisions", query=query, mode=mode, limit=limit)["results"]
        scores = [each["score"] for each in found]
        assert scores == sorted(scores, reverse=True)
        assert all(len(each["preview"]) <= 200 for each in found)
        results: list[dict[str, Any]] = found
        return results

    def ids(self, query: str, mode: str = "balanced", limit: int = 20) -> list[str]:
        """Search; the ids found, best first."""
        return [each["id"] for each in self.search(query, mode, limit)]

    def decision(self, id: str) -> Decision:
        """A decision as it is kept."""
        found = self.world.app.get(DecisionActs).read(self.world.caller, id)
        assert isinstance(found, Decision)
        return found

    def proposal(self, id: str) -> Proposal:
        """A proposal as it is kept."""
        found = self.world.app.get(DecisionActs).read(self.world.caller, id)
        assert isinstance(found, Proposal)
        return found


@cache
def _validator(tool: str) -> jsonschema.Draft202012Validator:
    schema = CONTRACT.tools[tool].promise["outputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def told(text: str, code: int | None, structured: Any) -> Refusal:
    """The error of a refusal, in the form that the contract promises."""
    leads = {-32602: "Invalid params: ", -32000: "Execution error: ", 403: "Permission denied: "}
    assert code in leads
    assert text.startswith(leads[code])
    assert text.endswith(".")
    assert set(structured) == {"reason", "ids"} | (
        {"argument"} if code == -32602 else {"act"} if code == 403 else set()
    )
    assert structured["reason"] in text
    assert all(isinstance(each, str) for each in structured["ids"])
    # What goes over the wire is UTF-8.
    json.dumps([text, structured], allow_nan=False, ensure_ascii=False).encode()
    return code, structured["reason"], structured["ids"]
