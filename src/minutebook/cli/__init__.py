"""The command line: a module a subject, one command a function."""

import click

from minutebook import __version__
from minutebook.cli import (
    archives,
    code,
    decisions,
    governance,
    journal,
    memories,
    serving,
    upkeep,
)
from minutebook.cli.terminal import Group, identity


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="minutebook")
@identity
def main() -> None:
    """Keep a memory that AI agents can use and that you can read, correct and keep.

    \b
    minutebook install claude-code   connect a client
    minutebook remember "…"          keep something yourself
    minutebook search "…"            find it by meaning and by words
    minutebook index .               let agents find this folder's code
    minutebook code "…"              find it yourself
    minutebook decide                put a decision on the record
    minutebook sessions              see what your agents did, session by session
    minutebook status                how the store and the model are
    """


for _subject in (serving, memories, code, decisions, journal, governance, archives, upkeep):
    for _command in _subject.COMMANDS:
        main.add_command(_command)
