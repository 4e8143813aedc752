"""A contract: its promise, read from `contract.json`, joined to the code that answers."""

import copy
import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from minutebook.app import App
from minutebook.record.caller import Caller, Note, with_call
from minutebook.record.errors import InvalidInput, MinutebookError
from minutebook.record.reason import Reason, must_be_one_of
from minutebook.record.rights.redaction import redacted_for
from minutebook.serve.contracts.announced import for_lines, narrowed, safe_name
from minutebook.serve.contracts.answers import Answer, Content, Failure, answered, failed
from minutebook.serve.contracts.arguments import Arguments
from minutebook.serve.contracts.lines import as_lines
from minutebook.serve.contracts.resources import PromptData, Resource, ResourceHandlers, text_of
from minutebook.serve.contracts.stacks import Stack

log = logging.getLogger(__name__)

LONGEST_PROMPT_ARGUMENT = 2_000
"""Characters of an argument of a prompt."""

Operation = Callable[..., Content]
"""Answers one tool: takes the app, the caller and the tool's arguments by name."""

Unopened = Callable[[MinutebookError], Content]
"""Answers a tool without arguments where the store could not be opened; takes the error of opening it."""

Wording = Callable[[MinutebookError, Mapping[str, Any]], Failure]
"""Puts an error into the contract's words; takes the error, and the arguments of the call as they were sent."""


@dataclass(frozen=True)
class Tool:
    """One tool as the contract promises it; `is_listed` if clients are shown it."""

    promise: Mapping[str, Any]
    is_listed: bool

    @property
    def name(self) -> str:
        """The name by which it is called."""
        return str(self.promise["name"])

    @cached_property
    def arguments(self) -> Arguments:
        """The check of its arguments, without those in `atGate`, which the contract's gate checks."""
        schema, at_gate = self.promise["inputSchema"], self.promise.get("atGate", ())
        properties = {
            name: each for name, each in schema["properties"].items() if name not in at_gate
        }
        required = [name for name in schema.get("required", []) if name not in at_gate]
        return Arguments(
            {"properties": properties, "required": required},
            self.promise.get("enforce", {}),
            self.promise.get("hiddenProperties", {}),
            leaves_out=schema.get("additionalProperties", True) is not False,
        )


Admitted = tuple[Caller, Mapping[str, Any]]
"""The caller and the arguments with which a call goes on."""

Gate = Callable[[App, Caller, Tool, Mapping[str, Any]], AbstractContextManager[Admitted]]
"""Admits a call before its arguments are checked; the errors of the call pass through it."""


@contextmanager
def open_gate(
    app: App, caller: Caller, tool: Tool, arguments: Mapping[str, Any]
) -> Iterator[Admitted]:
    """Admit every call unchanged: the gate of a contract that has none of its own."""
    yield caller, arguments


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name for the tool `to`, or for several tools, by the value of the argument `by` that chooses each."""

    to: str | Mapping[str, str]
    by: str = ""
    default: str | None = None

    def resolve(self, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the name of the tool that is meant, and the arguments without the one that chose it.

        Raises InvalidInput if the argument that chooses the tool has an unknown value.
        """
        if isinstance(self.to, str):
            return self.to, dict(arguments)
        arguments = dict(arguments)
        choice = arguments.pop(self.by, None)
        if choice is None:
            choice = self.default
        chosen = self.to.get(choice) if isinstance(choice, str) else None
        if chosen is None:
            raise InvalidInput(self.by, must_be_one_of(self.to))
        return chosen, arguments


