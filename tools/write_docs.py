"""Writes the pages that are made from the code; `--check` only compares.

`docs/settings.md` comes from `config.Settings`; `docs/contracts/knowledge.md` from the contract's
`contract.json`, the manifest of requirements, and the tests that claim to prove them.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from minutebook.config import FILE, PREFIX, Settings  # noqa: E402
from tests.contracts.requirements import DIVERGENCES, MANIFEST, proofs  # noqa: E402

CONTRACT = ROOT / "src" / "minutebook" / "contracts" / "knowledge" / "contract.json"
MADE = "<!-- Made by tools/write_docs.py; `make docs` writes it anew. -->"
KINDS = {Path: "folder", int: "whole number", float: "number", str: "text", bool: "true or false"}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Give the lines of a table; what stands between bars is escaped."""
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines]


def settings_page() -> str:
    """Describe every setting."""
    hints = get_type_hints(Settings)
    rows = [
        [
            f"`{each.name}`",
            f"`{PREFIX}{each.name.upper()}`",
            _type_of(hints[each.name]),
            _default_of(each),
            str(each.metadata["help"]),
        ]
        for each in fields(Settings)
    ]
    return _page(
        [
            "# Settings",
            "",
            "A setting comes from the command line, else the environment, else "
            f"`{FILE}` in the data directory, else its default. `home` cannot stand in that file.",
            "",
            *table(["setting", "environment variable", "type", "default", "meaning"], rows),
        ]
    )


def _type_of(hint: Any) -> str:
    parts = [part for part in get_args(hint) or [hint] if part is not type(None)]
    if get_origin(hint) is Literal:
        return f"one of {', '.join(f'`{part}`' for part in parts)}"
    if get_origin(hint) is tuple:
        return "list of folders"
    (kind,) = parts
    if issubclass(kind, StrEnum):
        return f"one of {', '.join(f'`{member}`' for member in kind)}"
    return KINDS[kind]


def _default_of(each: "Field[Any]") -> str:
    if each.default is MISSING:
        return "where the platform keeps such folders"
    return "none" if each.default in (None, "", ()) else f"`{each.default}`"


def contract_page() -> str:
    """Describe a contract's tools and what became of each promise."""
    promise = json.loads(CONTRACT.read_text(encoding="utf-8"))
    info = promise["info"]
    lines = [
        f"# The `{promise['contract']}` contract",
        "",
        f"Served as `{info['name']}` {info['version']}. {info['instructions']}",
        "",
        "## Tools",
    ]
    for tool in promise["tools"]:
        lines += ["", *_tool(tool)]
    lines += ["", "## Later names", "", "Called, not listed.", ""]
    lines += table(["name", "leads to"], ([f"`{h['name']}`", _alias(h)] for h in promise["hidden"]))
    lines += ["", "## Errors", ""]
    lines += table(["error", "text"], ([n, t] for n, t in promise["errors"].items()))
    lines += ["", "## Promises", "", _summary(), *_promises()]
    return _page(lines)


def _tool(tool: Mapping[str, Any]) -> list[str]:
    schema, rules = tool["inputSchema"], tool.get("enforce", {})
    hints = [n.removesuffix("Hint") for n, holds in tool["annotations"].items() if holds]
    lines = [f"### {tool['name']}", "", f"{tool['description']} ({', '.join(hints) or 'writes'})"]
    errors = [
        each.text
        for each in MANIFEST
        if each.id.startswith(f"knowledge/{tool['name']}/") and each.text.startswith("Error ")
    ]
    lines += ["", *errors] if errors else []
    if not schema["properties"]:
        return [*lines, "", "No arguments."]
    rows = [
        [
            f"`{name}`",
            told["type"],
            "required" if name in schema.get("required", []) else _json(told.get("default")),
            _limits({**told, **rules.get(name, {})}),
            told["description"],
        ]
        for name, told in schema["properties"].items()
    ]
    return [*lines, "", *table(["argument", "type", "default", "limits", "meaning"], rows)]


LIMITS: Mapping[str, Callable[[Any], str]] = {
    "enum": lambda each: f"one of {', '.join(each)}",
    "minimum": lambda each: f"at least {each}",
    "maximum": lambda each: f"at most {each}",
    "clamp": lambda each: f"larger counts as {each}",
    "minLength": lambda each: "not empty",
    "maxBytes": lambda each: f"at most {each:,} bytes",
    "form": lambda each: {"id": "an id", "instant": "ISO 8601", "any": "anything"}[each],
}


def _limits(rules: Mapping[str, Any]) -> str:
    return "; ".join(say(rules[word]) for word, say in LIMITS.items() if word in rules)


def _json(value: Any) -> str:
    return "" if value is None else f"`{json.dumps(value)}`"


def _alias(told: Mapping[str, Any]) -> str:
    match told.get("to"):
        case None:
            return "itself"
        case str(name):
            return f"`{name}`"
        case choices:
            return ", ".join(f"{told['by']} = {key}: `{name}`" for key, name in choices.items())


def _summary() -> str:
    kept, diverged = len(MANIFEST) - len(DIVERGENCES), len(DIVERGENCES)
    return (
        f"{kept} of {len(MANIFEST)} promises are kept, each proved by a test; {diverged} are not."
    )


def _promises() -> Iterator[str]:
    tests: dict[str, list[str]] = defaultdict(list)
    for proof in proofs():
        tests[proof.id].append(f"[{proof.test}](../../{proof.path})")
    why = {each.id: each.why for each in DIVERGENCES}
    for source, promised in groupby(MANIFEST, key=lambda each: each.source):
        yield from ["", f"### {source}", ""]
        rows = []
        for each in promised:
            kept = ", ".join(dict.fromkeys(tests[each.id]))
            rows.append(
                [f"`{each.id}`", each.text, kept or f"**Not kept.** {why.get(each.id, '')}"]
            )
        yield from table(["id", "promise", "proof"], rows)


def _page(lines: Iterable[str]) -> str:
    return "\n".join([MADE, "", *lines, ""])


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/settings.md": settings_page,
    "docs/contracts/knowledge.md": contract_page,
}


def stale(root: Path) -> list[str]:
    """Name the pages below a root that are not as the code would make them."""
    return [
        name
        for name, page in PAGES.items()
        if not (root / name).is_file() or (root / name).read_text(encoding="utf-8") != page()
    ]


def write(root: Path) -> list[str]:
    """Write the pages below a root that are stale; name them."""
    written = stale(root)
    for name in written:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(PAGES[name](), encoding="utf-8", newline="\n")
    return written


def main() -> int:
    """Write or, with `--check`, compare; give the exit status."""
    if sys.argv[1:] == ["--check"]:
        for name in (found := stale(ROOT)):
            print(f"{name}: not in step with the code; run `make docs`")
        return 1 if found else 0
    for name in write(ROOT):
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
