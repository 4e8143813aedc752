"""Every promised sentence with an id and its source; what is not kept, or not yet, and why.

A test says what it proves with `@requirement("id")`; `test_requirements.py` holds both to one
another, and `tools/write_docs.py` prints them as `docs/promises.md` and one page a contract.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

import pytest

from tests.serve.contracts import promised_by_all, promised_by_knowledge
from tests.serve.contracts.promises import Divergence, Requirement

TESTS = Path(__file__).resolve().parents[2]
PUBLISHED = TESTS.parent / "docs" / "contracts" / "published"


def published(contract: str) -> str:
    """The document of a contract as it was published."""
    return (PUBLISHED / f"{contract}.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Proof:
    """A test that claims to prove a promise."""

    id: str
    path: str
    test: str
    is_left_out: bool
    """Whether `make test` leaves it to `.ci/run`."""


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as the proof of some promises."""
    return pytest.mark.requirement(*ids)


@cache
def proofs() -> tuple[Proof, ...]:
    """Read which tests claim which promises, from the tests' source."""
    return tuple(_proofs())


def _proofs() -> Iterator[Proof]:
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "@requirement(" not in text:
            continue
        where = path.relative_to(TESTS.parent).as_posix()
        module = ast.parse(text)
        marks = [each.value for each in module.body if _is_mark(each)]
        yield from _proofs_in(module.body, where, any(map(_is_left_out, marks)))


def _proofs_in(body: Sequence[ast.stmt], where: str, is_left_out: bool) -> Iterator[Proof]:
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        left_out = is_left_out or any(map(_is_left_out, node.decorator_list))
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(func=ast.Name(id="requirement"), args=claimed):
                    for each in claimed:
                        yield Proof(ast.literal_eval(each), where, node.name, left_out)
        if isinstance(node, ast.ClassDef):
            yield from _proofs_in(node.body, where, left_out)


def _is_mark(statement: ast.stmt) -> TypeGuard[ast.Assign]:
    match statement:
        case ast.Assign(targets=[ast.Name(id="pytestmark")]):
            return True
    return False


def _is_left_out(mark: ast.expr) -> bool:
    """Tell whether a mark, or one of several, keeps a test out of `make test`."""
    if isinstance(mark, ast.List | ast.Tuple):
        return any(map(_is_left_out, mark.elts))
    return ast.unparse(mark) in ("pytest.mark.slow", "pytest.mark.thorough")


_BY_FEATURES = sorted(TESTS.glob("features/*/contract/promised_by_*.py"))
"""The manifests of the contracts that are features."""

_SOURCES: tuple[ModuleType, ...] = (
    promised_by_knowledge,
    *(
        import_module(".".join(each.relative_to(TESTS.parent).with_suffix("").parts))
        for each in _BY_FEATURES
    ),
    promised_by_all,
)

MANIFEST: Sequence[Requirement] = tuple(each for source in _SOURCES for each in source.MANIFEST)
DIVERGENCES: Sequence[Divergence] = tuple(
    each for source in _SOURCES for each in source.DIVERGENCES
)
