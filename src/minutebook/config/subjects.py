"""The settings of the core, by subject."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import platformdirs

from minutebook.config.kinds import (
    FOLDER,
    NAMES,
    PLACE_OF_KEYS,
    SWITCH,
    TEXT,
    OnOff,
    SettingKind,
    at_least,
    client_setting,
    one_of,
    path_unless,
    setting,
)
from minutebook.feature import engines, features
from minutebook.record.caller import ANYBODY
from minutebook.record.policy import Policy, Redact
from minutebook.record.reason import Reason
from minutebook.record.records import Role
from minutebook.record.sources import TEXTS, Source


@dataclass(frozen=True, kw_only=True)
class CallerSettings:
    """The caller, and the acts that it may do."""

    role: Role = client_setting(Role.AGENT, one_of(Role), "Role of a caller over stdio.")
    agent: str = client_setting(
        ANYBODY, TEXT, "Name under which a stdio client's acts are recorded.", is_common=True
    )
    organization: str | None = client_setting(None, TEXT, "Hold the caller to this organization.")
    repository: str | None = client_setting(None, TEXT, "Hold the caller to this repository.")
    user: str | None = client_setting(
        None, TEXT, "Hold the caller to this user's and shared memories."
    )
    scope_from_folder: OnOff = client_setting(
        "off",
        one_of(OnOff),
        "`on`: what is written in a project's folder belongs to its repository, and searches there show "
        "that and what belongs to none; `minutebook where` tells. `--repository` goes before it.",
        is_common=True,
    )
    policy: Policy | None = setting(
        None,
        one_of(Policy),
        "`open` for a personal store, `governed` to protect rules and system scope; not set: "
        "`governed` once a token was made or jwt_issuer is set, else `open`.",
    )


@dataclass(frozen=True, kw_only=True)
class ContentSettings:
    """The screening of texts."""

    redact: Redact | None = setting(
        None,
        one_of(Redact),
        "What is done about secrets (keys, tokens, passwords) in what is written: `mask` puts "
        "`[secret: KIND]` in their place before anything is kept, `warn` keeps them and says so, `off` "
        "does not look. Not set: `warn` for what is written on purpose, `mask` for what is captured "
        "(turns of sessions, their summaries, indexed code).",
        is_common=True,
    )


def _is_embedder(name: str) -> bool:
    """Tell whether a value of `embedder` is not a folder but `none`, or an embedder of a feature."""
    return name == "none" or any(name in each.models.embedders for each in features())


@dataclass(frozen=True, kw_only=True)
class EmbeddingSettings:
    """Which model embeds texts."""

    FORMER: ClassVar[tuple[str, ...]] = (
        *("embedding_cache", "embedding_threads", "embedding_wait", "token_states"),
    )

    embedder: str = setting(
        "built-in",
        path_unless(_is_embedder, Reason("built-in, endpoint, none, or a folder")),
        "`built-in`, `endpoint` (see endpoint_url), `none`, or a folder that holds model.onnx and "
        "tokenizer.json.",
        is_common=True,
    )


AnswerForm = Literal["json", "lines"]

ALL_TOOLS = "all"


def _tools(value: Any, folder: str) -> tuple[str, ...]:
    """Parse names of tools; () for ALL_TOOLS."""
    names: tuple[str, ...] = NAMES.parse(value, folder)
    return () if names == (ALL_TOOLS,) else names


def _sources(value: Any, folder: str) -> tuple[Source, ...]:
    """Parse a list of sources of texts."""
    sources = tuple(Source(name) for name in NAMES.parse(value, folder))
    if not sources or Source.CODE in sources:
        raise ValueError(value)
    return sources


@dataclass(frozen=True, kw_only=True)
class AnswerSettings:
    """The sources and the length of answers."""

    FORMER: ClassVar[tuple[str, ...]] = ("recall_at",)

    answers: AnswerForm = client_setting(
        "json",
        one_of(AnswerForm),
        "`json`: tools answer with the objects that their contract publishes; `lines`: with lines of text for a model, "
        "one for each hit, dated, without output schemas.",
        is_common=True,
    )
    recall_sources: tuple[Source, ...] = setting(
        TEXTS,
        SettingKind(_sources, Reason("a list of {names}", names=", ".join(TEXTS))),
        "What `recall` of the knowledge contract and `minutebook search` look through. "
        "`decision`: decisions that hold; `session`: turns and summaries of sessions.",
    )
    recall_tokens: int = setting(
        1500,
        at_least(0),
        "Tokens, of about four characters each, of an answer of `recall`: long texts are told by the passage that "
        "answers. 0: texts are told whole.",
        is_common=True,
    )


ToolNames = Literal["contract", "safe"]


@dataclass(frozen=True, kw_only=True)
class ClientSettings:
    """The clients that are served."""

    FORMER: ClassVar[tuple[str, ...]] = ("contract",)

    tool_names: ToolNames = client_setting(
        "contract",
        one_of(ToolNames),
        "`contract`: tools are listed under the names their contract gives; `safe`: with letters, "
        "digits and underscores only, for clients that refuse others. Calls may use both.",
    )
    read_only: bool = client_setting(
        False,  # noqa: FBT003
        SWITCH,
        "`true`: clients are served only the tools that read; the others are neither listed nor called.",
    )
    tools: tuple[str, ...] = client_setting(
        (),
        SettingKind(_tools, Reason("a list of names")),
        "The tools that clients are served, separated by commas; not set, or `all`: all of the contract.",
    )


LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """The process and its log."""

    FORMER: ClassVar[tuple[str, ...]] = ("daemon_idle", "daemon_wait", "log_format")

    daemon: OnOff = client_setting(
        "on",
        one_of(OnOff),
        "`on`: stdio clients share a process in the background, which is started when the first "
        "comes; `off`: each is served by a process of its own.",
    )
    log_level: LogLevel | None = setting(
        None,
        one_of(LogLevel),
        "Least level of log lines: `debug` (with the stack trace of each error), `info` (a line for "
        "each call), `warning` or `error`. Not set: `info` in the daemon's log, else `warning`.",
        owner="process",
    )


Durability = Literal["full", "normal"]


def _server(value: Any, folder: str) -> str:
    """Parse the URL of a database on a server; only its scheme is checked."""
    text = str(value)
    scheme_of(text)
    return text


def scheme_of(address: str) -> str:
    """Return the scheme of a store's address. Raises ValueError if no feature has an engine for it."""
    scheme, separator, _ = address.partition("://")
    if not separator or scheme not in engines():
        raise ValueError(scheme)
    return scheme


