"""Every setting once: its name, type, default and help.

A setting comes from the command line, else the environment (`MINUTEBOOK_` and its name in capitals),
else `config.toml` in the data directory, else its default. A relative path is one from the folder of
that file, or on the command line and in the environment from where the process was started.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import platformdirs

from minutebook.domain.caller import ANYBODY, Caller
from minutebook.domain.errors import InvalidInput
from minutebook.domain.policy import Policy
from minutebook.domain.records import Role
from minutebook.domain.roots import NamedRoots
from minutebook.invocation import FILE, PREFIX, SECRET, absolute, path_from


def _setting(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


def _secret(help: str) -> Any:
    return field(default=None, repr=False, metadata={"help": help})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a person may set."""

    home: Path = field(
        default_factory=lambda: Path(platformdirs.user_data_dir("minutebook", appauthor=False)),
        metadata={"help": "Data directory: the store, its derived indices, config.toml."},
    )
    models: Path = field(
        default_factory=lambda: (
            Path(platformdirs.user_cache_dir("minutebook", appauthor=False)) / "models"
        ),
        metadata={"help": "Where prepared embedding models are kept; can be made again."},
    )
    role: Role = _setting(Role.AGENT, "Role of whoever connects over stdio.")
    agent: str = _setting(ANYBODY, "Name under which a stdio client's acts are recorded.")
    contract: str | None = _setting(
        None,
        "Contract that `serve` serves over stdio, and `export-schema` prints, where none is named; "
        "not set: `serve` takes knowledge, `export-schema` asks.",
    )
    organization: str | None = _setting(None, "Hold the caller to this organization.")
    repository: str | None = _setting(None, "Hold the caller to this repository.")
    user: str | None = _setting(None, "Hold the caller to this user's and shared memories.")
    policy: Policy | None = _setting(
        None,
        "`open` for a personal store, `governed` to protect rules and system scope; not set: "
        "`governed` once a token was made or jwt_issuer is set, else `open`.",
    )
    durability: Literal["full", "normal"] = _setting(
        "full",
        "`full`: an acknowledged write survives a power cut; `normal`: a killed process, but the "
        "last writes before a power cut may be lost.",
    )
    writer_wait: float = _setting(30.0, "Seconds to wait for another process that is writing.")
    embedder: str = _setting(
        "built-in",
        "`built-in`, `endpoint` (see endpoint_url), `none`, or a folder that holds model.onnx and "
        "tokenizer.json.",
    )
    embedding_wait: float = _setting(
        10.0, "Seconds a call waits for a model that is still loading."
    )
    embedding_cache: int = _setting(2048, "How many embedded queries are kept in memory.")
    embedding_threads: int = _setting(2, "Processor cores the built-in model may use.")
    endpoint_url: str | None = _setting(
        None,
        "Base URL of an OpenAI-compatible embeddings service, such as http://localhost:8000/v1.",
    )
    endpoint_model: str | None = _setting(None, "Model name to ask the service for.")
    endpoint_key: str | None = _secret("Bearer key for the service, if it wants one.")
    endpoint_query_prefix: str = _setting("", "What the service's model wants before a question.")
    endpoint_passage_prefix: str = _setting("", "What it wants before a text to be found.")
    index_roots: NamedRoots = _setting(
        (),
        "Folders that may be indexed, with all below them; none named: all that can be read but "
        "places for secrets, and over HTTP nothing. A list is for callers without a token and for "
        '`organization` (or the default one); a table names others: `acme = ["/srv/acme"]`, or of a '
        'repository only `acme = { api = ["/srv/api"] }`. In the environment: the table as JSON.',
    )
    archive_roots: NamedRoots = _setting(
        (),
        "Folders where clients may have archives written and read, with all below them, or a table of "
        "them as for index_roots; none named: `backups` in the data directory. Over HTTP a list "
        "opens nothing: each set of scopes has a folder of its own.",
    )
    ledger: Path | None = _setting(
        None,
        "Where decisions are committed: a Git repository, or a folder in one, such as "
        "PROJECT/docs/decisions; none named: a repository in the data directory.",
    )
    review_window: float = _setting(
        3600.0, "Seconds that a proposal has to wait before it can be accepted."
    )
    include_decisions: bool = field(
        default=False,
        metadata={
            "help": "`true`: `recall` of the knowledge contract shows decisions that hold, too."
        },
    )
    agent_memory_secret: str | None = _secret(
        "Secret without which no proposal is accepted; the first admin start pins it. "
        "Read from the variable AGENT_MEMORY_SECRET too."
    )
    summary_url: str | None = _setting(
        None,
        "Base URL of an OpenAI-compatible chat service that summarises sessions where the client has "
        "no model to ask, such as http://localhost:8000/v1; what was said in a session goes there.",
    )
    summary_model: str | None = _setting(None, "Model name to ask that service for.")
    summary_key: str | None = _secret("Bearer key for that service, if it wants one.")
    tool_names: Literal["contract", "safe"] = _setting(
        "contract",
        "`contract`: tools are listed under the names their contract gives; `safe`: with letters, "
        "digits and underscores only, for clients that refuse others. Calls may use both.",
    )
    public_url: str | None = _setting(
        None,
        "URL under which clients reach this server over HTTP, such as https://memory.example.org.",
    )
    jwt_issuer: str | None = _setting(
        None, "Issuer whose signed tokens (JWT) let callers in over HTTP: their `iss` claim."
    )
    jwt_audience: tuple[str, ...] = _setting(
        (), "For whom such tokens must be made, separated by spaces: one of their `aud` claim."
    )
    jwt_keys: str | None = _setting(
        None, "The issuer's public keys (JWKS): an https URL, or a file, which is read again."
    )
    daemon: Literal["on", "off"] = _setting(
        "on",
        "`on`: stdio clients share a process in the background, which is started when the first "
        "comes; `off`: each is served by a process of its own.",
    )
    daemon_idle: float = _setting(
        600.0, "Seconds without any client after which that process ends."
    )
    log_level: str | None = _setting(
        None,
        "Least level of log lines: `debug` (with the stack trace of each error), `info` (a line for "
        "each call), `warning` or `error`. Not set: `info` in the daemon's log, else `warning`.",
    )
    log_format: Literal["text", "json"] = _setting(
        "text", "`text`, or `json`: one object a line, for machines."
    )
    http_hosts: tuple[str, ...] = _setting(
        (), "Names by which clients may call the HTTP server, besides numbers and localhost."
    )
    http_origins: tuple[str, ...] = _setting(
        (), "Origins, such as https://app.example.com, whose pages may call the HTTP server."
    )
    http_body: int = _setting(4 << 20, "Bytes that a request over HTTP may have.")
    http_timeout: float = _setting(
        10.0,
        "Seconds that an HTTP client may take to send the body of its request or to read the answer; "
        "for the head it has five at most.",
    )
    http_calls: int = _setting(
        64, "Calls over HTTP that are taken on at once; those beyond are told to come again."
    )
    rate_limit: float = _setting(
        50.0, "Requests a second that one token may make, over ten seconds on average; 0: any."
    )
    metrics: Literal["admin", "all-organizations", "off"] = _setting(
        "admin",
        "Whose token reads `/metrics`, which counts for all organizations together: `admin`, an "
        "admin's that is held to no organization, repository or user; `all-organizations`, any that "
        "is held to none; `off`, nobody's.",
    )
    traces_url: str | None = _setting(
        None,
        "Where the HTTP server sends OpenTelemetry traces: http://localhost:4318/v1/traces; needs "
        "`minutebook[traces]`.",
    )

    @property
    def claims(self) -> Path:
        """Where the locks of those who claim a task are."""
        return self.home / "claims"

    @property
    def ledgers(self) -> Path:
        """Where the ledgers are that nobody put elsewhere."""
        return self.home / "ledgers"

    @property
    def secret(self) -> Path:
        """Where the hash of the secret is."""
        return self.home / "secret"

    @property
    def database(self) -> Path:
        """Where the records are."""
        return self.home / "minutebook.db"

    @property
    def backups(self) -> Path:
        """Where clients may name archives, unless `archive_roots` names folders for them."""
        return self.home / "backups"

    @property
    def trusts_issuer(self) -> bool:
        """Whether signed tokens let others in."""
        return self.jwt_issuer is not None

    def caller(self) -> Caller:
        """Give the identity that these settings state."""
        return Caller(
            name=self.agent,
            role=self.role,
            organization=self.organization,
            repositories=None if self.repository is None else frozenset({self.repository}),
            user=self.user,
        )


