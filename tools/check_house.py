"""Checks the rules of the house that no linter knows; `make check` runs it.

Prints each finding as `file:line: what; remedy` and exits with 1 if there is any. With `--seams` it prints the imports
from the core to features, and between features (`tools/seams.py`); with `--size` the lines of code of each folder
(`tools/size.py`); with `--removal` it removes features one at a time from a copy, the named ones or each that can be, and
looks whether the rest stands (`tools/removal.py`).
"""

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import class_names, seams, size, whole_stores  # noqa: E402
from tools.reasons import Reasons  # noqa: E402

PACKAGE = "minutebook"
SOURCE = PurePosixPath("src", PACKAGE)
FILE_LINES = 600
FUNCTION_LINES = 60

# The only places, each with its reason. Elsewhere an error is named or let through.
BROAD_EXCEPTS = {
    "serve/dispatch.py": "the dispatch loop: a fault of ours must not end the connection",
    "features/hooks/early_hook.py": "a hook that fails must not stop what a person does",
    "memory/background.py": "a job that fails is tried again, and its failure told",
    "model/service.py": "the background worker: its error is kept and shown as a state",
}
# The entry hands the environment on unread: importing settings would slow the thin proxy.
ENVIRONMENT_READS = {"serve/invocation.py", "__main__.py"}
# ONNX Runtime and OpenBLAS look at their variables when they are loaded, so they are set before.
ENVIRONMENT_WRITES = {"features/models/runtime.py", "__init__.py"}
_ENVIRONMENT = {"environ", "environb", "getenv", "getenvb"}
SQL_FOLDERS = "store/", "features/postgres/"
FILES = "store/disk/"
# Where a feature reads and writes its own tables.
SQL_OF_FEATURES = frozenset({"rows.py", "tables.py"})
ENGINES = "store/sqlite", "features/postgres"
# Names that both engines give to functions, and the lines of those in both together. They may only fall.
ENGINE_FUNCTIONS, ENGINE_LINES = 46, 877
# Elsewhere in the command line, click's own printing would let stored text steer the terminal.
COMMANDS = PurePosixPath("cli")
CLICK_PRINTS = {"cli/printing.py"}
_CLICK = {"echo", "secho", "style", "echo_via_pager"}
# Whoever asks for these has to bear a stdin that is closed.
TERMINALS = {"cli/keyboard.py"}
_TERMINAL = {
    "sys": {"stdin"},
    "click": {
        "prompt",
        "confirm",
        "edit",
        "getchar",
        "pause",
        "get_text_stream",
        "get_binary_stream",
    },
}
EMPTY_NAMES = {
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "manager",
    "managers",
    "base",
    "impl",
}
# Each stood for lists, texts, scores and scopes alike.
EMPTY_VARIABLES = {"told", "sought", "heard", "stood", "had"}
EMPTY_WORDS = re.compile(r"\b(robust|enhanced|smart)\b", re.IGNORECASE)
# A promise is quoted as it was given, whatever its words.
QUOTED = ("contract.json", "docs/contracts/")

