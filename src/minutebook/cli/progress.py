"""Show how far long work is, and say how Ctrl-C leaves it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import click

from minutebook.cli.printing import short, warn
from minutebook.domain.caller import Progress
from minutebook.domain.control_characters import escaped
from minutebook.invocation import INTERRUPTED

PREPARED_LATER = "The model is prepared in the background all the same. Nothing else was done."
"""What Ctrl-C leaves while a command waits for the model."""

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
def preparing_shown() -> Iterator[Callable[[float], None]]:
    """Show how much of the model's preparation is done, from when it is told of it until all is."""
    with ExitStack() as stack:
        shown: Progress | None = None

        def report(part: float) -> None:
            nonlocal shown
            if shown is None:
                if not sys.stderr.isatty():
                    warn(
                        "The embedding model is being prepared for its first use; this is done once."
                    )
                stack.enter_context(interruptible(PREPARED_LATER))
                label = "Preparing the embedding model, once"
                shown = stack.enter_context(bar(label, hidden=False))
            shown(part, "")
            if part == 1:
                stack.close()

        yield report


@contextmanager
def interruptible(*lines: str) -> Iterator[None]:
    """Have Ctrl-C print the state of the work, and exit as a shell has it."""
    try:
        yield
    except KeyboardInterrupt:
        warn("", *lines)
        sys.exit(INTERRUPTED)