def environment() -> Mapping[str, str]:
    """Give the environment of this process; nothing else reads it."""
    return os.environ


def load(given: Mapping[str, Any], variables: Mapping[str, str] | None = None) -> Settings:
    """Put the settings together; `given` comes from the command line and leaves out what was not.

    A value that does not fit raises InvalidInput with the setting, where it was read and the remedy.
    """
    variables = environment() if variables is None else variables
    named = {f.name: f for f in fields(Settings)}
    values = {
        name: _parsed(name, variables[PREFIX + name.upper()], PREFIX + name.upper())
        for name in named
        if variables.get(PREFIX + name.upper())
    }
    if variables.get(SECRET):
        values.setdefault("agent_memory_secret", variables[SECRET])
    values |= {
        name: _parsed(name, value, f"--{name.replace('_', '-')}") for name, value in given.items()
    }
    home = values.get("home", Settings().home)
    for name, value in _read_file(home / FILE).items():
        if name not in named or name == "home":
            raise InvalidInput(name, f"in {home / FILE} is no setting; see `minutebook settings`")
        values.setdefault(name, _parsed(name, value, str(home / FILE), str(home)))
    return Settings(**values)


def check_setting(name: str, text: str, folder: str) -> Any:
    """Give the value that is typed for a setting of `config.toml`; paths are from a folder.

    Raises InvalidInput for a name that is none, and for a value that does not fit.
    """
    if name == "home" or name not in {f.name for f in fields(Settings)}:
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


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "role": tuple(Role),
    "policy": tuple(Policy),
    "durability": ("full", "normal"),
    "tool_names": ("contract", "safe"),
    "daemon": ("on", "off"),
    "log_level": ("debug", "info", "warning", "error"),
    "log_format": ("text", "json"),
    "metrics": ("admin", "all-organizations", "off"),
}


