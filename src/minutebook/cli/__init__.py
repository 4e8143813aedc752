"""The command line: a module a subject, one command a function."""

import click

from minutebook import __version__
from minutebook.cli.opening import SERVER, Server, server_named
from minutebook.cli.terminal import Group, identity

SUBJECTS: dict[str, dict[str, tuple[str, ...]]] = {
    "Begin": {
        "serving": ("install", "serve", "ui", "demo", "export-schema"),
        "completion": ("completion",),
    },
    "Memories": {
        "memories": (
            "remember",
            "search",
            "show",
            "list",
            "edit",
            "invalidate",
            "forget",
            "duplicates",
        ),
    },
    "Trust": {
        "governance": ("lock", "unlock", "verify", "deprecate", "link", "system"),
        "audit": ("audit",),
    },
    "Decisions": {
        "decisions": ("decide", "decisions", "proposals", "accept", "secret", "ledger"),
    },
    "Sessions": {"journal": ("sessions", "session", "summarize"), "recalls": ("recalls",)},
    "Code": {"code": ("index", "code", "projects")},
    "Take out and bring in": {
        "archives": ("export", "backup", "restore"),
        "importing": ("import",),
        "encrypting": ("encrypt",),
        "migrating": ("migrate",),
        "syncing": ("sync",),
        "notes": ("notes",),
    },
    "Look after it": {
        "upkeep": ("status", "doctor", "model"),
        "where": ("where",),
        "assigning": ("assign",),
        "tidying": ("tidy",),
        "scanning": ("scan",),
        "erasing": ("erase",),
        "settings": ("settings",),
        "store": ("store",),
        "daemon": ("daemon",),
        "hooks": ("hook", "hooks"),
        "tokens": ("token",),
        "bench": ("bench",),
    },
}
"""The commands by what they are about, as `minutebook --help` lists them, and the module of each."""


def _note_server(context: click.Context, option: click.Parameter, url: str | None) -> str | None:
    """Note the server on which the command is to run."""
    if url is not None:
        context.meta[SERVER] = Server(url)
    return url


def _note_token(context: click.Context, option: click.Parameter, variable: str | None) -> None:
    """Note the variable with the server's token. Raises UsageError if it names none, or there is no server."""
    if variable is None:
        return
    server = server_named()
    if server is None:
        raise click.UsageError("--token-env goes with --url, which comes before it")
    if not variable.isidentifier():
        raise click.UsageError("--token-env must name a variable: the token itself is never typed")
    context.meta[SERVER] = Server(server.url, variable)


@click.group(cls=Group, subjects=SUBJECTS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="minutebook")
@click.option(
    "--url",
    metavar="URL",
    expose_value=False,
    is_eager=True,
    callback=_note_server,
    help="Run the command on this server.",
)
@click.option(
    "--token-env",
    metavar="VARIABLE",
    expose_value=False,
    callback=_note_token,
    help="The variable with the server's token (default: MINUTEBOOK_TOKEN).",
)
@identity
def main(_: dict[str, str]) -> None:
    """Keep a memory that AI agents can use and that you can read, correct and keep.

    \b
    minutebook install claude-code   connect a client
    minutebook remember "…"          keep something yourself
    minutebook search "…"            find it by meaning and by words
    minutebook index .               let agents find this folder's code
    minutebook decide                put a decision on the record
    minutebook sessions              see what your agents did, session by session

    An ID may be shortened to a beginning, or an ending, that no other record has.
    """
