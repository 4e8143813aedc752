"""Find the technologies that a text names: by a curated list, by the suffixes of files, by packages."""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

MAX_PACKAGE = 40
"""The most characters of a package's name."""

_FILE: Mapping[str, Any] = tomllib.loads(
    resources.files(__package__).joinpath("technologies.toml").read_text(encoding="utf-8")
)


def _by_name(table: Mapping[str, str]) -> dict[str, str]:
    return {name: shown for shown, names in table.items() for name in names.split()}


SUFFIXES: Mapping[str, str | None] = {
    suffix: None if shown == "-" else shown for suffix, shown in _by_name(_FILE["suffixes"]).items()
}
"""The technology of each known suffix of files; None for one that tells nothing."""

_NAMED_FILES = _by_name(_FILE["files"])
_AS_WRITTEN = {
    name: shown or name.lower()
    for name, _, shown in (each.partition(":") for each in _FILE["as_written"].split())
}
_NO_PACKAGES = frozenset(_FILE["no_packages"].split())


def _names_table() -> dict[str, str]:
    careful = {name.lower() for name in _AS_WRITTEN}
    table: dict[str, str] = {}
    for item in _FILE["names"].split():
        shown, _, others = item.replace("~", " ").partition(":")
        for name in (shown, *others.split(",")):
            if name and name not in careful:
                table[name] = shown
    return table


_TABLE = _names_table()
_EDGE = r"[A-Za-z0-9_]"
_NAMES = re.compile(
    rf"(?<!{_EDGE})(?<![/@.-])(?:{'|'.join(re.escape(n) for n in sorted(_TABLE, key=len, reverse=True))})"
    rf"(?!{_EDGE})(?![+#])",
    re.IGNORECASE,
)
# Not the first word of a sentence: that has a capital anyway.
_DOUBTFUL = re.compile(
    rf"(?:(?<=[\w,(+&] )|(?<=[(/]))(?:{'|'.join(_AS_WRITTEN)})(?!{_EDGE})(?![.']\w)"
)

_URL = re.compile(r"\b(?:https?|ftp|file|git|ssh|wss?)://\S+", re.IGNORECASE)
_TOKEN = re.compile(r"[\w.~@+/\\:-]{3,300}")
_INSTALL = re.compile(
    r"(?P<start>^[ \t]*(?:[$>#%][ \t]*)?|`|)(?<![\w-])(?:sudo )?(?:python3? -m )?(?:pip3? install|uv add|uv pip install"
    r"|poetry add|pipx install|npm (?:install|i|add)|yarn add|pnpm add|bun add|cargo add|cargo install|gem install"
    r"|go get|go install|brew install|apt(?:-get)? install)[ \t]+(?P<what>[^\n`;&|\"]+)",
    re.MULTILINE,
)
_PACKAGE = re.compile(r"(?:@[a-z0-9][\w.-]*/)?[A-Za-z][\w.-]*[A-Za-z0-9]|[a-z]")
_IMPORTS = (
    re.compile(r"^[ \t]*from ([A-Za-z_]\w*)(?:\.\w+)* import \w", re.MULTILINE),
    re.compile(r"^[ \t]*import ([a-z_]\w*)(?:\.\w+)*(?: as \w+)?[ \t]*$", re.MULTILINE),
    re.compile(r"""\brequire\(['"]((?:@[\w-]+/)?[a-z][\w.-]*)['"/)]"""),
    re.compile(r"""\bfrom ['"]((?:@[\w-]+/)?[a-z][\w.-]*)['"/]"""),
)


def without_urls(text: str) -> str:
    """Return a text without its URLs: a name inside one is neither a file nor a technology in use."""
    return _URL.sub(" ", text)


def files_in(text: str) -> Iterator[str]:
    """Yield each path to a file, by known suffix or name, as often as it occurs."""
    for token in _TOKEN.findall(text):
        path = token.replace("\\", "/").rstrip("/.:-").partition(":")[0].removeprefix("./")
        name = PurePosixPath(path).name
        stem, _, suffix = name.rpartition(".")
        is_file = stem and suffix in SUFFIXES and name.lower() not in _TABLE
        if (is_file or name in _NAMED_FILES) and not path.startswith("@"):
            yield path


def technology_of(path: str) -> str | None:
    """Return the technology of a file by its name, None if the name tells nothing."""
    file = PurePosixPath(path)
    return _NAMED_FILES.get(file.name) or SUFFIXES.get(file.suffix.removeprefix("."))


def technologies_in(text: str) -> Iterator[str]:
    """Yield each technology that is named without doubt, as often as it occurs."""
    for match in _NAMES.finditer(text):
        yield _TABLE[match[0].lower()]


def doubtful_technologies_in(text: str) -> Iterator[str]:
    """Yield each ambiguous name of a technology, capitalized inside a sentence: Go, Swift."""
    for match in _DOUBTFUL.finditer(text):
        yield _AS_WRITTEN[match[0]]


def packages_in(text: str) -> Iterator[str]:
    """Yield each package that is installed or imported, apart from the standard library.

    Of an installation inside a sentence only the first package counts: the next words may be part of the sentence.
    """
    for match in _INSTALL.finditer(text):
        named = [word for word in match["what"].split() if not word.startswith("-")]
        is_command = bool(match["start"])
        for word in named if is_command else named[:1]:
            name = re.split(r"[\[=<>~!^,;()]|(?<=.)@", word)[0].rstrip(".:")
            if _is_package(name):
                yield name.lower()
    for pattern in _IMPORTS:
        for match in pattern.finditer(text):
            if _is_package(match[1]):
                yield match[1].lower()


def _is_package(name: str) -> bool:
    return (
        _PACKAGE.fullmatch(name) is not None
        and 1 < len(name) <= MAX_PACKAGE
        and name.lower() not in _NO_PACKAGES
        and name not in sys.stdlib_module_names
        and PurePosixPath(name).suffix.removeprefix(".") not in SUFFIXES.keys() - {"js"}
    )
