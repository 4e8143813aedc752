"""Questions with known answers: a docstring asks, the function it was taken from answers.

The corpus is the modules of the standard library that are one file, of the Python that runs this.
Every docstring, those of modules and classes too, is cut out of the copy that is indexed.
"""

import ast
import hashlib
import io
import random
import sysconfig
import tokenize
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SHORTEST_DOCSTRING = 10
SHORTEST, LONGEST = 5, 60
"""Words of a whole docstring, and of its first paragraph."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Question:
    """What a docstring said, and where its function now stands: lines from 1, both included."""

    paragraph: str
    whole: str
    path: str
    first: int
    last: int

    def is_answered_by(self, path: str, start: int, end: int) -> bool:
        """Tell whether lines of a file hold some of the function."""
        return path == self.path and start <= self.last and end >= self.first


def sources(modules: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield file name and text of each module, in order; only of these if any is named."""
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        if not modules or file.stem in modules:
            data = file.read_bytes()
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            yield file.name, data.decode(encoding)


def cut(path: str, text: str) -> tuple[str, list[Question]]:
    """Return a file without its docstrings, and the questions that they make.

    No question are functions inside functions, which have no place of their own, and functions
    that do nothing.
    """
    text = text.replace("\r\n", "\n")
    before = ast.parse(text)
    bare = _without_docstrings(text, before)
    # Both trees have the same definitions in the same order.
    pairs = zip(_functions(before), _functions(ast.parse(bare)), strict=True)
    asked = (_question(path, function, remains) for function, remains in pairs)
    return bare, [question for question in asked if question]


def is_to_tune_by(question: Question) -> bool:
    """Tell whether a question is one that constants may be tuned by; a quarter of the files is."""
    return hashlib.md5(question.path.encode(), usedforsecurity=False).digest()[-1] % 4 == 0


def sampled(questions: Sequence[Question], count: int, seed: int) -> list[Question]:
    """Draw questions without those that several functions ask."""
    times = Counter(each.paragraph for each in questions)
    alone = [each for each in questions if times[each.paragraph] == 1]
    return random.Random(seed).sample(alone, min(count, len(alone)))


def _question(path: str, function: _Function, remains: _Function) -> Question | None:
    whole = ast.get_docstring(function) or ""
    paragraph = whole.split("\n\n")[0].split()
    if (
        len(whole.split()) < SHORTEST_DOCSTRING
        or not SHORTEST <= len(paragraph) <= LONGEST
        or all(map(_does_nothing, remains.body))
    ):
        return None
    first = min([remains.lineno, *(each.lineno for each in remains.decorator_list)])
    last = remains.end_lineno or remains.lineno
    return Question(" ".join(paragraph), " ".join(whole.split()), path, first, last)


def _does_nothing(statement: ast.stmt) -> bool:
    is_literal = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_literal or isinstance(statement, ast.Pass | ast.Raise)


def _functions(tree: ast.AST) -> Iterator[_Function]:
    """Yield the functions that are in no other."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Function):
            yield node
        else:
            yield from _functions(node)


def _without_docstrings(text: str, tree: ast.Module) -> str:
    lines = [f"{line}\n" for line in text.split("\n")]
    for node in ast.walk(tree):
        if not isinstance(node, _WITH_DOCSTRING) or ast.get_docstring(node) is None:
            continue
        told = node.body[0]
        first, last = told.lineno - 1, (told.end_lineno or told.lineno) - 1
        before = lines[first].encode()[: told.col_offset].decode()
        after = lines[last].encode()[told.end_col_offset :].decode()
        is_alone = not before.strip() and not after.strip()
        kept = "" if is_alone and len(node.body) > 1 else f"{before}pass{after}"
        lines[first : last + 1] = [kept, *([""] * (last - first))]
    return "".join(lines)