SQL_STATEMENT = re.compile(
    r"\s*(SELECT\s.*\bFROM\s|SELECT\s+\d|INSERT\s+(OR\s+\w+\s+)?INTO\s|REPLACE\s+INTO\s"
    r"|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|PRAGMA\s+\w|BEGIN\s+(IMMEDIATE|EXCLUSIVE|DEFERRED)"
    r"|(CREATE|DROP|ALTER)\s+(UNIQUE\s+|VIRTUAL\s+|TEMP\s+)?(TABLE|INDEX|VIEW|TRIGGER)\s"
    r"|(ROLLBACK\s+TO|RELEASE|SAVEPOINT)\s+\w|WITH\s+(RECURSIVE\s+)?\w+(\(.*\))?\s+AS\s*\()",
    re.DOTALL | re.IGNORECASE,
)
SQL_CLAUSE = re.compile(
    r"\s*(WHERE\s+\S+\s*(=|<|>|IN\b|IS\b|MATCH\b)|(ORDER|GROUP)\s+BY\s|(LEFT|INNER|CROSS)\s+JOIN\s)"
)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A place where a rule is broken: what was found there, and what to do."""

    path: str
    line: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}; {self.remedy}"


def check_python(path: PurePosixPath, text: str) -> Iterator[Finding]:
    """Check one Python file; `path` is from the root of the project, with forward slashes."""
    lines = text.count("\n") + (not text.endswith("\n"))
    if lines > FILE_LINES:
        what = f"file of {lines} lines, {FILE_LINES} at most"
        yield Finding(str(path), FILE_LINES + 1, what, "give a part of it a module of its own")
    if not path.is_relative_to(SOURCE):
        return
    inside = path.relative_to(SOURCE)
    for part in (*inside.parts[:-1], inside.stem):
        if part in EMPTY_NAMES:
            yield Finding(str(path), 1, f"{part} says nothing", "name the module for its subject")
    nodes = _nodes(path, text)
    idle = set(_idle_texts(nodes))
    for node in nodes:
        for line, what, remedy in _faults(node, inside, idle):
            yield Finding(str(path), line, what, remedy)
    for line, what in whole_stores.reached(inside, nodes):
        remedy = "read by `Records.seen_by(caller)`, or list the module in tools/house.toml"
        yield Finding(str(path), line, what, remedy)


@cache
def _tree(path: PurePosixPath, text: str) -> ast.Module:
    return ast.parse(text, str(path))


@cache
def _nodes(path: PurePosixPath, text: str) -> Sequence[ast.AST]:
    """Return every node of a file, which each rule looks at in its turn."""
    return list(ast.walk(_tree(path, text)))


_Fault = tuple[int, str, str]


def _faults(node: ast.AST, inside: PurePosixPath, idle: set[ast.AST]) -> Iterator[_Fault]:
    name = str(inside)
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                what = f"{node.name} has {lines} lines, {FUNCTION_LINES} at most"
                yield node.lineno, what, "give its steps names of their own"
        case ast.ExceptHandler() if _is_broad(node.type) and not _raises_again(node):
            if name not in BROAD_EXCEPTS:
                remedy = "name the errors that are expected; let the others through"
                yield node.lineno, "broad except", remedy
        case ast.Call(func=ast.Name("suppress") | ast.Attribute(attr="suppress")):
            if any(_is_broad(argument) for argument in node.args):
                yield node.lineno, "broad suppress", "name the errors that are expected"
        case ast.List(elts) | ast.Tuple(elts) if _runs_a_module(elts):
            remedy = "`-m` imports from the working directory: put `-P` before it"
            yield node.lineno, "a command with -m and without -P", remedy
        case ast.Call(func=ast.Name("print")):
            remedy = "log it, or give it back to the caller: stdout is the protocol's"
            yield node.lineno, "print", remedy
        case ast.Attribute(value=ast.Name("click"), attr=attribute) if attribute in _CLICK:
            if inside.is_relative_to(COMMANDS) and name not in CLICK_PRINTS:
                remedy = "print with cli/printing.py, which escapes what was stored"
                yield node.lineno, f"click.{attribute}", remedy
        case ast.Attribute(value=ast.Name(owner), attr=attribute) if attribute in _TERMINAL.get(
            owner, ()
        ):
            if inside.is_relative_to(COMMANDS) and name not in TERMINALS:
                remedy = "ask cli/keyboard.py for it, which knows what to do where stdin is closed"
                yield node.lineno, f"{owner}.{attribute}", remedy
        case ast.Call(func=ast.Name("input")) if inside.is_relative_to(COMMANDS):
            yield node.lineno, "input", "ask with cli/keyboard.py"
        case ast.Name(id=variable, ctx=ast.Store()) | ast.arg(arg=variable):
            if variable in EMPTY_VARIABLES:
                remedy = "name it for the value that it holds"
                yield node.lineno, f"a variable named {variable}", remedy
        case ast.Constant() | ast.JoinedStr() if not _may_have_sql(inside):
            if node not in idle and _is_sql(_text(node)):
                yield (
                    node.lineno,
                    "SQL",
                    "ask for it through the Store protocol, or in a feature's rows.py; tables.py says how its tables change",
                )
    if name not in ENVIRONMENT_READS:
        yield from _environment(node, name)


def _may_have_sql(inside: PurePosixPath) -> bool:
    is_of_feature = inside.parts[0] == "features" and inside.name in SQL_OF_FEATURES
    is_of_store = str(inside).startswith(SQL_FOLDERS) and not str(inside).startswith(FILES)
    return is_of_store or is_of_feature


def _environment(node: ast.AST, name: str) -> Iterator[_Fault]:
    """Find reads of the environment, and writes outside their one place."""
    remedy = "make it a setting in config/"
    match node:
        case ast.ImportFrom(module="os", names=names):
            if any(alias.name in _ENVIRONMENT for alias in names):
                yield node.lineno, "the environment is imported", remedy
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Attribute(ast.Name("os"), attribute) if attribute in _ENVIRONMENT:
                assigned = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
                defaulted = isinstance(node, ast.Attribute) and node.attr == "setdefault"
                if not assigned and not defaulted:
                    yield child.lineno, "the environment is read", remedy
                elif name not in ENVIRONMENT_WRITES:
                    what = "the environment is written"
                    yield child.lineno, what, "give the value to whoever needs it"


def _runs_a_module(elements: Sequence[ast.expr]) -> bool:
    words = [each.value for each in elements if isinstance(each, ast.Constant)]
    return "-m" in words and "-P" not in words


def _is_broad(node: ast.expr | None) -> bool:
    match node:
        case None | ast.Name("Exception" | "BaseException"):
            return True
        case ast.Tuple(elements):
            return any(_is_broad(element) for element in elements)
    return False


def _raises_again(handler: ast.ExceptHandler) -> bool:
    match handler.body[-1]:
        case ast.Raise(exc=None):
            return True
    return False


def _idle_texts(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the strings that only describe, and those that are part of a larger one."""
    for node in nodes:
        if isinstance(node, ast.Expr):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield from node.values


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(_text(v) if isinstance(v, ast.Constant) else "x" for v in node.values)


