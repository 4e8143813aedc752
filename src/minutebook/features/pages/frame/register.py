"""The additions of features to the pages, from the register `pages`."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from minutebook.feature import FOLDER, entries_of, features
from minutebook.features.pages.frame.catalogue import Later
from minutebook.features.pages.frame.page import (
    FindKind,
    Goto,
    MenuEntry,
    Page,
    Pages,
    View,
    Views,
    Visit,
)

Shown = tuple[str, Mapping[str, Any]]
"""A part of a page: its template and the template's values."""


@cache
def registered() -> Sequence[Pages]:
    """Return the additions of each feature."""
    return tuple(entries_of("pages.own"))


@cache
def views() -> Sequence[Views]:
    """Return all views."""
    return (
        {("GET", "/"): ("begin", _begin), ("GET", "/more"): ("more", _more)},
        *(v for each in registered() for v in each.views),
        _acts(),
    )


def _begin(visit: Visit) -> Goto:
    """Redirect to the first page of the menu."""
    return Goto(menu()[0].path)


def menu() -> Sequence[MenuEntry]:
    """Return the entries of the menu, in order."""
    return [each for each in _entries() if each.group is None]


def _more(visit: Visit) -> Page:
    """Show the entries of the page *More* by group, in order, without those of empty pages."""
    groups: dict[Later, list[MenuEntry]] = {}
    for each in _entries():
        if each.group is not None and (each.holds is None or each.holds(visit)):
            groups.setdefault(each.group, []).append(each)
    return Page("more.html", {"groups": groups})


def is_under_more(path: str) -> bool:
    """Tell whether the page at a path is an entry of *More*."""
    return any(each.path == path and each.group is not None for each in _entries())


def _entries() -> Sequence[MenuEntry]:
    return sorted((e for each in registered() for e in each.menu), key=lambda entry: entry.place)


def find_kinds() -> Sequence[FindKind]:
    """Return the kinds of records that features add to *Find*, in order."""
    return sorted((k for each in registered() for k in each.kinds), key=lambda kind: kind.place)


def parts(place: str, visit: Visit, about: object = None) -> list[Shown]:
    """Return the parts that features add at a place of a page; `about` is a record or other value that they need."""
    found = ((template, make(visit.app, visit.caller, about)) for template, make in _parts(place))
    return [(template, values) for template, values in found if values is not None]


@cache
def _parts(place: str) -> Sequence[tuple[str, Any]]:
    return tuple(
        (template, feature.load(name) if name else lambda *_: {})
        for feature in features()
        for template, name in feature.pages.parts.get(place, {}).items()
    )


def _acts() -> Views:
    """Return the views of the acts of forms in such parts."""
    return {
        ("POST", path): (name.partition(":")[2].replace("_", " "), _view(feature.load(name)))
        for feature in features()
        for path, name in feature.pages.acts.items()
    }


def _view(act: Any) -> View:
    def view(visit: Visit) -> Page | Goto:
        return Goto(act(visit.app, visit.caller, **visit.path))

    return view


def folders(name: str) -> Iterator[tuple[str, Path]]:
    """Yield each feature that has a folder of this name, such as `templates`, and the folder."""
    for feature in features():
        file = import_module(f"{FOLDER}.{feature.name}").__file__
        assert file is not None
        if (folder := Path(file).parent / name).is_dir():
            yield feature.name, folder
