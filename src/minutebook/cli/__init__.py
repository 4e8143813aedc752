"""The command line: a module a subject, one command a function."""

from collections.abc import Mapping, Sequence
from functools import cache

import click

from minutebook import __version__
from minutebook.cli.opening import SERVER, Server, server_named
from minutebook.cli.terminal import SubjectGroup, identity
from minutebook.feature import features

_CORE: dict[str, dict[str, tuple[str, ...]]] = {
    "Begin": {
        "minutebook.cli.commands.setup": ("setup",),
        "minutebook.cli.commands.today": ("today",),
        "minutebook.cli.commands.serving": ("serve", "export-schema"),
        "minutebook.cli.commands.help": ("help",),
    },
    "Memories": {
        "minutebook.cli.commands.memories": (
            *("remember", "search", "show", "list", "edit", "invalidate", "forget"),
        )
    },
    "Trust": {"minutebook.cli.commands.governance": ("mark", "link")},
    "Decisions": {},
    "Sessions": {},
    "Code": {},
    "Take out and bring in": {},
    "Look after it": {
        "minutebook.cli.commands.upkeep": ("status", "doctor"),
        "minutebook.cli.commands.settings": ("settings",),
        "minutebook.cli.commands.daemon": ("daemon",),
    },
}
"""The commands of the core, by heading and module."""

_EXAMPLES = {
    "setup": "connect the clients of this machine",
    "today": "see what agents learned, what they were told, what waits",
    'remember "…"': "keep something yourself",
    'search "…"': "find it by meaning and by words",
}


@cache
def subjects() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return all commands by heading and module, as `minutebook help all` lists them: under each heading the core's first."""
    found = {heading: dict[str, Sequence[str]](modules) for heading, modules in _CORE.items()}
    for feature in features():
        for heading, modules in feature.commands.items():
            found[heading] |= {feature.module(name): names for name, names in modules.items()}
    return {heading: modules for heading, modules in found.items() if modules}


def _note_server(context: click.Context, option: click.Parameter, url: str | None) -> str | None:
    """Remember the server on which the command is to run."""
    if url is not None:
        context.meta[SERVER] = Server(url)
    return url


def _note_token(context: click.Context, option: click.Parameter, variable: str | None) -> None:
    """Remember the variable with the server's token. Raises UsageError without `--url`, or for an invalid name."""
    if variable is None:
        return
    server = server_named()
    if server is None:
        raise click.UsageError("--token-env goes with --url, which comes before it")
    if not variable.isidentifier():
        raise click.UsageError("--token-env must name a variable: the token itself is never typed")
    context.meta[SERVER] = Server(server.url, variable)


def _help() -> str:
    """Return the head of the help, with examples of commands."""
    examples = dict(_EXAMPLES)
    for feature in features():
        examples |= feature.examples
    width = max(map(len, examples))
    lines = "\n".join(f"minutebook {each:<{width}}   {text}" for each, text in examples.items())
    return f"""Keep a memory that AI agents can use and that you can read, correct and keep.

\b
{lines}

An ID may be shortened to a beginning, or an ending, that no other record has.
"""


@click.group(
    cls=SubjectGroup,
    subjects=subjects(),
    help=_help(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
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
    """Keep a memory that AI agents can use and that you can read, correct and keep."""
