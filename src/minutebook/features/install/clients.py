"""Where each MCP client keeps its servers, and how Minutebook is entered there and taken out.

Planning reads the client's file and gives the text that it would hold; applying writes that text.
A file is edited where it must change and nowhere else: comments, order, spacing and line ends stay.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from minutebook.config.machine import Places
from minutebook.features.install.config_edits import Value, edited, read
from minutebook.features.install.known_clients import CLIENTS, Base, Client, ClientFile
from minutebook.record.errors import Conflict, InvalidInput
from minutebook.record.reason import Reason, cause_of, must_be_one_of
from minutebook.store.disk.atomic_file import replace_file

Scope = Literal["user", "project"]

_SERVER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REMOTE_KEYS = ("url", "httpUrl", "serverUrl", "uri")
_LOCAL_KEYS = ("command", "cmd")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """One client's configuration file before and after; `before` is None where there is no file.

    `parts` name what of ours is entered, or taken out where `removes` is set. `backup` is where the earlier text
    will be kept; None when there is none to keep. `is_deleted` tells that the file goes.
    """

    client: str
    path: Path
    before: str | None
    after: str
    note: str
    parts: frozenset[str]
    removes: bool = False
    backup: Path | None = None
    is_deleted: bool = False

    @property
    def changed(self) -> bool:
        """Tell whether applying it would write or delete anything."""
        return self.after != (self.before or "") or (self.is_deleted and self.before is not None)


def plan(
    client: str,
    *,
    command: Sequence[str],
    environment: Mapping[str, str],
    scope: Scope,
    places: Places,
    server_name: str = "minutebook",
) -> Installation:
    """Work out the configuration that makes a client start `command` as an MCP server.

    Of an entry by that name only command, arguments and the given variables are set; what else a
    person wrote there stays. Writes nothing. Raises InvalidInput for an argument, or a file, that
    cannot be read as what it should be, and Conflict where the entry cannot be made beside what
    is there.
    """
    found = _client(client)
    entry = _entry(found, server_name, command, environment)
    return _plan(found, entry, _REMOTE_KEYS, scope, places, server_name)


def plan_remote(
    client: str,
    *,
    url: str,
    token_variable: str | None,
    scope: Scope,
    places: Places,
    server_name: str = "minutebook",
) -> Installation:
    """Work out the configuration that leads a client to a server by its URL, as `plan` does.

    `token_variable` names the variable of the client's environment that holds a token; the token
    itself is written nowhere. Raises InvalidInput, too, for a URL over which a token would cross the
    network in the open, and for a client whose file takes no remote server, or no variable.
    """
    found = _client(client)
    entry = _remote_entry(found, server_name, url, token_variable)
    return _plan(found, entry, _LOCAL_KEYS, scope, places, server_name)


def _plan(
    found: Client,
    entry: dict[str, Value],
    unfit: Sequence[str],
    scope: Scope,
    places: Places,
    server_name: str,
) -> Installation:
    path = location(found, scope, places)
    before = read_configuration(path)
    _check_room(found, path, read(found.format, before or "", str(path)), server_name, unfit)
    after = edited(found.format, before or "", found.section, server_name, entry)
    if after is None:
        pasted = edited(found.format, "", found.section, server_name, entry)
        raise Conflict(
            str(path), "only a person can edit its layout; what to add:\n{text}", text=pasted
        )
    return installation_of(found, scope, path, before, after, server_part(server_name))


def plan_removal(
    client: str,
    *,
    scope: Scope,
    places: Places,
    server_name: str = "minutebook",
) -> Installation:
    """Work out the configuration without the server; unchanged if it has none by that name.

    Raises InvalidInput or Conflict if `plan` would.
    """
    found = _client(client)
    path = location(found, scope, places)
    before = read_configuration(path)
    servers = read(found.format, before or "", str(path)).get(found.section)
    after: str | None = before or ""
    if isinstance(servers, dict) and server_name in servers:
        original = read_configuration(backup_of(path)) or ""
        after = edited(found.format, before or "", found.section, server_name, None, original)
    if after is None:
        reason = "only a person can edit its layout; remove {section}.{name} by hand"
        raise Conflict(str(path), reason, section=found.section, name=server_name)
    part = server_part(server_name)
    return installation_of(found, scope, path, before, after, part, removes=True)


def server_part(server_name: str) -> str:
    """Return the name of an entry among the parts of ours in a file."""
    return f"server {server_name}"


def apply(installation: Installation) -> None:
    """Write a planned configuration: earlier text kept beside it, the file replaced whole.

    A link stays a link and permissions stay as they were; a new file is its owner's alone, as
    variables may hold keys. Raises Conflict when the file is no longer as it was at planning, or cannot be
    written.
    """
    if not installation.changed:
        return
    path = installation.path
    if read_configuration(path) != installation.before:
        raise Conflict(str(path), "it changed meanwhile; run the command again")
    with writing(path):
        target = Path(os.path.realpath(path))
        if installation.is_deleted:
            target.unlink()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = _PRIVATE if installation.before is None else stat.S_IMODE(target.stat().st_mode)
        if installation.backup is not None and installation.before is not None:
            replace_file(installation.backup, installation.before.encode(), mode)
        replace_file(target, installation.after.encode(), mode)


@dataclass(frozen=True, slots=True)
class UnsafeEntry:
    """An entry by which the folder that a client is in can run code, and its remedy."""

    path: Path
    title: str
    name: str
    remedy: str


def unsafe_entries(places: Places) -> list[UnsafeEntry]:
    """Find entries that start `python -m minutebook` without `-P`, as early versions wrote them.

    Looks at each client's own file and at the one of the working directory; one that cannot be read is
    passed over.
    """
    found: dict[tuple[Path, str], UnsafeEntry] = {}
    for client, scope in product(CLIENTS.values(), get_args(Scope)):
        try:
            path = location(client, scope, places)
            servers = read(client.format, read_configuration(path) or "", str(path)).get(
                client.section
            )
        except (InvalidInput, Conflict):
            continue
        for name, entry in servers.items() if isinstance(servers, dict) else ():
            if isinstance(entry, dict) and _imports_from_folder(_words(client, entry)):
                options = " --project" * (scope == "project") + f" --name {name}"
                remedy = f'put "-P" before "-m" there, or run `minutebook install {client.name}{options}`'
                found.setdefault((path, name), UnsafeEntry(path, client.title, name, remedy))
    return list(found.values())


def _words(client: Client, entry: Mapping[str, Any]) -> list[str]:
    """Return the command of an entry and its arguments, as far as they are such."""
    program, key = entry.get(client.local.command), client.local.arguments
    arguments = entry.get(key) if key else program
    words = [program] if isinstance(program, str) else []
    return [*words, *(map(str, arguments) if isinstance(arguments, list) else ())]


def _imports_from_folder(command: Sequence[str]) -> bool:
    # The options of Python, as far as they stand before the module.
    words = " ".join(command[1:])
    options, module, _ = f" {words} ".partition(" -m minutebook ")
    return bool(module) and not re.search(r" -[a-zA-Z]*[PI]", options)


@dataclass(frozen=True, slots=True)
class SetUp:
    """A client, its own file, and the names under which Minutebook is entered there.

    `trouble` says why the file cannot be read, where that is so.
    """

    client: Client
    path: Path
    names: tuple[str, ...] = ()
    trouble: str = ""


def set_up(places: Places) -> list[SetUp]:
    """Say of each client whether its own configuration starts Minutebook, and under which names."""
    found = []
    for client in CLIENTS.values():
        if client.user is None:
            continue
        path = location(client, "user", places)
        try:
            servers = read(client.format, read_configuration(path) or "", str(path)).get(
                client.section
            )
        except (InvalidInput, Conflict) as error:
            found.append(SetUp(client, path, trouble=str(error)))
            continue
        entries = servers.items() if isinstance(servers, dict) else ()
        names = tuple(name for name, entry in entries if _starts_minutebook(client, entry))
        found.append(SetUp(client, path, names))
    return found


def _starts_minutebook(client: Client, entry: object) -> bool:
    words = _words(client, entry) if isinstance(entry, dict) else []
    return any(Path(each).stem == "minutebook" for each in words)


def location(client: ClientFile, scope: Scope, places: Places) -> Path:
    """Find a file of a client, of its servers or its hooks, whether or not it exists yet.

    Where it is there under its other name alone, that is the file. Raises InvalidInput for a client that has
    none of that scope.
    """
    path = _location(client, scope, places)
    other = path if client.other_name is None else path.with_name(client.other_name)
    # In a folder that may not be looked into, nothing is there.
    return other if os.access(other, os.F_OK) and not os.access(path, os.F_OK) else path


def _location(client: ClientFile, scope: Scope, places: Places) -> Path:
    if scope == "project":
        if client.project is None:
            raise InvalidInput(
                "scope", "must be user: {title} has no project configuration", title=client.title
            )
        return places.cwd / client.project
    if client.user is None:
        remedy = "must be project, by --project: {title} has no file of yours to edit"
        raise InvalidInput("scope", remedy, title=client.title)
    if client.moved is not None and places.variables.get(client.moved[0], "").strip():
        return places.folder(client.moved[0]) / client.moved[1]
    if client.package is not None and places.platform == "win32":
        packages = places.folder("LOCALAPPDATA", "AppData", "Local") / "Packages"
        homes = [home / "LocalCache" / "Roaming" for home in sorted(packages.glob(client.package))]
        files = [home / client.user for home in homes]
        if files:
            return next((file for file in files if file.exists()), files[0])
    if client.on_windows is not None and places.platform == "win32":
        return places.applications() / client.on_windows
    bases = {
        Base.HOME: places.home,
        Base.APPLICATIONS: places.applications(),
        Base.CONFIGURATION: places.configuration(),
    }
    return bases[client.base] / client.user


def _client(name: str) -> Client:
    client = CLIENTS.get(name)
    if client is None:
        raise InvalidInput("client", must_be_one_of(CLIENTS))
    return client


def _entry(
    client: Client, server_name: str, command: Sequence[str], environment: Mapping[str, str]
) -> dict[str, Value]:
    _check_name(server_name)
    if not command or not command[0]:
        raise InvalidInput("command", "must be a program and its arguments")
    _check_text("command", command)
    for name in environment:
        if not _VARIABLE_NAME.fullmatch(name):
            raise InvalidInput(
                "environment", "must name variables; {name!r} is no such name", name=name
            )
    _check_text("environment", environment.values())
    form = client.local
    entry: dict[str, Value] = {"name": server_name} if client.names_entry else {}
    entry |= form.also or {}
    if not form.arguments:
        entry[form.command] = list(command)
    else:
        entry |= {form.command: command[0], form.arguments: list(command[1:])}
    if environment:
        entry[form.environment] = dict(environment)
    return entry


def _remote_entry(
    client: Client, server_name: str, url: str, token_variable: str | None
) -> dict[str, Value]:
    _check_name(server_name)
    _check_url(url)
    form = client.remote
    if form is None:
        reason = Reason("{title} takes no remote server in its configuration", title=client.title)
        cannot = "cannot be used: {reason} ({address})"
        raise InvalidInput("url", cannot, reason=reason, address=client.documentation)
    entry: dict[str, Value] = {"name": server_name} if client.names_entry else {}
    entry |= {**(form.also or {}), form.url: url}
    if token_variable is None:
        return entry
    if not _VARIABLE_NAME.fullmatch(token_variable):
        remedy = Reason(
            "must be the name of a variable, not a token; {name!r}… is no such name",
            name=token_variable[:4],
        )
        raise InvalidInput("token_env", remedy)
    if form.token_variable is not None:
        entry[form.token_variable] = token_variable
    elif form.variable is not None:
        entry["headers"] = {
            "Authorization": f"Bearer {form.variable.replace('NAME', token_variable)}"
        }
    else:
        reason = Reason(
            "{title} reads no variable in a header, by its documentation", title=client.title
        )
        remedy = Reason(
            "leave it out and enter the token there by hand ({address})",
            address=client.documentation,
        )
        raise InvalidInput(
            "token_env", "cannot be used: {reason}; {what}", reason=reason, what=remedy
        )
    return entry


def _check_name(server_name: str) -> None:
    if not _SERVER_NAME.fullmatch(server_name):
        raise InvalidInput(
            "server_name", "must be at most 64 letters, digits, hyphens and underscores"
        )


def _check_url(url: str) -> None:
    _check_text("url", [url])
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or not url.isprintable() or " " in url:
        raise InvalidInput("url", "must be such as https://memory.example.org/mcp")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidInput(
            "url", "must have no user, query or fragment: a token goes into a variable"
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        remedy = "must be https: over plain http what is asked and the token would cross the network in the open"
        raise InvalidInput("url", remedy)


def _check_text(argument: str, texts: Iterable[str]) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidInput(
                argument, "must be text; {given!r} cannot be written as UTF-8", given=text
            ) from None
        if "\0" in text:
            raise InvalidInput(
                argument, "must be text; {given!r} holds a null character", given=text
            )


def installation_of(
    client: Client,
    scope: Scope,
    path: Path,
    before: str | None,
    after: str,
    part: str,
    *,
    removes: bool = False,
) -> Installation:
    """Return the change of a client's file from one text to another, by which a part of ours comes or goes."""
    note = (client.project_reload if scope == "project" else "") or client.reload
    if removes:
        note = f"{note.partition(';')[0].rstrip('.')}."
    return Installation(
        client=client.name,
        path=path,
        before=before,
        after=after,
        note=note,
        parts=frozenset([part]),
        removes=removes,
    )


