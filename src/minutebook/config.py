"""Every setting once: its name, type, default and help.

A setting comes from the command line, else the environment (`MINUTEBOOK_` and its name in capitals),
else `config.toml` in the data directory, else its default. A relative path is one from the folder of
that file, or on the command line and in the environment from where the process was started.
"""

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

import platformdirs

from minutebook.domain.caller import ANYBODY, Caller
from minutebook.domain.errors import InvalidInput
from minutebook.domain.policy import Policy, Redact
from minutebook.domain.records import Role
from minutebook.domain.roots import NamedRoots
from minutebook.invocation import DAEMON_WAIT, FILE, HOOK_WAIT, PREFIX, SECRET, absolute, path_from

Parse = Callable[[Any, str], Any]
"""Reads a value as somebody wrote it; relative paths in it are from a folder, as `path_from` has it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How the value of a setting is read, and what it must be, for an error.

    `parse` raises TypeError or ValueError for any other value.
    """

    parse: Parse
    wanted: str


def _one_of(names: Any) -> Kind:
    """Read one of the values of a Literal or an enum."""
    values = get_args(names) or tuple(names)

    def parse(value: Any, folder: str) -> Any:
        return values[values.index(value)]

    return Kind(parse, f"one of {', '.join(values)}")


def _at_least(least: float) -> Kind:
    """Read a number as large as this one, or larger; a whole one if this is an int."""

    def parse(value: Any, folder: str) -> float:
        number = type(least)(value)
        if not number >= least or not isinstance(value, str | type(least) | int):
            raise ValueError(value)
        return number

    return Kind(parse, f"a {'whole ' * isinstance(least, int)}number of at least {least:g}")


def _roots(value: Any, folder: str) -> NamedRoots:
    """Read a list of folders, or a table of them by organization, or by that and repository."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    if not isinstance(value, Mapping):
        return _folders(value, folder)
    return {
        organization: {name: _folders(each, folder) for name, each in folders.items()}
        if isinstance(folders, Mapping)
        else _folders(folders, folder)
        for organization, folders in value.items()
    }


def _folders(value: str | list[str], folder: str) -> tuple[Path, ...]:
    """Read a list of folders, or as one text what the platform's PATH looks like."""
    named = value.split(os.pathsep) if isinstance(value, str) else value
    if not isinstance(named, list):
        raise TypeError(value)
    return tuple(Path(path_from(folder, name)) for name in named if name)


def _url(value: Any, folder: str) -> str:
    """Read a URL that others are built on."""
    text = str(value)
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "?" in text or "#" in text:
        raise ValueError(value)
    return text


def _server(value: Any, folder: str) -> str:
    """Read the URL of a database on a server; only its scheme is looked at."""
    text = str(value)
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError
    return text


def _separated(separator: str | None, wanted: str) -> Kind:
    """Read a list of names, or as one text what stands between separators (None: spaces)."""

    def parse(value: Any, folder: str) -> tuple[str, ...]:
        named = value.split(separator) if isinstance(value, str) else value
        return tuple(name.strip() for name in named if name.strip())

    return Kind(parse, wanted)


def _truth(value: Any, folder: str) -> bool:
    if value in (True, "true"):
        return True
    if value in (False, "false"):
        return False
    raise ValueError(value)


def _path_or_name(setting: str, wanted: str) -> Kind:
    """Read what is a path unless it is a name or URL that the setting knows."""
    return Kind(lambda value, folder: absolute(setting, value, folder), wanted)


TEXT = Kind(lambda value, folder: str(value), "text")
FOLDER = Kind(lambda value, folder: Path(path_from(folder, value)), "a folder")
ROOTS = Kind(_roots, "a list of folders, or a table of lists by organization")
URL = Kind(_url, "an http or https URL without a query")
SWITCH = Kind(_truth, "true or false")
SECONDS = _at_least(0.0)
COUNT = _at_least(1)

Durability = Literal["full", "normal"]
ToolNames = Literal["contract", "safe"]
OnOff = Literal["on", "off"]
RecallLogMode = Literal["off", "records", "questions"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]
Metrics = Literal["admin", "all-organizations", "off"]


