"""The seam: how a feature enters the core. Each is a folder of `features/`; its `feature.py` lists all that it adds.

A text `module:name` names a class or a function; `.module:name` is one of the feature's own folder. It is imported when it
is first needed, for most of what a short command costs is imports.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import resolve_name
from pkgutil import iter_modules
from typing import Any

FOLDER = "minutebook.features"
"""The package in which every feature is a package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """The additions of a feature to the core; each text names a class or a function as `module:name`."""

    name: str
    needs: Sequence[str] = ()
    """Names of the features that it imports, no more and no fewer: `tools/check_house.py` holds it to them."""
    settings: str = ""
    """Its settings, a dataclass below `Settings`."""
    copies: str = ""
    """Where it keeps copies of records: a function from Settings to folders."""
    beside: str = ""
    """What it keeps in a data directory, and only where there was a store: a function from Settings to paths."""
    backups: str = ""
    """The backups of a data directory, the latest first: a function of a DataDirectory to paths."""
    commands: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Its commands: by heading of the help and module, the names of those that the module has."""
    examples: Mapping[str, str] = field(default_factory=dict)
    """Commands at the head of the help: as they are typed, with what they do."""
    shows: Mapping[str, str] = field(default_factory=dict)
    """Operations by which `minutebook show` reads records of a kind, instead of a memory, by an id."""
    operations: str = ""
    """What its commands ask of an open store: a tuple of operations."""
    contract: str = ""
    """A contract of its own: the function of its name that opens it."""
    tools: str = ""
    """Tools of the knowledge contract that it answers: operations by name."""
    prompts: str = ""
    """Records in prompts of the knowledge contract: functions of an App and a Caller to a text, by prompt."""
    engines: Mapping[str, str] = field(default_factory=dict)
    """Its engines, by the scheme of a store's address: functions of Settings, the address and `receives` that open it."""
    tables: str = ""
    """Its tables beside the records, which each store has: `SideTables`."""
    jobs: str = ""
    """What it does unasked: a function from an App to its Jobs."""
    checks: str = ""
    """What `doctor` examines: a function from an App to its Checks."""
    texts: str = ""
    """Records that `recall` ranks with memories: a TextSource, a class that takes an App."""
    lists: str = ""
    """Records that `recall` ranks by themselves: a ListedSource, a class that takes an App."""
    on_hits: Mapping[str, str] = field(default_factory=dict)
    """What it says beside the hits of an answer, by the name of the field: functions from an App to a HitNoter, which is asked
    once for all hits."""
    beside_code: str = ""
    """What it tells beside the code that answers a question: a function of an App, a Caller, the question and the id of a
    project (None: any) to Ranked records, the most telling first."""
    embedders: Mapping[str, str] = field(default_factory=dict)
    """Its embedders, by the value of the setting `embedder`: functions from Settings to an Embedding; "" is any other value."""
    chat: str = ""
    """A chat service that writes summaries: a function from Settings to a Summarizer, None if they name none."""
    summarizer: str = ""
    """The built-in summarizer: a function from what reads a session's turns, and their number, to a draft."""
    on_move: str = ""
    """What a person does about its files after the store was moved: a function of Settings, the store that
    it is in now and whether that is on a server, to sentences."""
    where: str = ""
    """Its fact about a folder for `where`: a function of Settings and a FolderPlace to a `PlaceFact`."""
    on_open: str = ""
    """What is done when a store is opened: a function of an App."""
    on_connect: str = ""
    """Prepares each request of a client over stdio: a function of an App, a Caller and the client's folder, "" if unknown."""
    on_index: str = ""
    """What else is read of a project whose files were read: a function of an App and a Project."""
    on_answer: str = ""
    """Who is told what each question got: a function from an App to an AnswerListener, None if it would not listen."""
    checks_here: str = ""
    """What `doctor` examines of this machine: a function from Settings to Findings."""
    lately_here: str = ""
    """What `doctor` tells beside that: a function from Settings to lines."""
    status: str = ""
    """Its lines of `status`: a function from an API and Settings to names and values."""
    on_act: str = ""
    """What is noted of an act in its transaction: a function of a store, its entry, its changes, and known records
    by key as they were, None for new ones."""
    on_write: str = ""
    """Adds notes on a text that was just written to the call: a function of an App, a Caller and the record."""
    undo: str = ""
    """How its acts are taken back: a function of an App, a Caller and a DoneAct to an Undoing, None for others'."""
    on_erase: str = ""
    """Removes its rows of erased records, in their transaction: a function of a store and keys."""
    erased_copies: str = ""
    """Its copies of erased records outside the store: a function from an App to `ErasedCopies`."""
    rewrite_backup: str = ""
    """Writes one of its backups anew without erased records: a function of its path, a Caller, keys, a Clock, the
    data directory and the Keys of encrypted files."""
    daemon_requests: Mapping[str, str] = field(default_factory=dict)
    """Requests of processes that the daemon does: by the field that names one, a function of a DaemonClient and it."""
    issuer: str = ""
    """The issuer of signed tokens that let callers in over HTTP: a function from Settings to a TokenIssuer, or None."""
    mount: str = ""
    """A mount beside contracts for `serve --http`, and its option: a `MountOption`."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options that it adds to commands of others: by command, an `AddedOptions`."""
    pages: str = ""
    """Its web pages: a `Pages`."""
    page_parts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Its parts of others' pages: by place and template, a function from an App, a Caller and the page's subject
    to values, None to show nothing; empty: the page has all."""
    page_acts: Mapping[str, str] = field(default_factory=dict)
    """The acts behind forms of such parts: by address, a function from an App, a Caller and the address' `{parts}` to
    the address to go to."""
    setup: str = ""
    """Its steps of `setup`: `Steps`."""
    today: str = ""
    """Its part of the report of a day: a function of an App, a Caller and a DaySpan to DayParts."""
    on_status: str = ""
    """Adds notes to an answer of `get_status`: a function of an App and a Caller."""
    on_repair: str = ""
    """Makes anew what it derives from records: a function of an App and a Caller."""
    on_reset: str = ""
    """What a reset removes: a function from an App, a Caller and an organization to a Reset."""

    def load(self, name: str) -> Any:
        """Import and return the object that a text names."""
        module, _, attribute = name.partition(":")
        return getattr(import_module(self.module(module)), attribute)

    def module(self, name: str) -> str:
        """Return the full name of a module that may be named from the feature's folder on."""
        return resolve_name(name, f"{FOLDER}.{self.name}")


def engines() -> Mapping[str, tuple[Feature, str]]:
    """Return the feature that opens stores with addresses of a scheme, and the name of its function."""
    return {scheme: (each, name) for each in features() for scheme, name in each.engines.items()}


@cache
def features() -> Sequence[Feature]:
    """Return the register of each feature that is there, by name."""
    names = sorted(each.name for each in iter_modules(import_module(FOLDER).__path__) if each.ispkg)
    return tuple(import_module(f"{FOLDER}.{name}.feature").FEATURE for name in names)


def loaded(register: str) -> Iterator[Any]:
    """Import and yield the entries of each feature in a register, such as `jobs`."""
    for each in features():
        if name := getattr(each, register):
            yield each.load(name)
