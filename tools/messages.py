"""Keep the catalogues of the pages' texts in step with the code; `make messages` writes them.

With `--check`, prints what is not in step or not translated, and exits with 1 if there is any.
"""

import argparse
import ast
import io
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from string import Formatter
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment, nodes

from minutebook.features.pages.frame.catalogue import DOMAIN, ENGLISH, LANGUAGES, LOCALES, SUFFIX

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.reasons import Reasons, has_words

FEATURES = LOCALES.parent.parent
SOURCE = FEATURES.parent

KEYWORDS = {"_": None, "later": None, "number_of": (1, 2), "later_number_of": (1, 2)}
METHODS = [("features/**.py", "python"), ("features/*/templates/**.html", "jinja2")]
OPTIONS = {"features/*/templates/**.html": {"trimmed": "true", "silent": "false"}}

# Without dates and names of tools, which would differ from one run to the next.
_HEADER = r"""# Texts of the pages. `make messages` adds new ones and removes those that are not used.
msgid ""
msgstr ""
"Language: {code}\n"
"Plural-Forms: {plurals}\n"
"Content-Type: text/plain; charset=utf-8\n"

"""

# Names, and signs that every language writes so.
UNTRANSLATED = {"Minutebook", "UUID", "UTC", "MB", "htmx-config"}
# What these hold is typed or run as it is.
_VERBATIM = {"code", "script", "style"}
_SHOWN_ATTRIBUTES = {"title", "placeholder", "aria-label", "alt", "label", "aria-description"}
_EXPRESSION = "\N{OBJECT REPLACEMENT CHARACTER}"
_WORD = re.compile(r"[^\W\d_]{2,}")


def extracted() -> Catalog:
    """Return the texts that the code of features marks, and the reasons that all code gives, with their files."""
    catalogue = Catalog()
    found = extract_from_dir(SOURCE, METHODS, OPTIONS, KEYWORDS)
    for file, _line, message, _comments, _context in sorted(found, key=lambda each: each[:2]):
        catalogue.add(message, locations=[(file, 1)])
    for path in sorted(SOURCE.rglob(f"*{SUFFIX}")):
        for text in _values(tomllib.loads(path.read_text("utf-8"))):
            catalogue.add(text, locations=[(path.relative_to(SOURCE).as_posix(), 1)])
    for each in reasons().templates():
        if has_words(each.text):
            catalogue.add(each.text, locations=[(str(each.path), 1)])
    return catalogue


def _values(found: Any) -> Iterator[str]:
    """Yield the texts of a file of texts."""
    match found:
        case str():
            yield found
        case _:
            for each in found.values() if isinstance(found, dict) else found:
                yield from _values(each)


def reasons() -> Reasons:
    """Return the reasons in the whole package."""
    return Reasons(
        {
            PurePosixPath(path.relative_to(SOURCE).as_posix()): ast.parse(path.read_text("utf-8"))
            for path in sorted(SOURCE.rglob("*.py"))
        }
    )


def source_of(code: str) -> Path:
    """Return the path of a language's catalogue as people edit it."""
    return LOCALES / code / "LC_MESSAGES" / f"{DOMAIN}.po"


def updated(code: str, template: Catalog) -> tuple[Catalog, bytes]:
    """Return a language's catalogue with the texts that the code marks now, and its file."""
    source = source_of(code)
    old = Catalog(locale=code)
    if source.exists():
        with source.open("rb") as file:
            old = read_po(file, locale=code)
    new = Catalog(locale=code)
    for message in template:
        if not message.id:
            continue
        known = old.get(message.id)
        string = known.string if known is not None else None
        flags = known.flags & {"fuzzy"} if known is not None else ()
        comments = known.user_comments if known is not None else ()
        new.add(message.id, string, message.locations, flags, user_comments=comments)
    written = io.BytesIO(_HEADER.format(code=code, plurals=new.plural_forms).encode())
    written.seek(0, io.SEEK_END)
    write_po(written, new, width=0, omit_header=True, include_lineno=False)
    return new, written.getvalue()