def _is_sql(text: str) -> bool:
    # In capitals or small letters, as SQL is written; a sentence begins otherwise.
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    if SQL_CLAUSE.match(text):
        return True
    return first in {first.upper(), first.lower()} and SQL_STATEMENT.match(text) is not None


def check_words(path: PurePosixPath, text: str) -> Iterator[Finding]:
    """Check a text of the package or its documents for words that say nothing."""
    if path.name in QUOTED or str(path).startswith(QUOTED):
        return
    for number, line in enumerate(text.split("\n"), start=1):
        for found in EMPTY_WORDS.finditer(line):
            yield Finding(str(path), number, f"the word “{found[0]}”", "say what it does instead")


def check_cycles(modules: Mapping[PurePosixPath, str]) -> Iterator[Finding]:
    """Find modules that import one another, however late or only for types."""
    names = {_module(path): path for path in modules}
    imports = _all_imports(modules)
    while True:
        try:
            TopologicalSorter(imports).prepare()
        except CycleError as error:
            # Each module is imported by the next.
            cycle: Sequence[str] = error.args[1]
            imported, importer = cycle[0], cycle[1]
            line = imports[importer].pop(imported)
            what = f"import cycle {' → '.join(reversed(cycle))}"
            yield Finding(str(names[importer]), line, what, "move what both need below them")
        else:
            return


def find_seams(modules: Mapping[PurePosixPath, str]) -> Sequence[seams.Seam]:
    """Return the imports from the core to features, and between features."""
    inside = {_module(path): path.relative_to(SOURCE) for path in modules}
    imports = _all_imports(modules)
    return seams.seams({inside[name]: [inside[each] for each in imports[name]] for name in imports})


def check_names(modules: Mapping[PurePosixPath, str]) -> Iterator[Finding]:
    """Find more names that classes share, and more nameless subjects of docstrings, than `tools/house.toml` allows."""
    for what in class_names.excess({path: _nodes(path, text) for path, text in modules.items()}):
        yield Finding("tools/house.toml", 1, what, "give it the plain noun of its subject")


def check_seams(modules: Mapping[PurePosixPath, str]) -> Iterator[Finding]:
    """Find more seams than `tools/house.toml` allows."""
    for what in seams.excess(find_seams(modules)):
        remedy = "have the feature enter by its register; `tools/check_house.py --seams` names them"
        yield Finding("tools/house.toml", 1, what, remedy)


def check_needs(modules: Mapping[PurePosixPath, str]) -> Iterator[Finding]:
    """Find features whose `needs` are not those that they import, and circles among features."""
    imported: dict[str, set[str]] = {}
    for part, feature in seams.pairs(find_seams(modules)):
        imported.setdefault(part, set()).add(feature)
    for path, text in modules.items():
        if path.match("features/*/feature.py"):
            name, declared = path.parent.name, _needs(_nodes(path, text))
            if set(declared) != (wanted := imported.get(name, set())):
                remedy = f"it imports {', '.join(sorted(wanted)) or 'no other feature'}"
                what = f"needs {', '.join(declared) or 'nothing'}"
                yield Finding(str(path), 1, what, remedy)
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        what = f"a circle of features: {' → '.join(reversed(error.args[1]))}"
        yield Finding(str(SOURCE / "features"), 1, what, "have one enter the other by a register")


