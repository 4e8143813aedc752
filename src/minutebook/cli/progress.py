"""The progress of long work, and the message when Ctrl-C stops it."""

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
    """Show a progress bar on stderr, unless that is not a terminal or it is `hidden`; yield the function that moves it."""
    if hidden or not sys.stderr.isatty():
        yield lambda part, what: None
        return
    no_items: tuple[str, ...] = ()
    progressbar = click.progressbar(
        no_items,
        length=_STEPS,
        label=label,
        file=sys.stderr,
        item_show_func=lambda what: "" if what is None else escaped(short(what, 40)),
    )
    with progressbar as drawn:

        def progress(part: float, what: str) -> None:
            drawn.update(max(0, round(part * _STEPS) - drawn.pos), what)

        yield progress
        drawn.update(_STEPS - drawn.pos)


@contextmanager
def interruptible(*lines: str) -> Iterator[None]:
    """Have Ctrl-C print these lines, and exit with INTERRUPTED."""
    try:
        yield
    except KeyboardInterrupt:
        warn("", *lines)
        sys.exit(INTERRUPTED)
