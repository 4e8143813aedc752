"""The announcement of a server of some contracts and of its tools, from their `contract.json` alone.

Nothing else of a contract is imported, and only what is quick to import: the thin proxy answers
from here while the daemon starts. tests/serve/contracts/test_announced.py compares it with the server.
"""

import json
import os

from minutebook import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    Promise = Mapping[str, Any]

MODERN_VERSION = "2026-07-28"
"""The revision of the protocol without a handshake: each request says the version in `_meta`."""

WEBSITE = "https://minutebook.example/"
"""The homepage of the project, as pyproject.toml has it."""

ICON = (
    "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9"
    "IjAgMCAyNCAyNCI+PHJlY3QgeD0iNCIgeT0iMiIgd2lkdGg9IjE2IiBoZWlnaHQ9IjIwIiByeD0iMiIgZmlsbD0iIz"
    "FmNmY1YyIvPjxwYXRoIGQ9Ik04IDJ2MjAiIHN0cm9rZT0iI2Y2ZjNlYSIgc3Ryb2tlLXdpZHRoPSIxLjUiLz48cGF0"
    "aCBkPSJNMTEgOGg2TTExIDEyaDZNMTEgMTZoNCIgc3Ryb2tlPSIjZjZmM2VhIiBzdHJva2Utd2lkdGg9IjEuNiIgc3"
    "Ryb2tlLWxpbmVjYXA9InJvdW5kIi8+PC9zdmc+Cg=="
)
"""The mark of the web pages, for a client that shows whose tools it calls."""

_OWN = os.path.dirname(__file__)
_FEATURES = os.path.join(os.path.dirname(os.path.dirname(_OWN)), "features")

SKILL_FILE = os.path.join(_OWN, "skills", "minutebook", "SKILL.md")
SKILLS_EXTENSION = "io.modelcontextprotocol/skills"
_SKILLED = {"recall", "store_memory"}
"""The tools that the skill is about."""

_OUTPUT_SCHEMAS_SINCE = "2025-06-18"

_SHOWN = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""The parts of a tool's promise that clients are shown."""


def safe_name(name: str) -> str:
    """Return a tool's name with underscores in place of hyphens and dots."""
    return name.replace("-", "_").replace(".", "_")


def for_lines(promise: "Promise") -> "Promise":
    """Return a promise with tools that answer in lines of text for models, and so have no schema of their output.

    A tool that has `forAgents` gets the description and the properties that are listed there; it
    still takes its other properties, as hidden ones.
    """
    tools, hidden = (map(_tool_for_lines, promise[name]) for name in ("tools", "hidden"))
    return {**promise, "tools": list(tools), "hidden": list(hidden)}


def _tool_for_lines(tool: "Promise") -> "Promise":
    shown = {name: part for name, part in tool.items() if name != "outputSchema"}
    for_agents = tool.get("forAgents")
    if for_agents is None:
        return shown
    shown["description"] = for_agents["description"]
    if "properties" in for_agents:
        schema = tool["inputSchema"]
        every = {**schema["properties"], **tool.get("hiddenProperties", {})}
        wanted = for_agents["properties"]
        shown["inputSchema"] = {**schema, "properties": {name: every[name] for name in wanted}}
        hidden = {name: each for name, each in every.items() if name not in wanted}
        shown["hiddenProperties"] = hidden
    return shown


def agent_tool_names(promise: "Promise") -> "list[str]":
    """Return the names of the tools that an agent is shown by default."""
    return [tool["name"] for tool in promise["tools"] if "forAgents" in tool]


def tool_entry(tool: "Promise", *, has_output_schema: bool, client: str = "") -> "dict[str, Any]":
    """Return the entry of a tool in `tools/list`, for the client of the name `client`.

    Its output schema names only the fields that every answer has; `export-schema` prints it whole.
    """
    entry = {name: tool[name] for name in _SHOWN if tool.get(name) is not None}
    schema = entry.pop("outputSchema", None)
    if schema is not None and has_output_schema:
        entry["outputSchema"] = _outline(schema)
    # Gemini's API refuses a request with a format that it does not know.
    return _without_uuid(entry) if "gemini" in client.lower() else entry


