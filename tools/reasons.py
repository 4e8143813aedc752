"""The templates of the reasons that errors and notes give, found where they are raised."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from string import Formatter

_TEXTS = {"template", "reason", "remedy", "one", "many"}
"""The parameters that take a template, of whatever takes the values for it as `**values`."""

_SENTENCE = "says"
"""The attribute of an error's class that is the template of its sentence, filled with its fields."""


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
        for path, module in self._modules.items():
            for each in ast.walk(module):
                match each:
                    case ast.Assign([ast.Name(name)], ast.Constant(str(text))) if name == _SENTENCE:
                        yield Template(path, each.lineno, text, None)

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
            # What is given as `**values` is not seen here, nor is a template that is made elsewhere.
            if values is None or not written or len(written) < len(texts):
                continue
            if values not in (every, *each_names):
                what = f"a reason that names {_listed(every)} and is given {_listed(values)}"
                yield Misuse(path, call.lineno, what, "give the values of its names, and no other")

    def _calls(
        self,
    ) -> Iterator[tuple[PurePosixPath, ast.Call, list[ast.expr], frozenset[str] | None]]:
        """Yield each call that makes a reason: its texts, and the names of its values (None: not known)."""
        for path, module in self._modules.items():
            for call, function in _calls(module, None):
                name = _name_of(call.func)
                parameters = self._makers.get(name, ())
                texts = [
                    each
                    for at, parameter in enumerate(parameters)
                    if parameter in _TEXTS and at < len(call.args)
                    for each in _written(call.args[at], function)
                ]
                if not texts:
                    continue
                given = {keyword.arg for keyword in call.keywords} - set(parameters)
                if "count" in parameters:
                    given.add("count")
                known = frozenset(each for each in given if each is not None)
                yield path, call, texts, None if None in given else known

    @cached_property
    def _makers(self) -> dict[str, list[str]]:
        """The parameters of each function and class that makes a reason of a template and `**values`."""
        nodes = [node for module in self._modules.values() for node in ast.walk(module)]
        found = {
            node.name: parameters
            for node in nodes
            if isinstance(node, ast.FunctionDef) and (parameters := _parameters(node))
        }
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        for node in classes:
            for each in node.body:
                match each:
                    case ast.FunctionDef(name="__init__" | "__new__") if parameters := _parameters(
                        each
                    ):
                        found[node.name] = parameters
        while True:
            # A dataclass with fields of its own has a constructor of its own.
            more = {
                node.name: found[base]
                for node in classes
                for base in map(_name_of, node.bases)
                if base in found and node.name not in found and not _has_fields(node)
            }
            if not more:
                return {name: each for name, each in found.items() if name not in _MAKING}
            found |= more


_MAKING = {"__init__", "__new__"}


def _parameters(node: ast.FunctionDef) -> list[str]:
    """Return the parameters of a function that makes a reason, those by name last; none if it makes none."""
    taken = node.args
    names = [each.arg for each in (*taken.posonlyargs, *taken.args)]
    if taken.kwarg is None or taken.kwarg.arg != "values" or not _TEXTS & set(names):
        return []
    return [
        *(each for each in names if each not in {"self", "cls"}),
        *(each.arg for each in taken.kwonlyargs),
    ]


def _has_fields(node: ast.ClassDef) -> bool:
    return any(isinstance(each, ast.AnnAssign) for each in node.body)


def _name_of(node: ast.expr) -> str:
    """Return the last name of what is called or inherited."""
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


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
