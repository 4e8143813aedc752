"""The seam between core and features. A feature is a folder of `features/`; its `feature.py` lists all that it adds.

A text `module:name` names a class or a function; `.module:name` is one of the feature's own folder. It is imported when it
is first needed, because imports take most of the time of a short command.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, auto
from functools import cache
from importlib import import_module
from importlib.util import resolve_name
from operator import attrgetter
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, NamedTuple

FOLDER = "minutebook.features"
"""The package in which every feature is a package."""


class Event(StrEnum):
    """An event that features hear of. Each member lists the arguments of their functions, and the answer if one is read."""

    OPEN = auto()
    """A store is opened: an App."""
    CONNECT = auto()
    """A client over stdio asks: an App, a Caller and the client's folder, "" if unknown."""
    WRITE = auto()
    """A text was written: an App, a Caller and the record. Notes on it go to the call."""
    ACT = auto()
    """An act is being audited, in its transaction: a store, the entry, the changes, and the records that it changed as they
    were, by key, None for new ones."""
    ANSWER = auto()
    """A question was answered: an App, a Caller, the act, the question and what it got, records with scores, best first."""
    STATUS = auto()
    """`get_status` answers: an App and a Caller. Notes on it go to the call."""
    ERASE = auto()
    """Records are erased, in the transaction: a store and keys."""
    RESET = auto()
    """An organization is reset: an App, a Caller and the organization. Returns a Reset."""
    REPAIR = auto()
    """What is derived from records is made anew: an App and a Caller."""
    MOVE = auto()
    """A store was moved: Settings, the store that it is in now, and whether that is on a server. Returns sentences that
    say what a person does about the feature's files."""
    INDEX = auto()
    """The files of a project were read: an App and a Project."""
    CODE_FOUND = auto()
    """Code answers a question: an App, a Caller, the question and the id of a project, None for any. Returns Ranked
    records that are told beside it, best first."""
    WHERE = auto()
    """`where` tells of a folder: Settings and a FolderPlace. Returns a PlaceFact."""


class Files(NamedTuple):
    """A feature's files beside the store."""

    copies: str = ""
    """The folders of copies of records: a function from Settings to paths."""
    beside: str = ""
    """Files in a data directory that exist only if there was a store: a function from Settings to paths."""
    backups: str = ""
    """The backups of a data directory, the latest first: a function of a DataDirectory to paths."""
    erased: str = ""
    """Copies of erased records outside the store: a function from an App to `ErasedCopies`."""
    rewrite: str = ""
    """Writes one of those backups anew without erased records: a function of its path, a Caller, keys, a Clock, the
    data directory and the Keys of encrypted files."""


class ModelOpeners(NamedTuple):
    """Models that a feature opens."""

    embedders: Mapping[str, str] = MappingProxyType({})
    """Embedders, by the value of the setting `embedder`: functions from Settings to an Embedding; "" is any other value."""
    chat: str = ""
    """A chat service that writes summaries: a function from Settings to a Summarizer, None if they name none."""
    summarizer: str = ""
    """The built-in summarizer: a function from what reads a session's turns, and their number, to a draft."""


class Knowledge(NamedTuple):
    """Additions to the knowledge contract."""

    tools: str = ""
    """Tools that it answers: operations by name."""
    prompts: str = ""
    """Records in prompts: functions of an App and a Caller to a text, by prompt."""


class Answers(NamedTuple):
    """Additions to the answers of `recall`."""

    texts: str = ""
    """Records that are ranked with memories: a TextSource, a class that takes an App."""
    lists: str = ""
    """Records that are ranked by themselves: a ListedSource, a class that takes an App."""
    notes: Mapping[str, str] = MappingProxyType({})
    """What is said beside hits, by the name of the field: functions from an App to a HitNoter, which is asked once for
    all hits."""


class WebPages(NamedTuple):
    """Additions to the web pages."""

    own: str = ""
    """Its own pages: a `Pages`."""
    parts: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """Its parts of others' pages: by place and template, a function from an App, a Caller and the page's subject
    to values, None to show nothing; empty: the page has all."""
    acts: Mapping[str, str] = MappingProxyType({})
    """The acts behind forms of such parts: by address, a function from an App, a Caller and the address' `{parts}` to
    the address to go to."""