class Contract:
    """One published contract, ready to be called."""

    def __init__(
        self,
        package: str,
        operations: Mapping[str, Operation],
        word: Wording,
        *,
        gate: Gate = open_gate,
        handlers: ResourceHandlers | None = None,
        unopened: Mapping[str, Unopened] | None = None,
    ) -> None:
        """`word` words an error; `unopened` has the tools that are answered also where the store could not be opened."""
        self._package = package
        self.promise: Mapping[str, Any] = json.loads(text_of(package, "contract.json"))
        self.name = str(self.promise["contract"])
        self._operations = operations
        self.word = word
        self._gate = gate
        self._handlers = handlers or ResourceHandlers()
        self._unopened = unopened or {}
        self._answers_in_lines = False
        listed = [Tool(each, is_listed=True) for each in self.promise["tools"]]
        unlisted = [
            Tool(each, is_listed=False) for each in self.promise["hidden"] if "to" not in each
        ]
        self.tools = {tool.name: tool for tool in (*listed, *unlisted)}
        promised = self.promise.get("resources", [])
        self.resources = [Resource(each) for each in promised if "uri" in each]
        self.templates = [Resource(each) for each in promised if "uriTemplate" in each]
        self._name_all()

    def _name_all(self) -> None:
        """Find the aliases, all names and the prompts of the current promise."""
        self.aliases = {
            each["name"]: Alias(each["to"], each.get("by", ""), each.get("default"))
            for each in self.promise["hidden"]
            if "to" in each
        }
        self._names = {safe_name(name): name for name in self.names}
        promised = {str(each["name"]): each for each in self.promise.get("prompts", [])}
        self.prompts = {
            name: each
            for name, each in promised.items()
            if name in self._handlers.prompts
            or "{data}" not in text_of(self._package, each["file"])
        }

    def narrowed(self, *, read_only: bool, tools: Collection[str]) -> "Contract":
        """Return the same contract with fewer tools, as `announced.narrowed` chooses them."""
        contract = copy.copy(self)
        contract.promise = promise = narrowed(self.promise, read_only=read_only, tools=tools)
        kept = {each["name"] for each in (*promise["tools"], *promise["hidden"])}
        contract.tools = {name: tool for name, tool in self.tools.items() if name in kept}
        contract._name_all()
        return contract

    def in_lines(self) -> "Contract":
        """Return the same contract, answering in lines of text for models instead of objects."""
        contract = copy.copy(self)
        contract.promise = promise = for_lines(self.promise)
        tools = {each["name"]: each for each in (*promise["tools"], *promise["hidden"])}
        contract.tools = {
            name: replace(tool, promise=tools[name]) for name, tool in self.tools.items()
        }
        contract._answers_in_lines = True
        return contract

    @property
    def listed(self) -> list[str]:
        """The names of the tools that clients are shown."""
        return [tool.name for tool in self.tools.values() if tool.is_listed]

    @property
    def names(self) -> set[str]:
        """Every name by which a tool can be called, as the promise spells it."""
        return {*self.tools, *self.aliases}

    def offers(self, name: str) -> bool:
        """Tell whether a tool can be called by that name, or its safe spelling."""
        return safe_name(name) in self._names

    def samples(self, name: str) -> bool:
        """Tell whether the tool of that name, or its safe spelling, may ask the client's model."""
        tool = self.tools.get(self._names[safe_name(name)])
        return tool is not None and bool(tool.promise.get("asks"))

    def unopened(self, name: str) -> Callable[[MinutebookError, Caller], Answer] | None:
        """Return the function that answers a tool where the store could not be opened; None if the tool then fails."""
        handler = self._unopened.get(self._names[safe_name(name)])
        if handler is None:
            return None
        return lambda error, caller: answered(handler(redacted_for(caller, error)))

    def call(self, app: App, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Answer a call of a tool that this contract offers."""
        called_with, notes = arguments, dict(caller.call.notes)
        in_lines = self._answers_in_lines or caller.call.in_lines
        caller = with_call(caller, notes=notes, in_lines=in_lines)
        try:
            name = self._names[safe_name(name)]
            if name in self.aliases:
                name, arguments = self.aliases[name].resolve(arguments)
            tool = self.tools[name]
            with self._gate(app, caller, tool, arguments) as (admitted, remaining):
                checked = tool.arguments.check(remaining)
                if left_out := tool.arguments.left_out(remaining):
                    notes["arguments"] = _note_on_ignored(left_out, tool.arguments)
                answer = answered(self._operations[name](app, admitted, **checked))
                if self._answers_in_lines and answer.content is not None:
                    answer = replace(answer, text=as_lines(answer.content, notes), in_lines=True)
                return replace(answer, notes=notes)
        except MinutebookError as error:
            return failed(self.worded(error, caller, called_with))

    def worded(
        self, error: MinutebookError, caller: Caller, arguments: Mapping[str, Any]
    ) -> Failure:
        """Return an error in the contract's words; a caller with a token learns nothing about this machine.

        The error's stack is logged at level `debug`.
        """
        cause = type(error).__name__
        log.debug("raised %s", cause, extra={"stack": Stack(error)})
        shown = redacted_for(caller, error)
        if shown is not error:
            log.error("told as less to the token %s: %s", caller.token, error)
        return replace(self.word(shown, arguments), cause=cause)

    def resource(self, uri: str) -> Resource | None:
        """Return the promised resource or template that a URI belongs to, None if none does."""
        known = (*self.resources, *self.templates)
        return next((each for each in known if each.match(uri) is not None), None)

    def read(self, app: App, caller: Caller, uri: str) -> Answer:
        """Read a resource. Raises LookupError if the contract promises none with that URI."""
        resource = self.resource(uri)
        if resource is None:
            raise LookupError(uri)
        variables = resource.match(uri) or {}
        try:
            if "page" in resource.promise:
                return Answer(text_of(self._package, resource.promise["page"]))
            return answered(self._handlers.readers[resource.name](app, caller, **variables))
        except MinutebookError as error:
            return failed(self.worded(error, caller, variables))

    def listing(self, app: App, caller: Caller) -> list[Mapping[str, Any]]:
        """Describe every resource that a client is shown: the promised ones, then those in the store."""
        list_stored = self._handlers.listing
        stored = () if list_stored is None else list_stored(app, caller)
        return [*(each.promise for each in self.resources), *stored]

    def complete(
        self, app: App, caller: Caller, template: str, variable: str, typed: str
    ) -> list[str]:
        """Return the values of a template's variable that begin with `typed`."""
        for each in self.templates:
            if each.promise["uriTemplate"] == template:
                complete = self._handlers.completions.get(f"{each.name}/{variable}")
                return [] if complete is None else complete(app, caller, typed)
        return []

    def prompt_text(self, name: str) -> str:
        """Return the text of a promised prompt, its arguments as `{names}`."""
        return text_of(self._package, self.prompts[name]["file"])

    def prompt(self, name: str, arguments: Mapping[str, str] = {}) -> str:
        """Return the text of a promised prompt with arguments in place of their `{names}`.

        Raises InvalidInput if one is missing, empty, too long or unknown.
        """
        text = self.prompt_text(name)
        known = [each["name"] for each in self.prompts[name].get("arguments", ())]
        for given in arguments:
            if given not in known:
                remedy = Reason(
                    "is no argument of the prompt {name}; it takes {names}",
                    name=name,
                    names=", ".join(known) or "none",
                )
                raise InvalidInput(given[:50], remedy)
        for each in known:
            value = arguments.get(each, "").strip()
            if not 0 < len(value) <= LONGEST_PROMPT_ARGUMENT:
                remedy = Reason(
                    "must be a text of 1 to {most:,} characters", most=LONGEST_PROMPT_ARGUMENT
                )
                raise InvalidInput(each, remedy)
            text = text.replace(f"{{{each}}}", value)
        return text

    def prompt_data(self, name: str) -> PromptData | None:
        """Return the function that returns the text for `{data}` in a prompt; None if the prompt has no `{data}`."""
        return self._handlers.prompts.get(name)

    def schema(self) -> dict[str, Any]:
        """Return the promise as one document, or the parts of it that `document` names."""
        document = {
            "mcp_api_version": self.promise["mcp_api_version"],
            "info": dict(self.promise["info"]),
            "tools": {
                tool.name: {
                    "description": tool.promise["description"],
                    "input_schema": tool.promise["inputSchema"],
                    "output_schema": tool.promise.get("outputSchema"),
                }
                for tool in self.tools.values()
                if tool.is_listed
            },
            "errors": dict(self.promise["errors"]),
        }
        if self.resources or self.templates:
            document["resources"] = [
                _public(each.promise) for each in (*self.resources, *self.templates)
            ]
        if self.prompts:
            document["prompts"] = [
                {**_public(each), "text": self.prompt_text(name)}
                for name, each in self.prompts.items()
            ]
        parts = self.promise.get("document", list(document))
        return {name: document[name] for name in parts}

    def exported(self) -> str:
        """Return the promise as the text of one JSON document."""
        return json.dumps(self.schema(), indent=2, ensure_ascii=False) + "\n"


def _note_on_ignored(left_out: Sequence[str], known: Arguments) -> Note:
    """Return the note on arguments that were ignored, each with the known one that may be meant."""
    meant = {name[:50]: known.nearest(name) for name in left_out}
    named = ", ".join(f"{name} (not {near}?)" if near else name for name, near in meant.items())
    text = Reason("Left out, since this tool has no such argument: {named}.", named=named)
    return Note({"left_out": list(meant)}, text)


def _public(promise: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in promise.items() if key not in {"page", "file", "needs"}}
