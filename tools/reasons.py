"""The templates of the reasons that errors and notes give, found where they are raised."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from string import Formatter

ROOT = "MinutebookError"
MAKERS = {"Reason": (0,), "counted": (0, 1)}
"""What makes a reason of a template, and which of its arguments are one."""

_TEXTS = {"reason", "remedy"}
"""The parameters of an error's class that take a template."""


@dataclass(frozen=True, slots=True)
class Template:
    """A template in a module, at a line, with the names of the values that stand beside it (None: not known)."""

    path: PurePosixPath
    line: int
    text: str
    values: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Misuse:
    """A line that raises an error with a text that no language can translate, or with other values than it names."""

    path: PurePosixPath
    line: int
    what: str
    remedy: str


def names_in(text: str) -> frozenset[str]:
    """Return the names in braces."""
    return frozenset(name for _, name, _, _ in Formatter().parse(text) if name is not None)


def has_words(text: str) -> bool:
    """Tell whether a template has words between its names, which a language says otherwise."""
    return any(character.isalpha() for part, *_ in Formatter().parse(text) for character in part)


class Reasons:
    """Finds the templates in modules, by their paths."""

    def __init__(self, modules: Mapping[PurePosixPath, ast.Module]) -> None:
        self._modules = modules

    def templates(self) -> Iterator[Template]:
        """Yield each template where it is written."""
        for path, call, texts, values in self._calls():
            for node in texts:
                if isinstance(node, ast.Constant):
                    yield Template(path, call.lineno, str(node.value), values)

    def misuses(self) -> Iterator[Misuse]:
        """Yield each text that is put together where it is raised, and values that are not those of the template."""
        for path, call, texts, values in self._calls():
            for node in texts:
                if _is_put_together(node):
                    what = "a reason that is put together"
                    yield Misuse(path, node.lineno, what, "write {names}, and give their values")
            written = [str(each.value) for each in texts if isinstance(each, ast.Constant)]
            each_names = [names_in(text) for text in written]
            every = frozenset[str]().union(*each_names)
            # Without values a template is not read for names; one that is made elsewhere is not seen here.
            if values and len(written) == len(texts) and values not in (every, *each_names):
                what = f"a reason that names {_listed(every)} and is given {_listed(values)}"
                yield Misuse(path, call.lineno, what, "give the values of its names, and no other")

    def _calls(
        self,
    ) -> Iterator[tuple[PurePosixPath, ast.Call, list[ast.expr], frozenset[str] | None]]:
        """Yield each call that makes a reason: its texts, and the names of its values."""
        for path, module in self._modules.items():
            for call, function in _calls(module, None):
                name = call.func.id if isinstance(call.func, ast.Name) else ""
                places, own = (
                    MAKERS.get(name) or self._places.get(name, ()),
                    self._own.get(name, set()),
                )
                texts = [
                    each
                    for place in places
                    if place < len(call.args)
                    for each in _written(call.args[place], function)
                ]
                if not texts:
                    continue
                given = {keyword.arg for keyword in call.keywords} - own
                if name == "counted":
                    given.add("count")
                known = frozenset(each for each in given if each is not None)
                yield path, call, texts, None if None in given else known

    @cached_property
    def _own(self) -> dict[str, set[str]]:
        """The parameters of each class of errors, which are no values."""
        return {name: set(parameters) for name, parameters in self._parameters.items()}

    @cached_property
    def _places(self) -> dict[str, tuple[int, ...]]:
        """The arguments of each class of errors that are templates."""
        return {
            name: tuple(at for at, each in enumerate(parameters) if each in _TEXTS)
            for name, parameters in self._parameters.items()
        }

    @cached_property
    def _parameters(self) -> dict[str, list[str]]:
        """The parameters of each class of errors, in order, as it or the class above it takes them."""
        classes = {
            node.name: node
            for module in self._modules.values()
            for node in ast.walk(module)
            if isinstance(node, ast.ClassDef)
        }
        found: dict[str, list[str]] = {ROOT: []}
        while True:
            above = {
                name: base
                for name, node in classes.items()
                for base in map(ast.unparse, node.bases)
                if base in found and name not in found
            }
            if not above:
                return found
            for name, base in above.items():
                found[name] = _parameters(classes[name], found[base])


def _parameters(node: ast.ClassDef, above: Sequence[str]) -> list[str]:
    """Return the parameters of a class: of its `__init__`, or else its fields after those above it."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            return [arg.arg for arg in (*each.args.args[1:], *each.args.kwonlyargs)]
    fields = [
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]
    return [*above, *(each for each in fields if each not in above)]


def _calls(node: ast.AST, function: ast.AST | None) -> Iterator[tuple[ast.Call, ast.AST | None]]:
    """Yield each call with the function that it stands in."""
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(child, ast.Call):
            yield child, function
        yield from _calls(child, child if is_function else function)


def _written(node: ast.expr, function: ast.AST | None) -> Iterator[ast.expr]:
    """Yield what an argument can be: a text, or what stands for one; a name for what the function gives it."""
    match node:
        case ast.IfExp(body=one, orelse=other):
            yield from _written(one, function)
            yield from _written(other, function)
        case ast.Constant(str()) | ast.JoinedStr() | ast.BinOp():
            yield node
        case ast.Call(func=ast.Attribute(attr="format")):
            yield node
        case ast.Name(name) if function is not None:
            for value in _assigned(name, function):
                if not isinstance(value, ast.Name):
                    yield from _written(value, function)


def _assigned(name: str, function: ast.AST) -> Iterator[ast.expr]:
    """Yield what a function gives a name."""
    for each in ast.walk(function):
        match each:
            case ast.Assign([ast.Name(target)], value) if target == name:
                yield value
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                for one, value in zip(targets, values, strict=False):
                    if isinstance(one, ast.Name) and one.id == name:
                        yield value


def _is_put_together(node: ast.expr) -> bool:
    return not isinstance(node, ast.Constant)


def _listed(names: frozenset[str] | set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
