"""Writes the pages that are made from the code; `--check` only compares.

`docs/settings.md` comes from the classes of `config/`, `docs/commands.md` from the command line,
`docs/contracts/` from each contract's `contract.json`,
`docs/promises.md` from the manifest of requirements and the tests that claim to prove them,
`docs/quality.md` from `docs/quality.json`, `schema/mcp_api_v1.json`, which is shipped, from the promise of the `ledger` contract.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from minutebook.config import subjects, variable_of  # noqa: E402
from minutebook.serve.contracts.contract import Contract  # noqa: E402
from minutebook.serve.contracts.registry import CONTRACTS  # noqa: E402
from minutebook.serve.invocation import FILE  # noqa: E402
from tests.serve.contracts.requirements import DIVERGENCES, MANIFEST, proofs  # noqa: E402
from tools import commands_page, quality_page, reliability_page  # noqa: E402
from tools.tables import table  # noqa: E402

MADE = "<!-- Made by tools/write_docs.py; `make docs` writes it anew. -->"


def settings_page() -> str:
    """Describe every setting."""
    lines = [
        "# Settings",
        "",
        "A setting comes from the command line, else the environment, else "
        f"`{FILE}` in the data directory, else its default. `home` cannot stand in that file. "
        "Relative paths in it are from its folder; elsewhere, from where the command is given.",
    ]
    heads = ["setting", "environment variable", "type", "default", "meaning"]
    for subject in subjects():
        rows = [
            [
                f"`{each.name}`",
                f"`{variable_of(each.name)}`",
                each.metadata["kind"].wanted,
                _default_of(each),
                str(each.metadata["help"]),
            ]
            for each in fields(subject)
            if each.name in subject.__annotations__
        ]
        title = str(subject.__doc__).removesuffix(".")
        lines += ["", f"## {title}", "", *table(heads, rows)]
    return _page(lines)


def _default_of(each: "Field[Any]") -> str:
    if each.default is MISSING:
        return "where the platform keeps such folders"
    return "none" if each.default in (None, "", ()) else f"`{each.default}`"


def contract_page(contract: Contract) -> str:
    """Describe what a contract offers, as its `contract.json` promises it."""
    promise = contract.promise
    info = promise["info"]
    lines = [
        f"# The `{contract.name}` contract",
        "",
        f"Served as `{info['name']}` {info['version']}. {info['instructions']}",
        "",
        "What is promised, sentence by sentence, and which test proves it: "
        "[promises](../promises.md).",
        "",
        "## Tools",
    ]
    for tool in promise["tools"]:
        lines += ["", *_tool(contract.name, tool)]
    if promise["hidden"]:
        lines += ["", "## Other names", "", "Called, not listed.", ""]
        lines += table(
            ["name", "leads to"], ([f"`{h['name']}`", _alias(h)] for h in promise["hidden"])
        )
    lines += [*_resources(contract), *_prompts(contract), "", "## Errors", "", *_errors(promise)]
    return _page(lines)


def _tool(contract: str, tool: Mapping[str, Any]) -> list[str]:
    schema, rules = tool["inputSchema"], tool.get("enforce", {})
    hints = [n.removesuffix("Hint") for n, holds in tool["annotations"].items() if holds]
    lines = [f"### {tool['name']}", "", f"{tool['description']} ({', '.join(hints) or 'writes'})"]
    errors = [
        each.text
        for each in MANIFEST
        if each.id.startswith(f"{contract}/{tool['name']}/") and each.text.startswith("Error ")
    ]
    lines += ["", *errors] if errors else []
    if not schema["properties"]:
        return [*lines, "", "No arguments."]
    heads = ["argument", "type", "default", "limits", "meaning"]
    return [*lines, "", *table(heads, _arguments(schema, rules, ""))]


def _arguments(
    schema: Mapping[str, Any], rules: Mapping[str, Any], outer: str
) -> Iterator[list[str]]:
    for name, told in schema["properties"].items():
        rule = rules.get(name, {})
        yield [
            f"`{outer}{name}`",
            told["type"],
            "required" if name in schema.get("required", []) else _json(told.get("default")),
            _limits({**told, **rule}),
            told["description"],
        ]
        inner = told.get("items", told)
        if "properties" in inner:
            path = f"{outer}{name}{'[]' if 'items' in told else ''}."
            yield from _arguments(inner, rule.get("properties", {}), path)


def _resources(contract: Contract) -> Iterator[str]:
    known = (*contract.resources, *contract.templates)
    if known:
        yield from ("", "## Resources", "")
        yield from table(
            ["address", "type", "what it is"],
            (
                [
                    f"`{each.promise.get('uri') or each.promise['uriTemplate']}`",
                    each.mime_type,
                    each.promise["description"],
                ]
                for each in known
            ),
        )


def _prompts(contract: Contract) -> Iterator[str]:
    if contract.prompts:
        yield from ("", "## Prompts", "")
        yield from table(
            ["prompt", "what it is"],
            ([f"`{name}`", each["description"]] for name, each in contract.prompts.items()),
        )


def _errors(promise: Mapping[str, Any]) -> list[str]:
    """Describe the errors: a text each, or an object of facts."""
    errors = promise["errors"]
    facts = {key: None for told in errors.values() if isinstance(told, dict) for key in told}
    if not facts:
        return table(["error", "text"], ([name, told] for name, told in errors.items()))
    return table(
        ["error", *facts],
        ([name, *(str(told.get(key, "")) for key in facts)] for name, told in errors.items()),
    )


LIMITS: Mapping[str, Callable[[Any], str]] = {
    "enum": lambda each: f"one of {', '.join(each)}",
    "minimum": lambda each: f"at least {each}",
    "maximum": lambda each: f"at most {each}",
    "clamp": lambda each: f"larger counts as {each}",
    "minLength": lambda each: "not empty" if each == 1 else f"at least {each} characters",
    "maxLength": lambda each: f"at most {each:,} characters",
    "minItems": lambda each: "not empty",
    "maxBytes": lambda each: f"at most {each:,} bytes",
    "form": lambda each: {
        "id": "an id",
        "uuid": "a UUID",
        "instant": "ISO 8601",
        "any": "anything",
    }[each],
    "clears": lambda each: "null empties it",
}


def _limits(rules: Mapping[str, Any]) -> str:
    return "; ".join(say(rules[word]) for word, say in LIMITS.items() if word in rules)


def _json(value: Any) -> str:
    return "" if value is None else f"`{json.dumps(value)}`"


def _alias(told: Mapping[str, Any]) -> str:
    match told.get("to"):
        case None:
            return str(told.get("description", "itself"))
        case str(name):
            return f"`{name}`"
        case choices:
            return ", ".join(f"{told['by']} = {key}: `{name}`" for key, name in choices.items())


def promises_page() -> str:
    """List every promised sentence with what became of it."""
    kept, diverged = len(MANIFEST) - len(DIVERGENCES), len(DIVERGENCES)
    return _page(
        [
            "# Promises",
            "",
            "Every sentence that the contracts promise, with the tests that prove it or what keeps "
            "it from being so.",
            "",
            f"{kept} of {len(MANIFEST)} promises are kept, each proved by a test; {diverged} are not.",
            *_promises(),
        ]
    )


def _promises() -> Iterator[str]:
    tests: dict[str, list[str]] = defaultdict(list)
    for proof in proofs():
        tests[proof.id].append(f"[{proof.test}](../{proof.path})")
    why = {each.id: each.why for each in DIVERGENCES}
    for source, promised in groupby(MANIFEST, key=lambda each: each.source):
        yield from ["", f"## {source}", ""]
        rows = []
        for each in promised:
            kept = ", ".join(dict.fromkeys(tests[each.id]))
            rows.append(
                [f"`{each.id}`", each.text, kept or f"**Not kept.** {why.get(each.id, '')}"]
            )
        yield from table(["id", "promise", "proof"], rows)


def _page(lines: Iterable[str]) -> str:
    return "\n".join([MADE, "", *lines, ""])


def _opened_page(name: str) -> str:
    return contract_page(CONTRACTS[name]())


def _schema_of_ledger() -> Mapping[str, Callable[[], str]]:
    """Return the schema of the contract `ledger`, if the feature is there."""
    if "ledger" not in CONTRACTS:
        return {}
    return {"src/minutebook/schema/mcp_api_v1.json": lambda: CONTRACTS["ledger"]().exported()}


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/commands.md": lambda: _page(commands_page.page()),
    "docs/settings.md": settings_page,
    "docs/promises.md": promises_page,
    **{f"docs/contracts/{name}.md": partial(_opened_page, name) for name in CONTRACTS},
    "docs/quality.md": lambda: f"{MADE}\n\n{quality_page.page()}",
    "docs/reliability.md": lambda: _page(reliability_page.page()),
    **_schema_of_ledger(),
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
