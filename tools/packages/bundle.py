"""The bundle (.mcpb) for desktop clients: the wheel, what it needs by version, and what the client is to run.

It carries no Python and no compiled package, which differ from machine to machine: uv, which such a
client brings or finds, makes the environment when the bundle is installed.
https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md
"""

import json
from collections.abc import Sequence
from typing import Any

import tomlkit

from minutebook.features.install.served import agent_tools, default_options
from minutebook.serve.contracts.registry import open_contracts
from tools.packages.extensions import Files, arguments
from tools.packages.facts import Facts
from tools.packages.requirements import Requirement

_CLIENT = "claude-desktop"
_ENTRY = "server.py"


def bundle(
    facts: Facts, requirements: Sequence[Requirement], wheel: str, content: bytes, licence: bytes
) -> Files:
    """Return the files of the bundle; `wheel` is the name of the wheel, which `content` holds."""
    return {
        "manifest.json": _json(_manifest(facts)),
        "pyproject.toml": _project(facts, requirements, wheel).encode(),
        _ENTRY: b"from minutebook.__main__ import main\n\nmain()\n",
        wheel: content,
        "LICENSE": licence,
    }


def _manifest(facts: Facts) -> dict[str, Any]:
    uv = ["run", "--project", "${__dirname}", "${__dirname}/" + _ENTRY]
    served = default_options(_CLIENT)
    return {
        "manifest_version": "0.4",
        "name": facts.name,
        "display_name": facts.title,
        "version": facts.version,
        "description": facts.short_description,
        "long_description": facts.description,
        "author": {"name": facts.author, "url": facts.urls["Homepage"]},
        "homepage": facts.urls["Homepage"],
        "documentation": facts.urls["Documentation"],
        "support": facts.urls["Issues"],
        "license": facts.license,
        "keywords": list(facts.keywords),
        "server": {
            "type": "uv",
            "entry_point": _ENTRY,
            "mcp_config": {"command": "uv", "args": [*uv, *arguments(_CLIENT)]},
        },
        "tools": [
            {"name": each.name, "description": each.promise["description"].partition("\n")[0]}
            for contract in open_contracts(
                agent_tools(), tools=served["tools"].split(","), answers=served["answers"]
            )
            for each in contract.tools.values()
            if each.is_listed
        ],
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": facts.pythons},
        },
    }


def _project(facts: Facts, requirements: Sequence[Requirement], wheel: str) -> str:
    """Write the project of which uv makes the environment: the wheel, the rest at the lock's versions."""
    project = {
        "name": f"{facts.name}-bundle",
        "version": facts.version,
        "requires-python": facts.pythons.replace(" ", ","),
        "dependencies": [facts.name],
    }
    pins = tomlkit.array()
    pins.extend(each.pin for each in requirements)
    pins.multiline(multiline=True)
    uv = {
        "package": False,
        "constraint-dependencies": pins,
        "sources": {facts.name: {"path": wheel}},
    }
    return tomlkit.dumps({"project": project, "tool": {"uv": uv}})


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
