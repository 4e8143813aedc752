"""Commands, run as a person types them."""

from collections.abc import Callable
from typing import Any

from click.testing import CliRunner, Result

from minutebook.cli import main

Run = Callable[..., Result]


def typed(*arguments: str, **options: Any) -> Result:
    """Run a command."""
    return CliRunner().invoke(main, arguments, **options)


def remembered(run: Run, text: str, *options: str) -> str:
    """Keep a memory; its id."""
    result = run("remember", text, *options)
    assert result.exit_code == 0, result.output
    return result.output.strip()
