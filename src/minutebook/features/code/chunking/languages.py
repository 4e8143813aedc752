"""The languages of files, as `languages.toml` lists them, and how their definitions are found."""

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from minutebook.features.code.chunking.outline import Outline, headings, keys


@dataclass(frozen=True, slots=True)
class Grammar:
    """The module and function that return a tree-sitter grammar, and the query for definitions."""

    module: str
    query: str
    function: str = "language"


@dataclass(frozen=True, slots=True)
class Language:
    """A language: how its files are recognised, and how they are cut.

    A definition with fewer lines than `smallest` has no chunk of its own. Without a grammar and
    an outline, files are cut by paragraphs.
    """

    name: str
    aliases: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    grammar: Grammar | None = None
    outline: Callable[[Sequence[str]], Outline] | None = None
    separator: str = "."
    smallest: int = 1


_OUTLINES: dict[str, Callable[[Sequence[str]], Outline]] = {"headings": headings, "keys": keys}


def _listed() -> Iterator[Language]:
    """Yield the languages that languages.toml describes."""
    listed = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
    definitions = listed["definitions"]
    for each in listed["language"]:
        grammar = None
        if "grammar" in each:
            query = "".join(definitions[name] for name in each["definitions"])
            grammar = Grammar(each["grammar"], query, each.get("function", "language"))
        yield Language(
            name=each["name"],
            aliases=tuple(each.get("aliases", "").split()),
            suffixes=tuple(each.get("suffixes", "").split()),
            files=tuple(each.get("files", "").split()),
            interpreters=tuple(each.get("interpreters", "").split()),
            grammar=grammar,
            outline=_OUTLINES[each["outline"]] if "outline" in each else None,
            separator=each.get("separator", "."),
            smallest=each.get("smallest", 1),
        )


LANGUAGES = tuple(_listed())
"""Every language known; the first row that has a suffix or file name wins."""

_BY_FILE = {name: row for row in reversed(LANGUAGES) for name in row.files}
_BY_SUFFIX = {suffix: row for row in reversed(LANGUAGES) for suffix in row.suffixes}
_BY_INTERPRETER = {name: row for row in reversed(LANGUAGES) for name in row.interpreters}
_BY_NAME = {row.name: row for row in reversed(LANGUAGES)}
_BY_ALIAS = {
    **{suffix[1:]: row for suffix, row in _BY_SUFFIX.items()},
    **{alias: row for row in LANGUAGES for alias in row.aliases},
}
_SHEBANG = re.compile(
    r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:\S*/)?([A-Za-z][\w-]*?)[\d.]*(?=\s|$)"
)
# A header is C unless one of these matches: the grammar of C fails on the other two.
_CPP_SIGN = re.compile(
    r"^\s*(?:class\s+\w+|namespace\b|template\s*<|using\s+\w|public:|private:|protected:)",
    re.MULTILINE,
)
_OBJECTIVE_C_SIGN = re.compile(
    r"^\s*(?:@(?:interface|implementation|protocol|class|import|end)\b|#\s*import\b)", re.MULTILINE
)
_MATLAB_SIGN = re.compile(r"^\s*(?:%|function\b|classdef\b)", re.MULTILINE)


def language_of(path: str, text: str = "") -> Language | None:
    """Return the language of a file by its name, else its suffix, else its first line; None if unknown.

    The text decides for `.h` and `.m`, which several languages share.
    """
    name = path.rsplit("/", 1)[-1]
    if name in _BY_FILE:
        return _BY_FILE[name]
    dot = name.rfind(".")
    if dot > 0:
        suffix = name[dot:].lower()
        return _BY_NAME.get(_shared_suffix(suffix, text)) or _BY_SUFFIX.get(suffix)
    shebang = _SHEBANG.match(text)
    return _BY_INTERPRETER.get(shebang[1]) if shebang else None


def _shared_suffix(suffix: str, text: str) -> str:
    """Return the language of a text with the suffix `.h` or `.m`; empty if it is the first one with that suffix."""
    is_cpp = suffix == ".h" and _CPP_SIGN.search(text)
    if suffix in {".h", ".m"} and _OBJECTIVE_C_SIGN.search(text):
        return "objectivecpp" if is_cpp else "objectivec"
    if suffix == ".m" and _MATLAB_SIGN.search(text):
        return "matlab"
    return "cpp" if is_cpp else ""


def language_named(name: str) -> Language | None:
    """Return the language with this name or alias, in any case; None if unknown."""
    known = _BY_NAME.get(name.lower())
    return known or _BY_ALIAS.get(name.lower())