def _without_uuid(entry: "dict[str, Any]") -> "dict[str, Any]":
    """Return the entry of a tool without the format `uuid` in its schemas."""

    def kept(part: "dict[str, Any]") -> "dict[str, Any]":
        return {name: each for name, each in part.items() if (name, each) != ("format", "uuid")}

    return dict(json.loads(json.dumps(entry), object_hook=kept))


def knows_output_schemas(version: str) -> bool:
    """Tell whether a tool can have a schema of its output at a revision of the protocol."""
    return version >= _OUTPUT_SCHEMAS_SINCE


def _outline(schema: "Promise") -> "dict[str, Any]":
    """Return a schema of an object that says only which properties it always has."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [_outline(each) for each in schema["anyOf"]]}
    return {name: part for name, part in schema.items() if name in ("type", "required")}


def narrowed(promise: "Promise", *, read_only: bool, tools: "Collection[str]") -> "Promise":
    """Return a promise with fewer tools: those that only read if `read_only`, those named in `tools` unless it is empty.

    A name may be spelled safe. The aliases of a tool that is left out, and prompts that need it, are
    left out too; the instructions say which tools remain.
    """
    if not read_only and not tools:
        return promise
    wanted = {safe_name(each) for each in tools}

    def is_kept(tool: "Promise") -> bool:
        only_reads = bool(tool["annotations"]["readOnlyHint"])
        return (only_reads or not read_only) and (not wanted or safe_name(tool["name"]) in wanted)

    kept = [tool for tool in promise["tools"] if is_kept(tool)]
    unlisted = [each for each in promise["hidden"] if "to" not in each and is_kept(each)]
    names = {tool["name"] for tool in (*kept, *unlisted)}
    aliases = (_narrowed_alias(each, names) for each in promise["hidden"] if "to" in each)
    info = promise["info"]
    here = ", ".join(tool["name"] for tool in kept) or "none"
    sentence = f"Of these tools only some are served on this connection: {here}."
    if read_only:
        sentence += " It is read-only: nothing can be stored or changed through it."
    return {
        **promise,
        "info": {**info, "instructions": f"{info['instructions']} {sentence}"},
        "tools": kept,
        "hidden": [*(each for each in aliases if each is not None), *unlisted],
        "prompts": [
            each for each in promise.get("prompts", ()) if names.issuperset(each.get("needs", ()))
        ],
    }


def _narrowed_alias(alias: "Promise", names: "Collection[str]") -> "Promise | None":
    """Return an alias with only those targets that are in `names`; None if there is none."""
    targets = alias["to"]
    if isinstance(targets, str):
        return alias if targets in names else None
    targets = {choice: name for choice, name in targets.items() if name in names}
    remaining = {**alias, "to": targets}
    if alias.get("default") not in targets:
        remaining.pop("default", None)
    return remaining if targets else None


def has_skill(promises: "Iterable[Promise]") -> bool:
    """Tell whether a server of these contracts has the tools that the skill is about."""
    return {tool["name"] for each in promises for tool in each["tools"]} >= _SKILLED


def joint_info(promises: "Sequence[Promise]") -> "Mapping[str, str]":
    """Return name, version, title and instructions of a server of these contracts."""
    if len(promises) == 1:
        info: Mapping[str, str] = promises[0]["info"]
        return info
    return {
        "name": "minutebook",
        "version": __version__,
        "title": "Minutebook",
        "instructions": "\n\n".join(str(each["info"]["instructions"]) for each in promises),
    }


class Announced:
    """The answers of a server of some contracts that depend on nothing but the contracts."""

    def __init__(self, promises: "Sequence[Promise]", *, is_safe: bool) -> None:
        """With `is_safe` the tools' names are spelled as `safe_name` does."""
        self._promises = promises
        self._is_safe = is_safe

    def initialize(self, version: str) -> "dict[str, Any]":
        """Return the result of `initialize`, at a negotiated protocol version."""
        info = joint_info(self._promises)
        return {
            "protocolVersion": version,
            "capabilities": self._capabilities(),
            "serverInfo": self._server_info(),
            "instructions": info["instructions"],
        }

    def discover(self) -> "dict[str, Any]":
        """Return the result of `server/discover` at MODERN_VERSION."""
        return self.modern_result(
            {
                "capabilities": {**self._capabilities(), **self._extensions()},
                "instructions": joint_info(self._promises)["instructions"],
                "supportedVersions": [MODERN_VERSION],
            }
        )

    def modern_result(self, result: "dict[str, Any]") -> "dict[str, Any]":
        """Return a result with the fields that MODERN_VERSION adds to each."""
        meta = {"io.modelcontextprotocol/serverInfo": self._server_info()}
        common = {"resultType": "complete", "cacheScope": "private", "ttlMs": 0, "_meta": meta}
        return {**result, **common}

    def _server_info(self) -> "dict[str, Any]":
        info = joint_info(self._promises)
        shown = {name: info[name] for name in ("name", "title", "version")}
        icon = {"src": ICON, "mimeType": "image/svg+xml", "sizes": ["any"]}
        return {**shown, "websiteUrl": WEBSITE, "icons": [icon]}

    def _capabilities(self) -> "dict[str, Any]":
        capabilities: dict[str, Any] = {"tools": {"listChanged": False}}
        if any("uri" in each for one in self._promises for each in one.get("resources", ())):
            capabilities["resources"] = {"listChanged": True, "subscribe": True}
            capabilities["completions"] = {}
        elif has_skill(self._promises):
            capabilities["resources"] = {"listChanged": False, "subscribe": False}
        if any(each.get("prompts") for each in self._promises):
            capabilities["prompts"] = {"listChanged": False}
        return capabilities

    def _extensions(self) -> "dict[str, Any]":
        """Return the capabilities that the protocol has since MODERN_VERSION only."""
        return {"extensions": {SKILLS_EXTENSION: {}}} if has_skill(self._promises) else {}

    def tools(self, version: str, client: str = "") -> "dict[str, Any]":
        """Return the result of `tools/list` at a protocol version, for the client of the name `client`."""
        knows = knows_output_schemas(version)
        promised = (tool for one in self._promises for tool in one["tools"])
        tools = [tool_entry(tool, has_output_schema=knows, client=client) for tool in promised]
        if self._is_safe:
            tools = [{**tool, "name": safe_name(tool["name"])} for tool in tools]
        return {"tools": tools}


