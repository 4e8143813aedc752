"""Options that features add to commands of others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from minutebook.feature import features

Option = Callable[[Callable[..., object]], Callable[..., object]]
"""A decorator that adds options to a command, as `click.option` returns one."""


@dataclass(frozen=True, slots=True)
class AddedOptions:
    """The options that a feature adds to a command, by the names of their values.

    `run` takes the common options and all other values that were typed. It does the command's work and returns True if its
    options ask for that; else it returns False, and may have changed or added values for the command.
    """

    options: Mapping[str, Option]
    run: Callable[[dict[str, str], dict[str, Any]], bool]


def added_options(command: str) -> Option:
    """Return a decorator that adds the options of features to a command."""
    added: list[AddedOptions] = [
        feature.load(name) for feature in features() if (name := feature.options.get(command))
    ]

    def decorate(function: Callable[..., object]) -> Callable[..., object]:
        @wraps(function)
        def run(options: dict[str, str], **typed: Any) -> None:
            if not any(each.run(options, typed) for each in added):
                others = {name for each in added for name in each.options}
                own = {name: value for name, value in typed.items() if name not in others}
                function(options, **own)

        made: Callable[..., object] = run
        for option in reversed([option for each in added for option in each.options.values()]):
            made = option(made)
        return made

    return decorate
