"""The seam: each feature enters by its register alone."""

import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields

import pytest
from click import Context

from minutebook.ask.operation import Operation
from minutebook.ask.table import operations
from minutebook.cli import main
from minutebook.cli.added_options import AddedOptions
from minutebook.cli.commands.setup import Steps
from minutebook.config import Settings
from minutebook.feature import Feature, features
from minutebook.features.http.mounts import MountOption
from minutebook.features.pages.frame.page import Pages
from minutebook.features.pages.frame.rendering import environment
from minutebook.store.sql.side_tables import SideTables


def named_by(feature: Feature) -> Iterator[tuple[str, str]]:
    """Yield each register in which a feature names one object, such as `files.copies`, and its name."""
    for each in fields(Feature):
        held = getattr(feature, each.name)
        named = held._asdict() if isinstance(held, tuple) and hasattr(held, "_asdict") else {}
        inner = {f"{each.name}.{name}": value for name, value in named.items()}
        for register, name in (inner or {each.name: held}).items():
            if isinstance(name, str) and name and register != "name":
                yield register, name
    yield from ((f"on.{event}", name) for event, name in feature.on.items())


NAMED = [(feature, *each) for feature in features() for each in named_by(feature)]

GIVEN = {
    "files.backups": ["directory"],
    "files.rewrite": ["backup", "caller", "records", "clock", "home", "keys"],
    "models.summarizer": ["read", "count"],
    "checks_here": ["settings"],
    "status": ["app", "caller"],
    "on.open": ["app"],
    "on.connect": ["app", "caller", "folder"],
    "on.write": ["app", "caller", "record"],
    "on.act": ["store", "entry", "changes", "noted"],
    "on.answer": ["app", "caller", "act", "question", "got"],
    "on.status": ["app", "caller"],
    "on.erase": ["store", "records"],
    "on.reset": ["app", "caller", "organization"],
    "on.repair": ["app", "caller"],
    "on.move": ["settings", "store", "is_to_server"],
    "on.index": ["app", "project"],
    "on.code_found": ["app", "caller", "query", "project"],
    "on.where": ["settings", "place"],
}
"""What functions of registers and events are given."""


def test_each_folder_has_the_register_of_its_name() -> None:
    names = [each.name for each in features()]
    assert names == sorted(set(names))
    assert {need for each in features() for need in each.needs} <= set(names)


@pytest.mark.parametrize(
    ("feature", "register", "name"), NAMED, ids=[f"{f.name}-{r}" for f, r, _ in NAMED]
)
def test_what_a_register_names_is_there(feature: Feature, register: str, name: str) -> None:
    loaded = feature.load(name)
    match register:
        case "settings":
            assert issubclass(loaded, Settings)
        case "contract":
            assert loaded().name == feature.name
        case "knowledge.tools" | "knowledge.prompts":
            assert all(map(callable, loaded.values()))
        case "setup":
            assert isinstance(loaded, Steps)
        case "tables":
            assert isinstance(loaded, SideTables)
        case "operations":
            assert all(isinstance(each, Operation) for each in loaded)
        case "pages.own":
            assert isinstance(loaded, Pages)
        case "http.mount":
            assert isinstance(loaded, MountOption)
        case _ if register in GIVEN or register.startswith("on."):
            assert list(inspect.signature(loaded).parameters) == GIVEN[register]
        case _:
            assert next(iter(inspect.signature(loaded).parameters)) in ("app", "settings")


def test_options_are_added_to_commands_that_are_there() -> None:
    added = [
        (command, name, feature.load(given))
        for feature in features()
        for command, given in feature.options.items()
        for name in feature.load(given).options
    ]
    assert added
    for command, name, options in added:
        assert isinstance(options, AddedOptions)
        found = main.get_command(Context(main), command)
        # A command of a feature that is not there gets no option.
        if found is not None:
            assert name in {each.name for each in found.params}


def test_requests_of_the_daemon_name_what_does_them() -> None:
    acts = [f.load(name) for f in features() for name in f.daemon_requests.values()]
    assert acts
    for act in acts:
        assert list(inspect.signature(act).parameters) == ["daemon_client", "request"]


def test_parts_of_pages_and_acts_behind_them_are_there() -> None:
    parts = [
        (template, feature.load(name) if name else None)
        for feature in features()
        for named in feature.pages.parts.values()
        for template, name in named.items()
    ]
    assert parts
    for template, make in parts:
        assert environment().get_template(template)
        assert make is None or list(inspect.signature(make).parameters)[:2] == ["app", "caller"]
    for act in (f.load(name) for f in features() for name in f.pages.acts.values()):
        assert list(inspect.signature(act).parameters)[:2] == ["app", "caller"]


def test_needs_go_in_no_circle() -> None:
    needs = {each.name: set(each.needs) for each in features()}
    while free := {name for name, others in needs.items() if not others & needs.keys()}:
        needs = {name: others for name, others in needs.items() if name not in free}
    assert not needs


def test_each_operation_of_a_module_can_be_asked_for_by_its_name() -> None:
    """A daemon and a server find none that is missing in its module's list."""
    known = operations()
    modules = [each for name, each in sys.modules.items() if name.startswith("minutebook.")]
    values = [value for module in modules for value in vars(module).values()]
    assert {each.name for each in values if isinstance(each, Operation)} == set(known)


def test_each_operation_is_one_alone_by_its_name() -> None:
    """And what it is given and answers has a form in JSON, by annotations that can be read."""
    of_features = [each for f in features() if f.operations for each in f.load(f.operations)]
    assert len({each.name for each in of_features}) == len(of_features)
    assert {each.name for each in of_features} < set(operations())
    for each in operations().values():
        annotations = [each.act.__annotations__["return"]]
        annotations += [p.annotation for p in inspect.signature(each.act).parameters.values()][1:]
        assert not any(isinstance(annotation, str) for annotation in annotations), each.name
