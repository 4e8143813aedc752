"""The commands that do not run on the server of `--url`, and the remedy for each."""

_OF_STORE = frozenset(
    {
        *("export", "import", "backup", "migrate", "encrypt", "sync", "notes", "index"),
        *("status", "doctor", "erase", "token", "ledger", "store"),
        *("audit key", "audit sign"),
    }
)
"""Commands on the files or the keys of a store, or in its owner's name."""

_OF_MACHINE = frozenset(
    {
        *("setup", "help", "install", "serve", "ui", "demo"),
        *("export-schema", "where", "settings", "daemon"),
    }
)
"""Commands on the machine on which they are typed."""


def why_not(command: str) -> str | None:
    """Return the sentence that says why a command does not run on a server, with the remedy; None if it does."""
    if command in _OF_STORE:
        return (
            f"`{command}` runs where the store is: type it on the server's machine, without --url"
        )
    if command in _OF_MACHINE:
        return f"`{command}` runs where it is typed: leave out --url"
    return None


NOT_SERVED = _OF_STORE | _OF_MACHINE
"""All commands that do not run on a server."""
