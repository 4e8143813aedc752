"""A contract: its promise, read from `contract.json`, joined to the code that answers."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any

from minutebook.app import App
from minutebook.contracts.arguments import Arguments
from minutebook.domain.errors import InvalidInput, MinutebookError
from minutebook.domain.policy import Caller

Operation = Callable[..., Mapping[str, Any]]
"""Answers one tool: takes the app, the caller and the tool's arguments by name."""

Wording = Callable[[MinutebookError], str]
"""Puts a fact of the domain into the contract's words."""


@dataclass(frozen=True)
class Tool:
    """One tool as it was promised; `is_listed` tells whether clients are shown it."""

    promise: Mapping[str, Any]
    is_listed: bool

    @property
    def name(self) -> str:
        """The name by which it is called."""
        return str(self.promise["name"])

    @cached_property
    def arguments(self) -> Arguments:
        """What its arguments must be."""
        return Arguments(
            self.promise["inputSchema"],
            self.promise.get("enforce", {}),
            self.promise.get("hiddenProperties", {}),
        )


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name for a tool, or for several between which the argument `by` chooses."""

    to: str | Mapping[str, str]
    by: str = ""
    default: str | None = None

    def resolve(self, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Give the tool that is meant and its own arguments."""
        if isinstance(self.to, str):
            return self.to, dict(given)
        arguments = dict(given)
        choice = arguments.pop(self.by, None)
        if choice is None:
            choice = self.default
        chosen = self.to.get(choice) if isinstance(choice, str) else None
        if chosen is None:
            raise InvalidInput(self.by, f"must be one of {', '.join(self.to)}")
        return chosen, arguments


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call came to: an object in the contract's shape, or an error's text."""

    content: Mapping[str, Any] | None
    error: str | None = None


class Contract:
    """One published contract, ready to be called."""

    def __init__(self, package: str, operations: Mapping[str, Operation], word: Wording) -> None:
        text = resources.files(package).joinpath("contract.json").read_text(encoding="utf-8")
        self.promise: Mapping[str, Any] = json.loads(text)
        self.name = str(self.promise["contract"])
        self._operations = operations
        self.word = word
        hidden = self.promise["hidden"]
        listed = [Tool(promise, is_listed=True) for promise in self.promise["tools"]]
        unlisted = [Tool(each, is_listed=False) for each in hidden if "to" not in each]
        self.tools = {tool.name: tool for tool in (*listed, *unlisted)}
        self.aliases = {
            each["name"]: Alias(each["to"], each.get("by", ""), each.get("default"))
            for each in hidden
            if "to" in each
        }

    def offers(self, name: str) -> bool:
        """Tell whether a tool can be called by that name."""
        return name in self.tools or name in self.aliases

    def call(self, app: App, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Answer a call of a tool that this contract offers."""
        try:
            if name in self.aliases:
                name, arguments = self.aliases[name].resolve(arguments)
            checked = self.tools[name].arguments.check(arguments)
            return Answer(self._operations[name](app, caller, **checked))
        except MinutebookError as error:
            return Answer(None, self.word(error))

    def schema(self) -> dict[str, Any]:
        """Give the whole promise as one document."""
        return {
            "mcp_api_version": self.promise["mcp_api_version"],
            "info": dict(self.promise["info"]),
            "tools": {
                tool.name: {
                    "description": tool.promise["description"],
                    "input_schema": tool.promise["inputSchema"],
                    "output_schema": tool.promise.get("outputSchema"),
                    "annotations": tool.promise["annotations"],
                }
                for tool in self.tools.values()
                if tool.is_listed
            },
            "errors": dict(self.promise["errors"]),
        }