def _needs(nodes: Iterable[ast.AST]) -> Sequence[str]:
    """Return the names in `needs` of a feature's register."""
    found = (node for node in nodes if isinstance(node, ast.keyword) and node.arg == "needs")
    return [str(name) for node in found for name in ast.literal_eval(node.value)]


def count_lines(modules: Mapping[PurePosixPath, str]) -> Mapping[PurePosixPath, int]:
    """Return the lines of code of each module, by its path below the package."""
    return {
        path.relative_to(SOURCE): size.lines_of_code(text, _nodes(path, text))
        for path, text in modules.items()
    }


def check_size(modules: Mapping[PurePosixPath, str]) -> Iterator[Finding]:
    """Find more lines of code than `tools/house.toml` allows, and numbers in it that were raised."""
    for what in size.raised(seams.TABLE.read_text(encoding="utf-8"), size.committed()):
        yield Finding("tools/house.toml", 1, what, "take away in the same commit what makes room")
    for what in size.excess(count_lines(modules)):
        remedy = "join what is done twice; `tools/check_house.py --size` shows the folders"
        yield Finding("tools/house.toml", 1, what, remedy)


def check_engines(modules: Mapping[PurePosixPath, str]) -> Iterator[Finding]:
    """Find more than the two engines may write each by itself: functions of one name, and their lines."""
    lines: dict[str, dict[str, int]] = {engine: {} for engine in ENGINES}
    for path, text in modules.items():
        inside = path.relative_to(SOURCE)
        for engine in ENGINES:
            if inside.is_relative_to(engine):
                for node in _nodes(path, text):
                    if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                        own = (node.end_lineno or node.lineno) - node.lineno + 1
                        lines[engine][node.name] = lines[engine].get(node.name, 0) + own
    one, other = lines.values()
    both = one.keys() & other.keys()
    total = sum(one[name] + other[name] for name in both)
    for count, most, what in (
        (len(both), ENGINE_FUNCTIONS, "functions"),
        (total, ENGINE_LINES, "lines of functions"),
    ):
        if count > most:
            remedy = f"write once, in store/sql, what both do: {', '.join(sorted(both))}"
            yield Finding(
                str(SOURCE / ENGINES[0]), 1, f"{count} {what} of one name, {most} at most", remedy
            )


def check_docstrings(modules: Mapping[PurePosixPath, str]) -> Iterator[Finding]:
    """Find docstrings that do not say what is returned, or which of the package's errors are raised.

    None begins with "Give", which says neither. In that of a public function a sentence must begin
    with "Raises" (or "Raise", where a check is all that the function does) and name each error that
    the body raises itself.
    """
    errors = _error_names(node for path, text in modules.items() for node in _nodes(path, text))
    listed = re.compile(rf";\s+({'|'.join(sorted(errors | _BUILTIN_ERRORS))})\b")
    for path, text in modules.items():
        for node in _definitions(_tree(path, text)):
            docstring = ast.get_docstring(node) or ""
            if _GIVES.match(docstring):
                what = f"the docstring of {node.name} begins with “Give”"
                yield Finding(str(path), node.lineno, what, "say “Return …” or “Yield …”, and what")
            for found in listed.finditer(docstring):
                what = f"{node.name} lists {found[1]} after a semicolon"
                yield Finding(str(path), node.lineno, what, f"say “Raises {found[1]} if …”")
            if isinstance(node, ast.ClassDef) or node.name.startswith("_") or _is_command(node):
                continue
            sentences = " ".join(_RAISES.findall(docstring))
            for name in sorted(errors & set(_raised(node.body))):
                if not re.search(rf"\b{name}\b", sentences):
                    what = f"{node.name} raises {name}, and its docstring does not say so"
                    yield Finding(str(path), node.lineno, what, f"add “Raises {name} if …”")


def check_reasons(modules: Mapping[PurePosixPath, str]) -> Iterator[Finding]:
    """Find errors whose reason is put together where it is raised, so that no page can say it in its language."""
    for found in Reasons({path: _tree(path, text) for path, text in modules.items()}).misuses():
        yield Finding(str(found.path), found.line, found.what, found.remedy)


