"""The request to a server when it was started, read with next to nothing imported.

The thin proxy runs on this alone: argv and environment are passed on to the daemon as they are, and
`config/` settles there what they say. Only what tells one daemon from another is looked at here.
"""

import json
import os
import sys
import zlib
from collections.abc import Mapping, Sequence

from minutebook import __version__

PREFIX = "MINUTEBOOK_"
NO_COLOR = "NO_COLOR"
"""A variable that, set to anything, has commands print no colours: https://no-color.org."""
SECRET = "AGENT_MEMORY_SECRET"  # noqa: S105
"""The variable that clients of the ledger contract know for the secret."""

TOKEN_VARIABLE = "MINUTEBOOK_TOKEN"  # noqa: S105
"""The variable in which commands look for the token of a server; it is no setting."""

FILE, DATABASE = "config.toml", "minutebook.db"

HOOK_WAIT = "0.25"
"""The default of the setting `hook_wait`: less than a person notices."""

DAEMON_WAIT = 60.0
"""Seconds to wait for a daemon that lives and does not answer: what clients commonly wait for an answer."""

DEFAULT_CONTRACT = "knowledge"
"""What is served to those who name none."""

IDENTITY = (
    "home",
    "role",
    "agent",
    "organization",
    "repository",
    "user",
    "scope_from_folder",
    "policy",
    "ledger",
)
"""The settings that every command takes as options; the others come from file or environment."""

SERVING = (*IDENTITY, "tool_names", "read_only", "tools", "answers")
"""Those that the commands take which serve, or have a client serve."""

OWN = frozenset(
    {
        "role",
        "agent",
        "organization",
        "repository",
        "user",
        "scope_from_folder",
        "tool_names",
        "read_only",
        "tools",
        "answers",
    }
)
"""The settings that are a connection's own; the others are the same for all of one daemon."""

UNSHARED = frozenset(
    {
        *("daemon", "hooks", "hook_wait", "hook_ignore"),
        *("public_url", "http_hosts", "http_origins", "rate_limit", "traces_url"),
        *("jwt_issuer", "jwt_audience", "jwt_keys", "oidc_client", "oidc_secret"),
    }
)
"""The settings of a call, or of another sort of server: a daemon's own say nothing."""

OF_ITS_PROCESS = frozenset({"log_level"})
"""Those that a daemon has for itself, whoever its clients are."""

FLAGS = frozenset({"read_only"})
"""Those whose options take no value."""

INTERRUPTED = 130
"""The exit status of what Ctrl-C ended: 128 and the number of SIGINT."""

STOPPED = "Stopped. The change under way, if any, was made whole or not at all."
"""What Ctrl-C leaves where nothing more precise is known."""

KEYRING, KEY_FILE = "keyring", "file:"
"""The value of the setting `key` that names the system's keyring, and how that of a file begins."""

SECRETS = frozenset({"agent_memory_secret", "endpoint_key", "oidc_secret", "summary_key"})
"""The settings that are secrets: clients of one daemon may have different ones."""

HIDDEN = SECRETS | {"store"}
"""The settings whose values are shown nowhere; that of `store` may hold a password."""

_PATHS = frozenset({"home", "ledger", "backup_folder", "audit_key"})
_PATH_LISTS = frozenset({"index_roots", "archive_roots"})
_EMBEDDERS = frozenset({"built-in", "endpoint", "none"})
_PLACES = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")


