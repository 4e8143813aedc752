"""One name for a repository, however the URL of its remote is spelled."""

import re
from urllib.parse import unquote, urlsplit

LONGEST_NAME = 200
"""Characters of a repository's name."""

_SCP = re.compile(
    r"(?:[^@/:\s]+@)?(?P<host>\[[^\]/\s]+\]|[^/:\\\s]{2,}):(?!//|:)(?P<path>.+)", re.DOTALL
)
"""`user@host:path`, as scp and Git write it; one letter before the colon is a drive."""

_SCHEMES = frozenset({"ssh", "git+ssh", "ssh+git", "git", "http", "https", "ftp", "ftps"})

_SAME_HOST = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
    "vs-ssh.visualstudio.com": "dev.azure.com",
}
"""Other host names of the hosts of repositories."""

_AZURE = "dev.azure.com"
_AZURE_OLD = ".visualstudio.com"


def remote_name(url: str) -> str | None:
    """Return the name that all URLs of one remote share, such as `github.com/acme/api`.

    Scheme, user, password, port, `.git` and the case of letters are ignored. None for a path of
    this machine, and for a text that is not the URL of a repository.
    """
    text = url.strip()
    if "://" in text:
        try:
            parts = urlsplit(text)
            host = parts.hostname or ""
        except ValueError:
            return None
        if parts.scheme.lower() not in _SCHEMES:
            return None
        path = parts.path
    elif found := _SCP.fullmatch(text):
        host, path = found["host"], found["path"]
    else:
        return None
    return _normalized(host.strip("[]").rstrip(".").lower(), unquote(path).lower())


def local_path(url: str) -> str | None:
    """Return the path that the URL of a remote names on this machine; None if it names no such path."""
    text = url.strip()
    if text.lower().startswith("file://"):
        return unquote(text[len("file://") :].removeprefix("localhost")) or None
    if "://" in text or "::" in text or _SCP.fullmatch(text) is not None:
        return None
    return text or None


def is_name(text: str) -> bool:
    """Tell whether a text can be the name of a repository: one short line without spaces at its ends."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()


def _normalized(host: str, path: str) -> str | None:
    host = _SAME_HOST.get(host.removeprefix("www."), host.removeprefix("www."))
    parts = [part for part in path.split("/") if part]
    if host == _AZURE or host.endswith(_AZURE_OLD):
        host, parts = _AZURE, _azure_parts(host, parts)
    if parts:
        parts[-1] = parts[-1].removesuffix(".git")
    if not host or not parts or any(part in ("", ".", "..") for part in parts):
        return None
    name = "/".join((host, *parts))
    return name if is_name(name) else None


def _azure_parts(host: str, parts: list[str]) -> list[str]:
    """Return organization, project and repository, which each kind of URL has in other places."""
    owner = [host.removesuffix(_AZURE_OLD)] if host.endswith(_AZURE_OLD) else []
    kept = [part for part in parts if part not in ("_git", "defaultcollection")]
    return [*owner, *(kept[1:] if kept[:1] == ["v3"] else kept)]
