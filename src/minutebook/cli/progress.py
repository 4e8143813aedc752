"""Show how far long work is, and say how Ctrl-C leaves it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from minutebook.cli.printing import short, warn
from minutebook.record.caller import Progress
from minutebook.record.control_characters import escaped
from minutebook.serve.invocation import INTERRUPTED

_STEPS = 1000


@contextmanager
def bar(label: str, *, hidden: bool) -> Iterator[Progress]:
    """Show how far an act is, where there is a terminal to show it on."""
    if hidden or not sys.stderr.isatty():
        yield lambda part, what: None
        return
    nothing: tuple[str, ...] = ()
    shown = click.progressbar(
        nothing,
        length=_STEPS,
        label=label,
        file=sys.stderr,
        item_show_func=lambda what: "" if what is None else escaped(short(what, 40)),
    )
    with shown as drawn:

        def progress(part: float, what: str) -> None:
            drawn.update(max(0, round(part * _STEPS) - drawn.pos), what)

        yield progress
        drawn.update(_STEPS - drawn.pos)


@contextmanager
def interruptible(*lines: str) -> Iterator[None]:
    """Have Ctrl-C print the state of the work, and exit as a shell has it."""
    try:
        yield
    except KeyboardInterrupt:
        warn("", *lines)
        sys.exit(INTERRUPTED)
