"""Extensions of clients: a folder of files each, made of the facts and of the texts in plugin/."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
import yaml

from minutebook.config import option_of
from minutebook.features.install.hooks import HOOKS
from minutebook.features.install.served import agent_tools, default_options
from minutebook.serve.contracts.announced import SKILL_FILE
from tools.packages.facts import Facts

Files = dict[str, bytes]
"""Contents by path within the folder, with forward slashes."""

_ARGUMENTS = "{arguments}"

_MARK = "assets/mark.svg"
_AGENT_PLUGINS = "https://agent-plugins.org/schemas/1.0.0"
PORTABLE = "agent-plugin"
"""The extension of no client in particular."""


@dataclass(frozen=True, slots=True)
class Text:
    """A command as it is written for all clients: what it is for, what a person adds, and what is asked."""

    description: str
    hint: str
    body: str


def server(client: str) -> dict[str, Any]:
    """Return the entry of our server, as `install` writes it, through the program that is on the path."""
    return {"command": "minutebook", "args": arguments(client)}


def arguments(client: str) -> list[str]:
    """Return how a client starts the server."""
    options = [
        part for each in default_options(client).items() for part in (option_of(each[0]), each[1])
    ]
    agent = () if client == PORTABLE else ("--agent", client)
    return ["serve", *agent_tools(), *agent, *options]


def commands(root: Path) -> dict[str, Text]:
    """Return the commands by name. Raises KeyError if one lacks its description or its hint."""
    made = {}
    for path in sorted((root / "plugin" / "commands").glob("*.md")):
        _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
        fields = yaml.safe_load(head)
        made[path.stem] = Text(fields["description"], fields["hint"], body)
    return made


def _mark(root: Path) -> Files:
    """Return the picture that stands beside the name."""
    mark = root / "src" / "minutebook" / "features" / "pages" / "static" / "mark.svg"
    return {_MARK: mark.read_bytes()}


def claude_code(facts: Facts, root: Path) -> Files:
    """Return a plugin for Claude Code, which is a marketplace of itself: server, hooks, commands, a skill."""
    plugin = {
        **_about(facts),
        "displayName": facts.title,
        "icon": f"./{_MARK}",
        "homepage": facts.urls["Homepage"],
        "license": facts.license,
    }
    market = {
        "name": facts.name,
        "owner": {"name": facts.author},
        "metadata": {"description": facts.short_description},
        "plugins": [{"name": facts.name, "source": "./", "description": facts.short_description}],
    }
    # Without the program a hook says nothing; an error before each prompt would help nobody.
    command = "! command -v minutebook >/dev/null || minutebook hook claude-code"
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command, "timeout": limit}]}]
        for event, limit in HOOKS["claude-code"].events.items()
    }
    files = {
        ".claude-plugin/plugin.json": _json(plugin),
        ".claude-plugin/marketplace.json": _json(market),
        ".mcp.json": _json({"mcpServers": {facts.name: server("claude-code")}}),
        "hooks/hooks.json": _json({"description": "What is kept, there by itself", "hooks": hooks}),
        **_mark(root),
        **_skill(facts),
    }
    for name, text in commands(root).items():
        head = {"description": text.description, "argument-hint": f"[{text.hint}]"}
        body = text.body.replace(_ARGUMENTS, "$ARGUMENTS")
        files[f"commands/{name}.md"] = _frontmatter(head, body)
    return files


def codex(facts: Facts, root: Path) -> Files:
    """Return a marketplace for Codex with one plugin: server and skill."""
    entry = {
        "name": facts.name,
        "source": {"source": "local", "path": f"./plugins/{facts.name}"},
        "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
        "category": "Productivity",
    }
    market = {
        "name": facts.name,
        "interface": {"displayName": facts.title},
        "plugins": [entry],
    }
    plugin = {
        **_about(facts),
        "homepage": facts.urls["Homepage"],
        "license": facts.license,
        "skills": "./skills/",
        "mcpServers": "./.mcp.json",
        "interface": {
            "displayName": facts.title,
            "shortDescription": facts.short_description,
            "longDescription": facts.description,
            "developerName": facts.author,
            "logo": f"./{_MARK}",
            "category": "Productivity",
        },
    }
    inside = {
        ".codex-plugin/plugin.json": _json(plugin),
        ".mcp.json": _json({"mcpServers": {facts.name: server("codex")}}),
        **_mark(root),
        **_skill(facts),
    }
    files = {f"plugins/{facts.name}/{name}": text for name, text in inside.items()}
    return {".agents/plugins/marketplace.json": _json(market), **files}


def cursor(facts: Facts, root: Path) -> Files:
    """Return a plugin for Cursor: server, commands, a skill."""
    plugin = {
        **_about(facts),
        "displayName": facts.title,
        "logo": _MARK,
        "homepage": facts.urls["Homepage"],
        "license": facts.license,
    }
    files = {
        **_mark(root),
        ".cursor-plugin/plugin.json": _json(plugin),
        "mcp.json": _json({"mcpServers": {facts.name: server("cursor")}}),
        **_skill(facts),
    }
    for name, text in commands(root).items():
        # What a person writes after a command is read with it.
        body = text.body.replace(_ARGUMENTS, f"What follows this command: {text.hint}.")
        head = {"name": name, "description": text.description}
        files[f"commands/{name}.md"] = _frontmatter(head, body)
    return files


def gemini(facts: Facts, root: Path) -> Files:
    """Return an extension for Gemini CLI: server, commands, a skill."""
    manifest = {
        "name": facts.name,
        "version": facts.version,
        "description": facts.description,
        "mcpServers": {facts.name: server("gemini")},
    }
    files = {"gemini-extension.json": _json(manifest), **_skill(facts)}
    for name, text in commands(root).items():
        document = tomlkit.document()
        document["description"] = text.description
        body = text.body.strip().replace(_ARGUMENTS, "{{args}}")
        document["prompt"] = tomlkit.string(f"\n{body}\n", multiline=True)
        files[f"commands/{facts.name}/{name}.toml"] = tomlkit.dumps(document).encode()
    return files


def agent_plugin(facts: Facts, root: Path) -> Files:
    """Return a plugin for every client of the Agent Plugins format: server and skill.

    https://agent-plugins.org/specification; it has no commands and no hooks.
    """
    plugin = {
        "$schema": f"{_AGENT_PLUGINS}/plugin.schema.json",
        **_about(facts),
        "homepage": facts.urls["Homepage"],
        "repository": facts.urls["Source"],
        "license": facts.license,
    }
    servers = {facts.name: {"type": "stdio", **server(PORTABLE)}}
    mcp = {"$schema": f"{_AGENT_PLUGINS}/mcp.schema.json", "mcpServers": servers}
    return {"plugin.json": _json(plugin), "mcp.json": _json(mcp), **_skill(facts)}


@dataclass(frozen=True, slots=True)
class Extension:
    """An extension of one client: what makes it, what it has, and how a person installs it."""

    client: str
    make: Callable[[Facts, Path], Files]
    parts: str
    install: str

    def files(self, facts: Facts, root: Path) -> Files:
        """Return all its files: those that the client reads, and for people a page and the licence."""
        template = (root / "plugin" / "README.md").read_text(encoding="utf-8")
        name = next(name for name, each in EXTENSIONS.items() if each is self)
        page = template.format(
            client=self.client,
            description=facts.description,
            parts=self.parts,
            install=self.install,
            entry="CLIENT" if name == PORTABLE else name,
            documentation=facts.urls["Documentation"],
        )
        licence = (root / "LICENSE").read_bytes()
        return {"README.md": page.encode(), "LICENSE": licence, **self.make(facts, root)}


_SKILL = "The skill teaches the agent when to recall, remember and decide"
_COMMANDS = "/remember, /recall and /decide are there for you"

EXTENSIONS: Mapping[str, Extension] = {
    "claude-code": Extension(
        "Claude Code",
        claude_code,
        f"{_SKILL}; {_COMMANDS}. The hooks put what matters before a session and a prompt, and keep each\n"
        "session when it ends: `minutebook hook` says what they did, `minutebook settings set hooks off` silences them.",
        "unpack it, then `claude plugin marketplace add ./FOLDER` and `claude plugin install minutebook@minutebook`.",
    ),
    "codex": Extension(
        "Codex",
        codex,
        f"{_SKILL}.",
        "unpack it, then `codex plugin marketplace add ./FOLDER` and `codex plugin add minutebook@minutebook`.",
    ),
    "cursor": Extension(
        "Cursor",
        cursor,
        f"{_SKILL}; {_COMMANDS}.",
        "unpack it into `~/.cursor/plugins/local/minutebook`, then restart Cursor.",
    ),
    "gemini": Extension(
        "Gemini CLI",
        gemini,
        f"{_SKILL}; /minutebook:remember, /minutebook:recall and /minutebook:decide are there for you.",
        "unpack it, then `gemini extensions install ./FOLDER`.",
    ),
    PORTABLE: Extension(
        "clients that read Agent Plugins",
        agent_plugin,
        f"{_SKILL}.",
        "unpack it where your client looks for plugins; its documentation says where that is.",
    ),
}
"""The extensions by the name that `minutebook install` has for the client, and the portable one."""


def _about(facts: Facts) -> dict[str, Any]:
    return {
        "name": facts.name,
        "version": facts.version,
        "description": facts.description,
        "author": {"name": facts.author},
        "keywords": [re.sub(r"\s+", "-", each) for each in facts.keywords],
    }


def _skill(facts: Facts) -> Files:
    return {f"skills/{facts.name}/SKILL.md": Path(SKILL_FILE).read_bytes()}


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _frontmatter(head: Mapping[str, str], body: str) -> bytes:
    fields = yaml.safe_dump(dict(head), sort_keys=False, allow_unicode=True, width=200)
    return f"---\n{fields}---\n{body}".encode()