def announced(
    names: "Iterable[str]",
    spelling: object,
    *,
    read_only: bool = False,
    tools: "Collection[str]" = (),
    answers: object = "json",
) -> Announced | None:
    """Return the announcement of a server of these contracts, or None if they cannot be served.

    `spelling` is the setting `tool_names`; `read_only`, `tools` and `answers` are those of the same name.
    """
    if spelling not in ("contract", "safe") or answers not in ("json", "lines"):
        return None
    promises: list[Promise] = []
    tool_names: set[str] = set()
    for name in dict.fromkeys(names):
        promise = _promise(name)
        if promise is None or tool_names & (own := _tool_names(promise)):
            return None
        tool_names |= own
        promise = for_lines(promise) if answers == "lines" else promise
        promises.append(narrowed(promise, read_only=read_only, tools=tools))
    offered = {safe_name(each["name"]) for one in promises for each in one["tools"]}
    if not offered or ({safe_name(each) for each in tools} - offered):
        return None
    return Announced(promises, is_safe=spelling == "safe") if promises else None


def _promise(name: str) -> "Promise | None":
    if not name.isidentifier():
        return None
    for folder in (os.path.join(_FEATURES, name, "contract"), os.path.join(_OWN, name)):
        try:
            with open(os.path.join(folder, "contract.json"), "rb") as file:
                found: Promise = json.load(file)
        except OSError:
            continue
        return _without_missing_features(found)
    return None


def _without_missing_features(promise: "Promise") -> "Promise":
    """Return a promise without the tools of features that are not installed."""
    every = [each for each in (*promise["tools"], *promise["hidden"]) if "to" not in each]
    there = [each["name"] for each in every if _has_feature(each.get("feature", ""))]
    return promise if len(there) == len(every) else narrowed(promise, read_only=False, tools=there)


def _has_feature(feature: str) -> bool:
    return not feature or os.path.exists(os.path.join(_FEATURES, feature, "feature.py"))


def _tool_names(promise: "Promise") -> set[str]:
    return {each["name"] for each in (*promise["tools"], *promise["hidden"])}