_BUILTIN_ERRORS = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
_GIVES = re.compile(r"Gives?\b")
# From the word to the end of its sentence; a dot inside a name or a number ends none.
_RAISES = re.compile(r"(?:^|(?<=[.!?)”\"`]\s))\s*Raises?\s(?:[^.]|\.(?!\s|$))*", re.MULTILINE)


def _error_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names of the exception classes that are defined among some nodes."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for node in nodes
        if isinstance(node, ast.ClassDef)
    }
    names: set[str] = set()
    while more := {n for n, above in bases.items() if above & (names | _BUILTIN_ERRORS)} - names:
        names |= more
    return names


def _definitions(
    node: ast.AST,
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield the classes, functions and methods of a module, but none inside a function."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield child
            case ast.ClassDef():
                yield child
                yield from _definitions(child)
            case _:
                yield from _definitions(child)


def _is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function is a command, whose docstring people read as its help."""
    made = (each.func for each in node.decorator_list if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Attribute) and each.attr == "command" for each in made)


def _raised(body: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that a function's body raises uncaught, without the functions inside it."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                continue
            case ast.Try(inside, handlers, otherwise, finally_):
                caught = {
                    name.id
                    for handler in handlers
                    for name in ast.walk(handler.type or handler)
                    if isinstance(name, ast.Name)
                }
                yield from (name for name in _raised(inside) if name not in caught)
                yield from _raised([*handlers, *otherwise, *finally_])
                continue
            case ast.Raise(exc=ast.Name(name) | ast.Call(func=ast.Name(name))):
                yield name
        yield from _raised(ast.iter_child_nodes(node))


def _module(path: PurePosixPath) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _all_imports(modules: Mapping[PurePosixPath, str]) -> dict[str, dict[str, int]]:
    """Return what each module imports of the others, by name, with the line of it."""
    names = {_module(path): path for path in modules}
    return {name: dict(_imports(name, names, modules[path])) for name, path in names.items()}


def _imports(
    module: str, names: Mapping[str, PurePosixPath], text: str
) -> Iterator[tuple[str, int]]:
    package = module if names[module].name == "__init__.py" else module.rpartition(".")[0]
    for node in _nodes(names[module], text):
        wanted: list[str] = []
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(part for part in (above, node.module) if part)
            members = [f"{source}.{alias.name}" for alias in node.names]
            wanted = [member if member in names else source for member in members]
        for name in wanted:
            if name in names and name != module:
                yield name, getattr(node, "lineno", 1)


def read_python(root: Path, *folders: str) -> dict[PurePosixPath, str]:
    """Return the text of each Python file below some folders of the project, by its path."""
    return {
        PurePosixPath(path.relative_to(root).as_posix()): path.read_text(encoding="utf-8")
        for folder in folders
        for path in sorted((root / folder).rglob("*.py"))
    }


def check(root: Path) -> list[Finding]:
    """Check the whole project below its root folder."""
    python = read_python(root, "src", "tests", "tools", "benchmarks")
    texts = [
        *root.glob("*.md"),
        *(root / "docs").rglob("*.md"),
        *(root / SOURCE).rglob("*.md"),
        *(root / SOURCE).rglob("*.json"),
    ]
    words = {
        PurePosixPath(path.relative_to(root).as_posix()): path.read_text(encoding="utf-8")
        for path in sorted(texts)
    }
    source = {path: text for path, text in python.items() if path.is_relative_to(SOURCE)}
    findings = [finding for path, text in python.items() for finding in check_python(path, text)]
    findings += [f for path, text in (source | words).items() for f in check_words(path, text)]
    return sorted(
        [
            *findings,
            *check_docstrings(source),
            *check_reasons(source),
            *check_cycles(source),
            *check_seams(source),
            *check_needs(source),
            *check_engines(source),
            *check_names(source),
            *check_size(source),
        ]
    )


def main(words: Sequence[str] = ()) -> int:
    """Print what is not in order, or with `--seams` the seams, with `--size` the lines of code; return the exit status."""
    if words[:1] == ["--removal"]:
        from tools import removal  # it looks at seams by this module

        return removal.main(words[1:])
    if "--seams" in words:
        print(*seams.report(find_seams(read_python(ROOT, "src"))), sep="\n")
        return 0
    if "--size" in words:
        print(*size.report(count_lines(read_python(ROOT, "src"))), sep="\n")
        return 0
    findings = check(ROOT)
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings" if findings else "The house is in order.")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
