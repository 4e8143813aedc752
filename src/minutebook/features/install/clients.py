"""Enter Minutebook into the configuration files of MCP clients, and take it out.

A plan has a file's text before and after; `apply` writes it. Only what must change in a file is edited:
comments, order, spacing and line ends stay.
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
    """The planned change of a client's file: its text before, None if there is no file, and after.

    `parts` are the names of our parts that are entered, or taken out if `removes`. `backup` is the path for the earlier
    text, None if that is not kept. `is_deleted` if the file is deleted. `note` tells a person what to do afterwards.
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
    """Return the plan of an entry by which a client starts `command` as an MCP server; nothing is written.

    In an existing entry of this name only command, arguments and the given variables are set. Raises InvalidInput
    for an invalid argument or a malformed file, Conflict if the file has a remote server of this name, or only a
    person can edit its layout.
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
    """Return the plan of an entry with the URL of a server, as `plan` does.

    `token_variable` names the variable of the client's environment with the token, which is not written itself. Raises
    InvalidInput also for a URL over which a token would cross a network unencrypted, and for a client that takes no
    remote server, or no variable.
    """
    found = _client(client)
    entry = _remote_entry(found, server_name, url, token_variable)
    return _plan(found, entry, _LOCAL_KEYS, scope, places, server_name)


def _plan(
    found: Client,
    entry: dict[str, Value],
    other_keys: Sequence[str],
    scope: Scope,
    places: Places,
    server_name: str,
) -> Installation:
    path = location(found, scope, places)
    before = read_configuration(path)
    _check_entry(found, path, read(found.format, before or "", str(path)), server_name, other_keys)
    after = edited(found.format, before or "", found.section, server_name, entry)
    if after is None:
        pasted = edited(found.format, "", found.section, server_name, entry)
        raise Conflict(
            str(path), "only a person can edit its layout; what to add:\n{text}", text=pasted
        )
    return installation_of(found, scope, path, before, after, server_part(server_name))


def plan_removal(
    client: str, *, scope: Scope, places: Places, server_name: str = "minutebook"
) -> Installation:
    """Return the plan to take out the server's entry, an unchanged one if there is none.

    Raises InvalidInput for a malformed file, Conflict if only a person can edit its layout.
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
    """Return the name, among `Installation.parts`, of the entry of a server."""
    return f"server {server_name}"


def apply(installation: Installation) -> None:
    """Write a plan: the earlier text to its backup, then the file, atomically.

    Links and permissions stay; only the owner can read a new file, since variables may hold keys. Raises Conflict
    if the file was changed since it was planned, or cannot be written.
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
    """An entry that lets code in the client's working directory run, and the remedy."""

    path: Path
    title: str
    name: str
    remedy: str


def unsafe_entries(places: Places) -> list[UnsafeEntry]:
    """Return the entries that start `python -m minutebook` without `-P`, as early versions wrote them.

    Both the user's file of each client and that of the working directory are read, if they can be.
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
    """Return the command of an entry and its arguments, without parts of other types."""
    program, key = entry.get(client.local.command), client.local.arguments
    arguments = entry.get(key) if key else program
    words = [program] if isinstance(program, str) else []
    return [*words, *(map(str, arguments) if isinstance(arguments, list) else ())]


def _imports_from_folder(command: Sequence[str]) -> bool:
    # `options` are those of Python, before the module.
    words = " ".join(command[1:])
    options, module, _ = f" {words} ".partition(" -m minutebook ")
    return bool(module) and not re.search(r" -[a-zA-Z]*[PI]", options)


@dataclass(frozen=True, slots=True)
class EnteredClient:
    """A client, its user's file, and the names of the entries there that start Minutebook.

    `trouble` says why the file cannot be read, "" if it can.
    """

    client: Client
    path: Path
    names: tuple[str, ...] = ()
    trouble: str = ""


def entered_clients(places: Places) -> list[EnteredClient]:
    """Return each client that has a user's file, with its entries that start Minutebook."""
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
            found.append(EnteredClient(client, path, trouble=str(error)))
            continue
        entries = servers.items() if isinstance(servers, dict) else ()
        names = tuple(name for name, entry in entries if _starts_minutebook(client, entry))
        found.append(EnteredClient(client, path, names))
    return found


def _starts_minutebook(client: Client, entry: object) -> bool:
    words = _words(client, entry) if isinstance(entry, dict) else []
    return any(Path(each).stem == "minutebook" for each in words)


def location(client: ClientFile, scope: Scope, places: Places) -> Path:
    """Return the path of a client's file, of its servers or its hooks, which need not exist.

    It is the one with `other_name` if only that exists. Raises InvalidInput for a client without a file of that scope.
    """
    path = _location(client, scope, places)
    other = path if client.other_name is None else path.with_name(client.other_name)
    # `os.access` also returns False in a folder that may not be read.
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
    """Return the plan that changes a client's file from one text to another, and so enters or removes a part of ours."""
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
    """Return the path of the backup of a client's file, its text before anything of ours was in it."""
    return path.with_name(f"{path.name}.minutebook.bak")


def _check_entry(
    client: Client, path: Path, data: Mapping[str, Any], server_name: str, other_keys: Sequence[str]
) -> None:
    """Raise InvalidInput if an entry cannot be put into a file, Conflict if the present one has a key of `other_keys`."""
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
    if any(key in entry for key in other_keys):
        kind = "remote" if other_keys == _REMOTE_KEYS else "local"
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
    """Write a client's file within this block. Raises Conflict if it cannot be written."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise Conflict(
            str(path), "it cannot be written: {cause}: {where}", cause=cause_of(error), where=where
        ) from error