def _setting(default: Any, kind: Kind, help: str, *, is_secret: bool = False) -> Any:
    metadata = {"kind": kind, "help": help, "is_secret": is_secret}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, repr=not is_secret, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a person may set."""

    home: Path = _setting(
        lambda: Path(platformdirs.user_data_dir("minutebook", appauthor=False)),
        FOLDER,
        "Data directory: the store, its derived indices, config.toml.",
    )
    store: str | None = _setting(
        None,
        Kind(_server, "a URL such as postgresql://minutebook@db.example.org/minutebook"),
        "URL of a PostgreSQL database (16 or later) that holds the records, for many processes and "
        "machines: postgresql://USER@HOST/DATABASE, its password by PGPASSFILE or PGPASSWORD; needs "
        "`minutebook[server]`. Not set: a file in the data directory.",
        is_secret=True,
    )
    store_pool: int = _setting(
        8,
        COUNT,
        "Connections to that database with which a process reads at once, as many to write, and as many "
        "for what reads long; who finds none free waits for up to writer_wait.",
    )
    models: Path = _setting(
        lambda: Path(platformdirs.user_cache_dir("minutebook", appauthor=False)) / "models",
        FOLDER,
        "Where prepared embedding models are kept; can be made again.",
    )
    role: Role = _setting(Role.AGENT, _one_of(Role), "Role of a caller over stdio.")
    agent: str = _setting(ANYBODY, TEXT, "Name under which a stdio client's acts are recorded.")
    contract: str | None = _setting(
        None,
        TEXT,
        "Contract that `serve` serves over stdio, and `export-schema` prints, where none is named; "
        "not set: `serve` takes knowledge, `export-schema` asks.",
    )
    organization: str | None = _setting(None, TEXT, "Hold the caller to this organization.")
    repository: str | None = _setting(None, TEXT, "Hold the caller to this repository.")
    user: str | None = _setting(None, TEXT, "Hold the caller to this user's and shared memories.")
    policy: Policy | None = _setting(
        None,
        _one_of(Policy),
        "`open` for a personal store, `governed` to protect rules and system scope; not set: "
        "`governed` once a token was made or jwt_issuer is set, else `open`.",
    )
    redact: Redact | None = _setting(
        None,
        _one_of(Redact),
        "What is done about secrets (keys, tokens, passwords) in what is written: `mask` puts "
        "`[secret: KIND]` in their place before anything is kept, `warn` keeps them and says so, `off` "
        "does not look. Not set: `warn` for what is written on purpose, `mask` for what is captured "
        "(turns of sessions, their summaries, indexed code).",
    )
    durability: Durability = _setting(
        "full",
        _one_of(Durability),
        "`full`: an acknowledged write survives a power cut; `normal`: a killed process, but the "
        "last writes before a power cut may be lost.",
    )
    writer_wait: float = _setting(
        30.0, SECONDS, "Seconds to wait for another process that is writing."
    )
    embedder: str = _setting(
        "built-in",
        _path_or_name("embedder", "built-in, endpoint, none, or a folder"),
        "`built-in`, `endpoint` (see endpoint_url), `none`, or a folder that holds model.onnx and "
        "tokenizer.json.",
    )
    embedding_wait: float = _setting(
        10.0, SECONDS, "Seconds a call waits for a model that is still loading."
    )
    embedding_cache: int = _setting(2048, COUNT, "How many embedded queries are kept in memory.")
    embedding_threads: int = _setting(2, COUNT, "Processor cores the built-in model may use.")
    token_states: bool = _setting(
        True,  # noqa: FBT003
        SWITCH,
        "`true`: what the built-in model makes of each token is kept beside the vectors: search ranks "
        "better, and a text takes some 50 bytes a token more.",
    )
    endpoint_url: str | None = _setting(
        None,
        TEXT,
        "Base URL of an OpenAI-compatible embeddings service, such as http://localhost:8000/v1.",
    )
    endpoint_model: str | None = _setting(None, TEXT, "Model name to ask the service for.")
    endpoint_key: str | None = _setting(
        None, TEXT, is_secret=True, help="Bearer key for the service, if it wants one."
    )
    endpoint_query_prefix: str = _setting(
        "", TEXT, "What the service's model wants before a question."
    )
    endpoint_passage_prefix: str = _setting("", TEXT, "What it wants before a text to be found.")
    index_roots: NamedRoots = _setting(
        (),
        ROOTS,
        "Folders that may be indexed, with all below them; none named: all that can be read but "
        "places for secrets, and over HTTP nothing. A list is for callers without a token and for "
        '`organization` (or the default one); a table names others: `acme = ["/srv/acme"]`, or of a '
        'repository only `acme = { api = ["/srv/api"] }`. In the environment: the table as JSON.',
    )
    archive_roots: NamedRoots = _setting(
        (),
        ROOTS,
        "Folders where clients may have archives written and read, with all below them, or a table of "
        "them as for index_roots; none named: `backups` in the data directory. Over HTTP a list "
        "opens nothing: each set of scopes has a folder of its own.",
    )
    backup_every: float = _setting(
        0.0,
        _at_least(0.0),
        "Hours from one backup to the next that the daemon or server makes by itself, and restores "
        "for a test; 0: none. `minutebook backup --rotate` makes one as these at once.",
    )
    backup_keep: int = _setting(7, COUNT, "How many of these backups are kept.")
    backup_folder: Path | None = _setting(
        None,
        FOLDER,
        "Folder of these backups, better on another disk; none named: `backups` in the data directory.",
    )
    ledger: Path | None = _setting(
        None,
        FOLDER,
        "Where decisions are committed: a Git repository, or a folder in one, such as "
        "PROJECT/docs/decisions; none named: a repository in the data directory.",
    )
    ledgers_folder: Path | None = _setting(
        None,
        FOLDER,
        "Folder of the repositories in which decisions are committed that `ledger` places nowhere else, "
        "where `store` names a database: one that all servers reach, such as a volume that each mounts. "
        "A server without it serves what was decided and records nothing. Not set: `ledgers` in the data "
        "directory.",
    )
    review_window: float = _setting(
        3600.0, SECONDS, "Seconds that a proposal has to wait before it can be accepted."
    )
    include_decisions: bool = _setting(
        False,  # noqa: FBT003
        SWITCH,
        "`true`: `recall` of the knowledge contract shows decisions that hold, too.",
    )
    agent_memory_secret: str | None = _setting(
        None,
        TEXT,
        is_secret=True,
        help="Secret without which no proposal is accepted; the first admin start pins it. "
        "Read from the variable AGENT_MEMORY_SECRET too.",
    )
    summary_url: str | None = _setting(
        None,
        TEXT,
        "Base URL of an OpenAI-compatible chat service that summarises sessions where the client has "
        "no model to ask, such as http://localhost:8000/v1; what was said in a session goes there.",
    )
    summary_model: str | None = _setting(None, TEXT, "Model name to ask that service for.")
    summary_key: str | None = _setting(
        None, TEXT, is_secret=True, help="Bearer key for that service, if it wants one."
    )
    tool_names: ToolNames = _setting(
        "contract",
        _one_of(ToolNames),
        "`contract`: tools are listed under the names their contract gives; `safe`: with letters, "
        "digits and underscores only, for clients that refuse others. Calls may use both.",
    )
    read_only: bool = _setting(
        False,  # noqa: FBT003
        SWITCH,
        "`true`: clients are served only the tools that read; the others are neither listed nor called.",
    )
    tools: tuple[str, ...] = _setting(
        (),
        _separated(",", "a list of names"),
        "The tools that clients are served, separated by commas; not set: all of the contract.",
    )
    recall_log: RecallLogMode = _setting(
        "records",
        _one_of(RecallLogMode),
        "What is kept of each answered question: the `records` it got, `questions` (its text too), `off`.",
    )
    recall_log_days: float = _setting(30.0, _at_least(0.0), "Days after which that leaves the log.")
    recall_log_most: int = _setting(
        100_000, COUNT, "Questions of an organization that are kept; beyond them the oldest leave."
    )
    public_url: str | None = _setting(
        None,
        URL,
        "URL under which clients reach this server over HTTP, such as https://memory.example.org.",
    )
    jwt_issuer: str | None = _setting(
        None, URL, "Issuer whose signed tokens (JWT) let callers in over HTTP: their `iss` claim."
    )
    jwt_audience: tuple[str, ...] = _setting(
        (),
        _separated(None, "a list of names"),
        "For whom such tokens must be made, separated by spaces: one of their `aud` claim.",
    )
    jwt_keys: str | None = _setting(
        None,
        _path_or_name("jwt_keys", "an https URL, or a file"),
        "The issuer's public keys (JWKS): an https URL, or a file, which is read again.",
    )
    oidc_client: str | None = _setting(
        None,
        TEXT,
        "Client id under which jwt_issuer, an OpenID provider, lets people sign in to the web pages; "
        "needs public_url, and PUBLIC_URL/signin/callback among the client's redirect URIs there.",
    )
    oidc_secret: str | None = _setting(None, TEXT, "Its secret there, if any.", is_secret=True)
    oidc_scopes: tuple[str, ...] = _setting(
        ("openid",), _separated(None, "a list of names"), "What to ask for; `openid` among them."
    )
    oidc_session: float | None = _setting(
        None, _at_least(1.0), "Seconds that a sign-in there lasts; not set: as the ID token does."
    )
    daemon: OnOff = _setting(
        "on",
        _one_of(OnOff),
        "`on`: stdio clients share a process in the background, which is started when the first "
        "comes; `off`: each is served by a process of its own.",
    )
    daemon_idle: float = _setting(
        600.0, SECONDS, "Seconds without any client after which that process ends."
    )
    daemon_wait: float = _setting(
        float(DAEMON_WAIT),
        SECONDS,
        "Seconds (1 to 3600) to wait for that process if it lives and does not answer; then the "
        "client is served by a process of its own.",
    )
    hooks: OnOff = _setting(
        "on",
        _one_of(OnOff),
        "`off`: hooks that `minutebook install CLIENT --hooks` entered say nothing and keep nothing.",
    )
    hook_wait: float = _setting(
        float(HOOK_WAIT), SECONDS, "Seconds (0.01 to 60) after which a hook gives up silently."
    )
    hook_tokens: int = _setting(
        600, COUNT, "Tokens, of four characters each, that a session is told when it starts."
    )
    hook_relevance: float = _setting(
        0.9,
        _at_least(0.0),
        "How relevant (0 to 1) a memory must be to what a person asks an agent, to be put before it.",
    )
    hook_ignore: tuple[str, ...] = _setting(
        (),
        _separated(",", "a list of folders, which may hold *"),
        "Folders in which hooks say nothing and keep nothing, with all below them: ~/private, */secret.",
    )
    log_level: LogLevel | None = _setting(
        None,
        _one_of(LogLevel),
        "Least level of log lines: `debug` (with the stack trace of each error), `info` (a line for "
        "each call), `warning` or `error`. Not set: `info` in the daemon's log, else `warning`.",
    )
    log_format: LogFormat = _setting(
        "text", _one_of(LogFormat), "`text`, or `json`: one object a line, for machines."
    )
    http_hosts: tuple[str, ...] = _setting(
        (),
        _separated(",", "a list of names"),
        "Names by which clients may call the HTTP server, besides numbers and localhost.",
    )
    http_origins: tuple[str, ...] = _setting(
        (),
        _separated(",", "a list of origins"),
        "Origins, such as https://app.example.com, whose pages may call the HTTP server.",
    )
    http_body: int = _setting(4 << 20, COUNT, "Bytes that a request over HTTP may have.")
    http_timeout: float = _setting(
        10.0,
        _at_least(0.1),
        "Seconds that an HTTP client may take to send the body of its request or to read the answer; "
        "for the head it has five at most.",
    )
    http_calls: int = _setting(
        64,
        COUNT,
        "Calls over HTTP that are taken on at once; those beyond are told to come again.",
    )
    rate_limit: float = _setting(
        50.0,
        _at_least(0.0),
        "Requests a second that one token may make of one server, over ten seconds on average; 0: any. Each "
        "server over a database counts for itself.",
    )
    metrics: Metrics = _setting(
        "admin",
        _one_of(Metrics),
        "Whose token reads `/metrics`, which counts for all organizations together: `admin`, an "
        "admin's that is held to no organization, repository or user; `all-organizations`, any that "
        "is held to none; `off`, nobody's.",
    )
    traces_url: str | None = _setting(
        None,
        TEXT,
        "Where the HTTP server sends OpenTelemetry traces: http://localhost:4318/v1/traces; needs "
        "`minutebook[traces]`.",
    )

    @property
    def claims(self) -> Path:
        """The folder of the named locks."""
        return self.home / "claims"

    @property
    def ledgers(self) -> Path:
        """The folder of the ledgers that are not placed elsewhere."""
        return self.ledgers_folder or self.home / "ledgers"

    @property
    def secret(self) -> Path:
        """The file with the hash of the secret."""
        return self.home / "secret"

    @property
    def database(self) -> Path:
        """The database file."""
        return self.home / "minutebook.db"

    @property
    def server_index(self) -> Path:
        """The folder of the indices that this machine derives from a database on a server."""
        return self.home / "server-index"

    @property
    def backups(self) -> Path:
        """The folder in which clients may name archives, unless `archive_roots` names others."""
        return self.home / "backups"

    @property
    def scheduled_backups(self) -> Path:
        """The folder of the backups that are made by schedule."""
        return self.backup_folder or self.backups

    @property
    def trusts_issuer(self) -> bool:
        """Whether signed tokens let others in."""
        return self.jwt_issuer is not None

    def caller(self) -> Caller:
        """Return the caller whose identity these settings state."""
        return Caller(
            name=self.agent,
            role=self.role,
            organization=self.organization,
            repositories=None if self.repository is None else frozenset({self.repository}),
            user=self.user,
        )


def environment() -> Mapping[str, str]:
    """Return the environment of this process; nothing else reads it."""
    return os.environ


@dataclass(frozen=True, slots=True)
class Stated:
    """The value of a setting that somebody stated, and where: an option, a variable, a file."""

    value: Any
    origin: str


def load(given: Mapping[str, Any], variables: Mapping[str, str] | None = None) -> Settings:
    """Put the settings together; `given` comes from the command line and leaves out what was not.

    A value that does not fit raises InvalidInput with the setting, where it was read and the remedy.
    """
    return Settings(**{name: each.value for name, each in stated(given, variables).items()})


def stated(
    given: Mapping[str, Any], variables: Mapping[str, str] | None = None
) -> dict[str, Stated]:
    """Return the settings that somebody stated; the others have their defaults.

    Raises InvalidInput if a name is unknown or a value does not fit, as `load` does.
    """
    variables = environment() if variables is None else variables
    found: dict[str, Stated] = {}

    def add(name: str, value: Any, origin: str, folder: str = "") -> None:
        # Also one that is not asked for is read: what does not fit is said at once.
        found.setdefault(name, Stated(_parsed(name, value, origin, folder), origin))

    for name, value in given.items():
        add(name, value, option_of(name))
    for name in _KINDS:
        if value := variables.get(variable_of(name)):
            add(name, value, variable_of(name))
    if secret := variables.get(SECRET):
        add("agent_memory_secret", secret, SECRET)
    home = found["home"].value if "home" in found else Settings().home
    for name, value in _read_file(home / FILE).items():
        if name not in _KINDS or name == "home":
            raise InvalidInput(name, f"in {home / FILE} is no setting; see `minutebook settings`")
        add(name, value, str(home / FILE), str(home))
    return found


def option_of(name: str) -> str:
    """Return the option that sets a setting."""
    return f"--{name.replace('_', '-')}"


def variable_of(name: str) -> str:
    """Return the variable that sets a setting."""
    return f"{PREFIX}{name.upper()}"


def check_setting(name: str, text: str, folder: str) -> Any:
    """Return the value of a setting's text as `config.toml` has it, paths relative to a folder.

    Raises InvalidInput if there is no such setting, or the value does not fit.
    """
    if name == "home" or name not in _KINDS:
        raise InvalidInput(name, f"is no setting of {FILE}; `minutebook settings` names them")
    return _parsed(name, text, "VALUE", folder)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except RecursionError:
        raise InvalidInput(str(path), "must be valid TOML: it is nested too deeply") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(str(path), f"must be valid TOML: {error}") from error
    except OSError as error:
        raise InvalidInput(str(path), f"must be readable: {error.strerror}") from error


_KINDS: Mapping[str, Kind] = {each.name: each.metadata["kind"] for each in fields(Settings)}

_HIDDEN = frozenset(each.name for each in fields(Settings) if each.metadata["is_secret"])


def _parsed(name: str, value: Any, origin: str, folder: str) -> Any:
    kind = _KINDS[name]
    try:
        return kind.parse(value, folder)
    except (TypeError, ValueError) as error:
        if name in _HIDDEN:
            raise InvalidInput(name, f"must be {kind.wanted} ({origin} is another)") from None
        raise InvalidInput(name, f"must be {kind.wanted} ({origin} is {value!r})") from error