def untranslated(catalogue: Catalog) -> Iterator[str]:
    """Say which texts have no translation, a doubtful one, or one with other names in braces."""
    for message in catalogue:
        originals, strings = _texts(message.id), _texts(message.string)
        if not originals:
            continue
        needed = catalogue.num_plurals if message.pluralizable else 1
        if len(strings) < needed:
            yield f"{originals[0]!r} is not translated"
        elif message.fuzzy:
            yield f"{originals[0]!r} is marked as fuzzy"
        elif any(_names(each) != _names(originals[-1]) for each in strings):
            yield f"the translation of {originals[0]!r} has other names in braces"


def _texts(found: str | Sequence[str] | None) -> list[str]:
    texts = [found] if isinstance(found, str) else list(found or ())
    return [each for each in texts if each]


def _names(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def too_early(path: Path) -> Iterator[str]:
    """Say where a module translates a text when it is imported, before it is known who looks."""

    def walk(node: ast.AST) -> Iterator[int]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                    continue
                case ast.Call(func=ast.Name("_" | "number_of")):
                    yield child.lineno
            yield from walk(child)

    for line in walk(ast.parse(path.read_text(encoding="utf-8"))):
        yield f"{path.name}:{line}: mark it with later(…) or later_number_of(…)"


def unmarked(source: str) -> list[str]:
    """Return the texts of a template that a person sees and that no language can translate."""
    tree = Environment(autoescape=True).parse(source)
    page = "".join(_written(tree))
    finder = _Texts()
    finder.feed(page)
    finder.close()
    return [text for text in finder.found if _is_unmarked(text)]


def _is_unmarked(text: str) -> bool:
    return any(word not in UNTRANSLATED for word in _WORD.findall(text))


def _written(node: nodes.Node) -> Iterator[str]:
    """Yield what a template writes, in order, with a sign for each value."""
    for child in node.iter_child_nodes():
        match child:
            case nodes.TemplateData():
                yield child.data
            case nodes.Output():
                yield from _written(child)
            case nodes.Expr():
                # A text in an expression is looked up in the catalogue, or is no text for people.
                yield _EXPRESSION if isinstance(node, nodes.Output) else ""
            case _:
                yield from _written(child)


class _Texts(HTMLParser):
    """Finds the texts of a page that are seen or read out."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._verbatim = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._verbatim += tag in _VERBATIM
        self.found += [value for name, value in attrs if name in _SHOWN_ATTRIBUTES and value]

    def handle_endtag(self, tag: str) -> None:
        self._verbatim -= tag in _VERBATIM

    def handle_data(self, data: str) -> None:
        if not self._verbatim:
            self.found.append(data.strip(f" \n{_EXPRESSION}"))


def findings() -> Iterator[str]:
    """Say what is not in step."""
    template = extracted()
    for code in LANGUAGES:
        if code == ENGLISH.code:
            continue
        source = source_of(code)
        catalogue, written = updated(code, template)
        if not source.exists() or source.read_bytes() != written:
            yield f"{source}: not in step with the code; run `make messages`"
        for each in untranslated(catalogue):
            yield f"{source}: {each}"
    for path in sorted(FEATURES.rglob("*.py")):
        yield from too_early(path)
    for path in sorted(FEATURES.glob("*/templates/**/*.html")):
        for text in unmarked(path.read_text(encoding="utf-8")):
            yield f"{path.name}: {text!r} is not marked; write it as _('…')"


def main() -> int:
    """Write the catalogues, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        template = extracted()
        with (LOCALES / f"{DOMAIN}.pot").open("wb") as file:
            write_po(file, template, width=0, include_lineno=False, omit_header=True)
        for code in LANGUAGES:
            if code != ENGLISH.code:
                _, written = updated(code, template)
                source_of(code).parent.mkdir(parents=True, exist_ok=True)
                source_of(code).write_bytes(written)
    found = list(findings())
    for each in found:
        print(each)
    print(f"{len(found)} findings" if found else "Every text has its translations.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
