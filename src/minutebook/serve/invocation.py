"""The request to a server when it was started, read with next to nothing imported.

The thin proxy runs on this alone: options, variables and working directory are passed on to the daemon as they are,
and `config/` reads there what they say.
"""

import json
import os
import sys
import zlib
from collections.abc import Mapping, Sequence

from minutebook import __version__

PREFIX = "MINUTEBOOK_"
CONTRACT_PREFIX = "AGENT_MEMORY_"
"""How variables begin that a published contract names, and that settings may read too."""

TOKEN_VARIABLE = "MINUTEBOOK_TOKEN"  # noqa: S105
"""The variable in which commands look for the token of a server; it is no setting."""

FILE, DATABASE = "config.toml", "minutebook.db"

DEFAULT_CONTRACT = "knowledge"
"""The contract that is served where none is named."""

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
"""The settings that are options of the commands which serve, or which configure a client to serve."""

FLAGS = frozenset({"read_only"})
"""The settings whose options take no value."""

INTERRUPTED = 130
"""The exit status after Ctrl-C: 128 plus the number of SIGINT."""

STOPPED = "Stopped. The change under way, if any, was made whole or not at all."
"""The message after Ctrl-C where nothing more precise is known."""


class Invocation:
    """Contracts to serve, the options that were given, the variables that name settings, and the working directory."""

    def __init__(
        self, given: Mapping[str, str], contracts: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self.given = dict(given)
        self.variables = {
            name: value
            for name, value in environment.items()
            if name.startswith((PREFIX, CONTRACT_PREFIX)) and name != TOKEN_VARIABLE
        }
        self.environment = environment
        self.folder = working_directory()
        """The folder of relative paths in options and variables; empty if it is gone."""
        self.contracts = list(contracts) or [DEFAULT_CONTRACT]

    @property
    def greeting(self) -> dict[str, object]:
        """The fields of a client's first message to a daemon that every client states."""
        return {
            "version": __version__,
            "given": self.given,
            "variables": self.variables,
            "folder": self.folder,
        }

    @property
    def home(self) -> str:
        """The data directory, as far as argv and environment tell."""
        if named := self._stated("home"):
            return os.path.realpath(path_from(self.folder, named))
        return os.path.realpath(default_home(self.environment.get("XDG_DATA_HOME", "")))

    @property
    def has_store(self) -> bool:
        """Whether there is a store in the data directory, or a server is named that has it."""
        return os.path.exists(os.path.join(self.home, DATABASE)) or self.value("store", "") != ""

    @property
    def wants_daemon(self) -> bool:
        """Whether variables and file leave the daemon on; an invalid value counts as off, and `load` refuses it."""
        return self.value("daemon", "on") == "on"

    def value(self, setting: str, default: str) -> object:
        """Return the unchecked value of a setting, `default` if it is not set, None if the file is not TOML."""
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
        """The address of the daemon that could serve this: one for each release, installation and data directory.

        It is a checksum. The daemon compares the settings that a client states with its own.
        """
        identity = [__version__, sys.prefix, stamp(__file__), self.home]
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
    """Read the arguments of the command `serve`; return None where the command line has to read them."""
    given: dict[str, str] = {}
    contracts: list[str] = []
    serving = False
    remaining = iter(arguments)
    for word in remaining:
        if word.startswith("-"):
            name, equals, value = word.removeprefix("--").partition("=")
            name = name.replace("-", "_")
            if word[:2] != "--" or name not in (SERVING if serving else IDENTITY):
                return None
            if name in FLAGS:
                value_given = None if equals else "true"
            else:
                value_given = value if equals else next(remaining, None)
            if value_given is None:
                return None
            given[name] = value_given
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
    """Read a command that a feature runs before the command line is imported; None for any other, and for its help.

    Returns the name of its module, `early_NAME` of a feature, the invocation, and the command's arguments without options.
    """
    given: dict[str, str] = {}
    words: list[str] = []
    module = ""
    remaining = iter(arguments)
    for word in remaining:
        name, equals, value = word.removeprefix("--").partition("=")
        name = name.replace("-", "_")
        if word.startswith("--") and name in IDENTITY:
            value_given = value if equals else next(remaining, None)
            if value_given is None:
                return None
            given[name] = value_given
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
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "features")
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


def path_from(folder: str, path: str) -> str:
    """Return the absolute path of a path that was typed in a folder; the folder "" is the working directory."""
    return os.path.abspath(os.path.join(folder, os.path.expanduser(path)))


def stamp(path: str) -> list[int]:
    """Return a stamp that differs once a file has changed: its time of change and its size; [] if there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size]