class Http(NamedTuple):
    """Additions to `serve --http`."""

    mount: str = ""
    """A mount beside contracts for `serve --http`, and its option: a `MountOption`."""
    issuer: str = ""
    """The issuer of signed tokens that let callers in: a function from Settings to a TokenIssuer, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """The additions of a feature to the core; each text names a class or a function as `module:name`."""

    name: str
    needs: Sequence[str] = ()
    """Names of the features that it imports, no more and no fewer: `tools/check_house.py` holds it to them."""
    settings: str = ""
    """Its settings, a dataclass below `Settings`."""
    files: Files = field(default_factory=Files)
    tables: str = ""
    """Its tables beside the records, which each store has: `SideTables`."""
    engines: Mapping[str, str] = field(default_factory=dict)
    """Its engines, by the scheme of a store's address: functions of Settings, the address and `receives` that open it.
    One feature has them, for an engine costs a package that few install."""
    models: ModelOpeners = field(default_factory=ModelOpeners)
    commands: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Its commands: by heading of the help and module, the names of those that the module has."""
    examples: Mapping[str, str] = field(default_factory=dict)
    """Commands at the head of the help: as they are typed, with what they do."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options that it adds to commands of others: by command, an `AddedOptions`."""
    operations: str = ""
    """What its commands ask of an open store: a tuple of operations."""
    shows: Mapping[str, str] = field(default_factory=dict)
    """Operations by which `minutebook show` reads records of a kind, instead of a memory, by an id. One feature has
    them; by its name here no other feature's operations are imported for it."""
    status: str = ""
    """Its lines of `status`: a function from an App and a Caller to values by name; None for a line that is left out."""
    setup: str = ""
    """Its steps of `setup`: `Steps`."""
    today: str = ""
    """Its part of the report of a day: a function of an App, a Caller and a DaySpan to DayParts."""
    checks: str = ""
    """What `doctor` examines: a function from an App to its Checks."""
    checks_here: str = ""
    """What `doctor` examines of this machine: a function from Settings to Findings."""
    contract: str = ""
    """A contract of its own: the function of its name that opens it."""
    knowledge: Knowledge = field(default_factory=Knowledge)
    answers: Answers = field(default_factory=Answers)
    pages: WebPages = field(default_factory=WebPages)
    http: Http = field(default_factory=Http)
    daemon_requests: Mapping[str, str] = field(default_factory=dict)
    """Requests of processes that the daemon does: by the field that names one, a function of a DaemonClient and it."""
    jobs: str = ""
    """What it does unasked: a function from an App to its Jobs."""
    on: Mapping[Event, str] = field(default_factory=dict)
    """What it does on an event: a function of what the event gives."""
    undo: str = ""
    """How its acts are taken back: a function of an App, a Caller and a DoneAct to an Undoing, None for others'."""

    def load(self, name: str) -> Any:
        """Import and return the object that a text names."""
        module, _, attribute = name.partition(":")
        return getattr(import_module(self.module(module)), attribute)

    def module(self, name: str) -> str:
        """Return the full name of a module; `.name` is one of the feature's folder."""
        return resolve_name(name, f"{FOLDER}.{self.name}")


def engines() -> Mapping[str, tuple[Feature, str]]:
    """Return by the scheme of a store's address the feature that opens such stores, and the name of its function."""
    return {scheme: (each, name) for each in features() for scheme, name in each.engines.items()}


@cache
def features() -> Sequence[Feature]:
    """Return the register of each feature that is there, by name."""
    names = sorted(each.name for each in iter_modules(import_module(FOLDER).__path__) if each.ispkg)
    return tuple(import_module(f"{FOLDER}.{name}.feature").FEATURE for name in names)


def entries_of(register: str) -> Iterator[Any]:
    """Import and yield the entries of features in a register, such as `jobs` or `files.copies`."""
    entry_of = attrgetter(register)
    for each in features():
        if name := entry_of(each):
            yield each.load(name)


@cache
def listeners(event: Event) -> Sequence[Any]:
    """Import and return the functions that features call on an event."""
    return [each.load(each.on[event]) for each in features() if event in each.on]