_ROOTS = "a list of folders, or a table of lists by organization"
_WANTED = {
    "home": "a folder",
    "models": "a folder",
    "ledger": "a folder",
    "embedder": "built-in, endpoint, none, or a folder",
    "jwt_keys": "an https URL, or a file",
    "public_url": "an http or https URL without a query",
    "jwt_issuer": "an http or https URL without a query",
    "index_roots": _ROOTS,
    "archive_roots": _ROOTS,
    "include_decisions": "true or false",
}


def _parsed(name: str, value: Any, origin: str, folder: str = "") -> Any:
    """Read a value as its setting wants it; paths are from a folder, as `path_from` has it."""
    choices = _CHOICES.get(name)
    if choices is not None and value not in choices:
        raise InvalidInput(name, f"must be one of {', '.join(choices)} ({origin} is {value!r})")
    try:
        match name:
            case "home" | "models" | "ledger":
                return Path(path_from(folder, value))
            case "embedder" | "jwt_keys":
                return absolute(name, value, folder)
            case "public_url" | "jwt_issuer":
                return _url(value)
            case "jwt_audience":
                return tuple(value.split()) if isinstance(value, str) else tuple(map(str, value))
            case "index_roots" | "archive_roots":
                return _roots(value, folder)
            case "role":
                return Role(value)
            case "policy":
                return Policy(value)
            case "http_hosts" | "http_origins":
                return _listed(value)
            case "http_timeout":
                return _at_least(0.1, float(value))
            case "writer_wait" | "rate_limit" | "embedding_wait" | "review_window" | "daemon_idle":
                return _at_least(0.0, float(value))
            case "include_decisions":
                return _truth(value)
            case "embedding_cache" | "embedding_threads" | "http_body" | "http_calls":
                return _at_least(1, int(value))
            case _:
                return str(value)
    except (TypeError, ValueError) as error:
        wanted = _WANTED.get(name, "a fitting number")
        raise InvalidInput(name, f"must be {wanted} ({origin} is {value!r})") from error


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
        organization: {name: _folders(each, folder) for name, each in told.items()}
        if isinstance(told, Mapping)
        else _folders(told, folder)
        for organization, told in value.items()
    }


def _folders(value: str | list[str], folder: str) -> tuple[Path, ...]:
    """Read a list of folders, or as one text what the platform's PATH looks like."""
    named = value.split(os.pathsep) if isinstance(value, str) else value
    if not isinstance(named, list):
        raise TypeError(value)
    return tuple(Path(path_from(folder, name)) for name in named if name)


def _url(value: object) -> str:
    """Read a URL that others are built on."""
    text = str(value)
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "?" in text or "#" in text:
        raise ValueError(value)
    return text


def _listed(value: str | list[str]) -> tuple[str, ...]:
    """Read a list of names, or as one text with commas between them."""
    named = value.split(",") if isinstance(value, str) else value
    return tuple(name.strip() for name in named if name.strip())


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return value == "true"
    raise ValueError(value)


def _at_least(least: float, value: float) -> float:
    if not value >= least:
        raise ValueError(value)
    return value
