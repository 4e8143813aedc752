"""Every promised sentence with an id and its source; what is not kept, or not yet, and why.

A test says what it proves with `@requirement("id")`; `test_requirements.py` holds both to one
another, and `tools/write_docs.py` prints them as `docs/promises.md` and one page a contract.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.contracts import (
    promised_by_all,
    promised_by_catalog,
    promised_by_governance,
    promised_by_journal,
    promised_by_knowledge,
    promised_by_ledger,
)

TESTS = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Proof:
    """A test that claims to prove a promise."""

    id: str
    path: str
    test: str


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as the proof of some promises."""
    return pytest.mark.requirement(*ids)


@cache
def proofs() -> tuple[Proof, ...]:
    """Read which tests claim which promises, from the tests' source."""
    return tuple(_proofs())


def _proofs() -> Iterator[Proof]:
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            for decorator in node.decorator_list:
                match decorator:
                    case ast.Call(func=ast.Name(id="requirement"), args=claimed):
                        for each in claimed:
                            where = path.relative_to(TESTS.parent).as_posix()
                            yield Proof(ast.literal_eval(each), where, node.name)


_SOURCES = (
    promised_by_knowledge,
    promised_by_catalog,
    promised_by_governance,
    promised_by_ledger,
    promised_by_journal,
    promised_by_all,
)

MANIFEST = tuple(each for source in _SOURCES for each in source.MANIFEST)
DIVERGENCES = tuple(each for source in _SOURCES for each in source.DIVERGENCES)
