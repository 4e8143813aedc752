"""Find references to code in a text: paths with or without lines, names, and commands."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"(?<![\w./@$-])"
    r"(?P<path>(?:\.{0,2}/)?(?:[\w@+-][\w.@+-]*/)*[\w@+-][\w.@+-]*)"
    r"(?:(?::|#)L?(?P<first>\d{1,7})(?:-L?(?P<last>\d{1,7}))?(?!\w)|:(?P<symbol>[A-Za-z_]\w*(?:(?:\.|::|\#)[A-Za-z_]\w*)*))?"
)
_SYMBOL = re.compile(r"(?<![\w./$-])[A-Za-z_$][\w$]*(?:(?:\.|::|\#)[A-Za-z_$][\w$]*)*(?P<call>\()?")
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
# An identifier that hardly any prose has: an underscore, a capital or a separator inside.
_CODE_LIKE = re.compile(r"\w_\w|[a-z\d][A-Z]|\w(?:\.|::|#)\w")
_PATH_LIKE = re.compile(r"/\w|\w\.[A-Za-z]")
_PARTS = re.compile(r"\.|::|#")
_NPM = dict.fromkeys(("npm run", "pnpm run", "yarn run", "bun run"), ("package.json", "scripts"))
_RUNNERS: Mapping[str, Sequence[str]] = {"make": ("Makefile",), **_NPM}
"""By the words before a command: the file that defines it, and the keys that enclose it there."""
_COMMAND = re.compile(rf"({'|'.join(_RUNNERS)}) ([\w:.-]+)")


@dataclass(frozen=True, slots=True)
class Reference:
    """A possible citation, as it is written in a text, with a path, a symbol or both.

    `lines` are the first and the last, counted from 1; `symbol` has the names of a definition or a value, outer first.
    """

    written: str
    path: str | None = None
    lines: tuple[int, int] | None = None
    symbol: tuple[str, ...] = ()


def references_in(text: str) -> list[Reference]:
    """Return the possible citations of a text, each once; they may name nothing that exists."""
    paths = [match for match in _TOKEN.finditer(text) if _PATH_LIKE.search(match["path"])]
    # `Order.total` may be a file as well as a name; a path with lines or folders is no name.
    certain = [match.span() for match in paths if match[0] != match["path"] or "/" in match[0]]
    return list(dict.fromkeys((*map(_path, paths), *_symbols(text, certain), *_commands(text))))


def relative_to_root(root: str, path: str) -> str:
    """Return a path without the folder `root` in front, if it was written with it."""
    return f"/{path}".removeprefix(f"{root}/").removeprefix("/")


def file_meant(path: str, files: Iterable[str]) -> str | None:
    """Return the one file that ends with a path, as texts shorten them; None if there is none, or several."""
    found = [each for each in files if each.endswith(f"/{path}")]
    return found[0] if len(found) == 1 else None


def quote_citations(citations: Iterable[str]) -> str:
    """Return citations as a text for `references_in`, one on a line; in quotes any name counts as code."""
    return "\n".join(f"`{each}`" for each in citations)


def _path(match: re.Match[str]) -> Reference:
    """Return the reference to a path, with lines or a symbol if it names them."""
    first, last, symbol = match["first"], match["last"], match["symbol"]
    return Reference(
        match[0].rstrip("."),
        match["path"].rstrip(".").removeprefix("./").lstrip("/"),
        (int(first), max(int(first), int(last or first))) if first else None,
        tuple(_PARTS.split(symbol)) if symbol else (),
    )


def _commands(text: str) -> Iterator[Reference]:
    """Yield the commands of the project that are quoted: `make demo`, `npm run build`."""
    for quoted in _QUOTED.finditer(text):
        if found := _COMMAND.fullmatch(quoted[1]):
            path, *keys = _RUNNERS[found[1]]
            yield Reference(quoted[1], path, symbol=(*keys, found[2]))


def _symbols(text: str, paths: Sequence[tuple[int, int]]) -> Iterator[Reference]:
    """Yield possible names of definitions that are not part of a path; `paths` are the spans of paths, in order."""
    quoted = {match.start(1): match[1] for match in _QUOTED.finditer(text)}
    ends = [end for _, end in paths]
    for match in _SYMBOL.finditer(text):
        name = match[0].removesuffix("(")
        following = bisect_right(ends, match.start())
        if following < len(paths) and paths[following][0] <= match.start():
            continue
        is_quoted = quoted.get(match.start()) in {name, f"{name}()"}
        if is_quoted or match["call"] or _CODE_LIKE.search(name):
            yield Reference(name, symbol=tuple(_PARTS.split(name)))
