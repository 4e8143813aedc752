"""The command line: a module a subject, one command a function."""

import click

from minutebook import __version__
from minutebook.cli import (
    archives,
    bench,
    code,
    completion,
    daemon,
    decisions,
    governance,
    journal,
    memories,
    migrating,
    serving,
    settings,
    tokens,
    upkeep,
)
from minutebook.cli.terminal import Group, identity

SUBJECTS = {
    "Begin": (*serving.COMMANDS, *completion.COMMANDS),
    "Memories": memories.COMMANDS,
    "Trust": governance.COMMANDS,
    "Decisions": decisions.COMMANDS,
    "Sessions": journal.COMMANDS,
    "Code": code.COMMANDS,
    "Take out and bring in": (*archives.COMMANDS, *migrating.COMMANDS),
    "Look after it": (
        *upkeep.COMMANDS,
        *settings.COMMANDS,
        *daemon.COMMANDS,
        *tokens.COMMANDS,
        *bench.COMMANDS,
    ),
}
"""The commands by what they are about, as `minutebook --help` lists them."""


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="minutebook")
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


for _subject, _commands in SUBJECTS.items():
    main.add_subject(_subject, _commands)