def backup_of(path: Path) -> Path:
    """Return where a file of a client is kept as it was before anything of ours was in it."""
    return path.with_name(f"{path.name}.minutebook.bak")


def _check_room(
    client: Client, path: Path, data: Mapping[str, Any], server_name: str, unfit: Sequence[str]
) -> None:
    servers = data.get(client.section, {})
    if not isinstance(servers, dict):
        raise InvalidInput(
            str(path), "must have a table of servers at {section}", section=client.section
        )
    entry = servers.get(server_name, {})
    tables = (client.local.environment, "headers")
    if not isinstance(entry, dict) or not all(isinstance(entry.get(t, {}), dict) for t in tables):
        remedy = "must have a table at {section}.{name}"
        raise InvalidInput(str(path), remedy, section=client.section, name=server_name)
    if any(key in entry for key in unfit):
        kind = "remote" if unfit == _REMOTE_KEYS else "local"
        reason = "{section}.{name} is a {kind} server; remove it or choose a name"
        raise Conflict(str(path), reason, section=client.section, name=server_name, kind=kind)


# Reading and writing files.


def read_configuration(path: Path) -> str | None:
    """Return the text of a client's file; None if there is none. Raises InvalidInput, Conflict."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InvalidInput(
            str(path), "must be UTF-8; save it so first (byte {at} is not)", at=error.start
        ) from error
    except OSError as error:
        raise Conflict(str(path), "it cannot be read: {cause}", cause=cause_of(error)) from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise Conflict where a file of a client cannot be written."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise Conflict(
            str(path), "it cannot be written: {cause}: {where}", cause=cause_of(error), where=where
        ) from error