class Invocation:
    """Contracts to serve, the options that were given, and the variables that name settings."""

    def __init__(
        self, given: Mapping[str, str], contracts: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self.given = {name: absolute(name, value) for name, value in given.items()}
        self.variables = {
            name: absolute(name.removeprefix(PREFIX).lower(), value)
            for name, value in environment.items()
            if (name.startswith(PREFIX) and name != TOKEN_VARIABLE) or name == SECRET
        }
        self.environment = environment
        self._places = [environment.get(name, "") for name in _PLACES]
        self.contracts = list(contracts) or [DEFAULT_CONTRACT]

    @property
    def home(self) -> str:
        """The data directory, as far as argv and environment tell."""
        named = self.given.get("home") or self.variables.get(PREFIX + "HOME")
        return os.path.realpath(named or default_home(self._places[1]))

    @property
    def has_store(self) -> bool:
        """Whether there is a store in the data directory, or a server is named that has it."""
        return os.path.exists(os.path.join(self.home, DATABASE)) or self.value("store", "") != ""

    @property
    def wants_daemon(self) -> bool:
        """Whether variables and file leave the daemon on; a value that is none is for `load`."""
        return self.value("daemon", "on") == "on"

    @property
    def hook_wait(self) -> float:
        """Seconds within which a hook ends, answered or not; a bad value is for `load`."""
        try:
            stated = float(str(self.value("hook_wait", HOOK_WAIT)))
        except ValueError:
            return float(HOOK_WAIT)
        return min(60.0, max(0.01, stated))

    @property
    def tool_names(self) -> object:
        """The spelling of tools' names that argv, environment and file ask for."""
        return self.value("tool_names", "contract")

    @property
    def answers(self) -> object:
        """The form of answers that argv, environment and file ask for."""
        return self.value("answers", "json")

    @property
    def read_only(self) -> bool:
        """Whether only tools that read are to be served."""
        return self.value("read_only", "false") in ("true", True)

    @property
    def tools(self) -> list[str]:
        """The tools that alone are to be served; empty for all."""
        found = self.value("tools", "")
        named = found.split(",") if isinstance(found, str) else found
        parts = named if isinstance(named, list) else []
        names = [name for each in parts if (name := str(each).strip())]
        return [] if names == ["all"] else names

    def value(self, setting: str, default: str) -> object:
        """Return the unchecked value of a setting, or None if the file is no TOML."""
        if chosen := self._stated(setting):
            return chosen
        try:
            with open(os.path.join(self.home, FILE), "rb") as file:
                text = file.read()
        except OSError:
            return default
        if setting.encode() not in text:
            return default
        import tomllib

        try:
            return tomllib.loads(text.decode()).get(setting, default)
        except (ValueError, RecursionError):
            return None

    @property
    def address(self) -> str:
        """The address of the daemon that could serve this: one for each release, installation and store.

        What options and variables state of the store, and of what is done with it, is part of it, for it is
        this client's alone; what the file of settings says is not, for the daemon goes by the file as it is.
        A checksum will do, and secrets are left out of it, for the daemon compares all settings.
        """
        shared = {
            name: value
            for name, value in [
                *((n.removeprefix(PREFIX).lower(), v) for n, v in self.variables.items()),
                *self.given.items(),
            ]
            if name not in OWN | UNSHARED | OF_ITS_PROCESS | SECRETS and name != SECRET.lower()
        }
        identity: list[object] = [
            __version__,
            sys.prefix,
            stamp(__file__),
            self.home,
            self._places,
            sorted((shared | {"home": self.home}).items()),
        ]
        # A ledger of one's own is that of one organization.
        if "ledger" in shared:
            identity.append(self._stated("organization"))
        return f"{zlib.crc32(json.dumps(identity).encode()):08x}"

    def settings_stamp(self) -> list[int]:
        """Return a stamp that differs once the file of settings has changed."""
        return stamp(os.path.join(self.home, FILE))

    def _stated(self, name: str) -> str | None:
        return self.given.get(name) or self.variables.get(PREFIX + name.upper())


def working_directory() -> str:
    """Return the folder that this process was started in; empty if it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def environment() -> Mapping[str, str]:
    """Return the environment of this process; nothing else reads it."""
    return os.environ


def read(arguments: Sequence[str], environment: Mapping[str, str]) -> Invocation | None:
    """Read `serve` as it is typed; None for whatever else the command line has to see to."""
    given: dict[str, str] = {}
    contracts: list[str] = []
    serving = False
    left = iter(arguments)
    for word in left:
        if word.startswith("-"):
            name, equals, value = word.removeprefix("--").partition("=")
            name = name.replace("-", "_")
            if word[:2] != "--" or name not in (SERVING if serving else IDENTITY):
                return None
            if name in FLAGS:
                stated = None if equals else "true"
            else:
                stated = value if equals else next(left, None)
            if stated is None:
                return None
            given[name] = stated
        elif serving:
            contracts.append(word)
        elif word == "serve":
            serving = True
        else:
            return None
    return Invocation(given, contracts, environment) if serving else None


def read_early(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> "tuple[str, Invocation, Sequence[str]] | None":
    """Read a command that a feature runs before the command line is read; None for any other, and for its help.

    Returns the module with it, `early_NAME.py` in a feature's folder, and the words behind it that are no options.
    """
    given: dict[str, str] = {}
    words: list[str] = []
    module = ""
    left = iter(arguments)
    for word in left:
        name, equals, value = word.removeprefix("--").partition("=")
        name = name.replace("-", "_")
        if word.startswith("--") and name in IDENTITY:
            stated = value if equals else next(left, None)
            if stated is None:
                return None
            given[name] = stated
        elif not module:
            if not (module := _early_module(word)):
                return None
        elif word in ("-h", "--help"):
            return None
        elif not word.startswith("-"):
            words.append(word)
    return (module, Invocation(given, (), environment), words) if module else None


def _early_module(command: str) -> str:
    """Return the name of the module that runs a command early, empty if there is none."""
    # A name as those of modules: no path is made of what was typed otherwise.
    if not command.isidentifier():
        return ""
    folder = os.path.join(os.path.dirname(__file__), "features")
    for feature in os.listdir(folder):
        if os.path.exists(os.path.join(folder, feature, f"early_{command}.py")):
            return f"minutebook.features.{feature}.early_{command}"
    return ""


def default_home(data_home: str = "") -> str:
    """Return the default data directory, the one that platformdirs finds."""
    system = str(sys.platform)
    if system == "darwin":
        return os.path.expanduser("~/Library/Application Support/minutebook")
    if system == "linux":
        folder = data_home.strip() or os.path.expanduser("~/.local/share")
        return os.path.join(folder, "minutebook")
    import platformdirs

    return platformdirs.user_data_dir("minutebook", appauthor=False)


def absolute(name: str, value: str, folder: str = "") -> str:
    """Return a setting's value with its paths made absolute by `path_from`."""
    if name in _PATH_LISTS and value.lstrip().startswith("{"):
        return _absolute_table(value, folder)
    if name in _PATH_LISTS:
        return os.pathsep.join(path_from(folder, part) for part in value.split(os.pathsep) if part)
    if name == "key" and value.startswith(KEY_FILE):
        path = value.removeprefix(KEY_FILE).strip()
        return KEY_FILE + path_from(folder, path) if path else value.strip()
    return path_from(folder, value) if value and _is_path(name, value) else value


def _absolute_table(value: str, folder: str) -> str:
    """Make the paths in a table of folders, written as JSON, absolute; `load` refuses an invalid one."""

    def mended(value: object) -> object:
        match value:
            case str():
                return path_from(folder, value)
            case list():
                return [mended(each) for each in value]
            case dict():
                return {name: mended(each) for name, each in value.items()}
            case _:
                return value

    try:
        return json.dumps(mended(json.loads(value)))
    except (ValueError, RecursionError):
        return value


def path_from(folder: str, path: str) -> str:
    """Return the absolute path of a path typed in a folder; "" is this process's own."""
    return os.path.abspath(os.path.join(folder, os.path.expanduser(path)))


def _is_path(name: str, value: str) -> bool:
    match name:
        case "embedder":
            return value not in _EMBEDDERS
        case "jwt_keys":
            return "://" not in value
        case _:
            return name in _PATHS


def stamp(path: str) -> list[int]:
    """Return a stamp that differs once a file has changed: instant and size; [] where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size]