@dataclass(frozen=True, kw_only=True)
class StoreSettings:
    """Where records are kept, and how surely."""

    FORMER: ClassVar[tuple[str, ...]] = ("store_pool", "writer_wait")

    home: Path = setting(
        lambda: Path(platformdirs.user_data_dir("minutebook", appauthor=False)),
        FOLDER,
        "Data directory: the store, its derived indices, config.toml.",
    )
    store: str | None = setting(
        None,
        SettingKind(
            _server, Reason("a URL such as postgresql://minutebook@db.example.org/minutebook")
        ),
        "URL of a PostgreSQL database (16 or later) that holds the records, for many processes and "
        "machines: postgresql://USER@HOST/DATABASE, its password by PGPASSFILE or PGPASSWORD; needs "
        "`minutebook[server]`. Not set: a file in the data directory.",
        is_secret=True,
    )
    key: str = setting(
        "keyring",
        PLACE_OF_KEYS,
        "Where the key of an encrypted store is: `keyring` (the system's; needs `minutebook[keyring]`), or "
        "`file:PATH` outside the data directory.",
    )
    durability: Durability = setting(
        "full",
        one_of(Durability),
        "`full`: an acknowledged write survives a power cut; `normal`: a killed process, but the "
        "last writes before a power cut may be lost.",
    )
