"""The option `--cites` of `remember` and `decide`: citations that are given by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from minutebook.cli.added_options import AddedOptions
from minutebook.cli.printing import warn
from minutebook.features.citations.texts import CITES


def _in_metadata(options: dict[str, str], typed: dict[str, Any]) -> bool:
    """Add the given citations to a memory's metadata; the memory is kept all the same."""
    if given := list(dict.fromkeys(typed["cites"])):
        _warn_of_missing(given)
        typed["more"] = {CITES: given}
    return False


def _in_consequences(options: dict[str, str], typed: dict[str, Any]) -> bool:
    """Add the given citations to a decision's consequences; the decision is recorded all the same."""
    if given := list(dict.fromkeys(typed["cites"])):
        _warn_of_missing(given)
        named = ", ".join(f"`{each}`" for each in given)
        typed["consequences"] = (*typed["consequences"], f"It concerns {named}.")
    return False


def _warn_of_missing(given: Sequence[str]) -> None:
    """Warn of citations that the last commit of this folder's repository does not have, or more than once."""
    from minutebook.features.citations.checking import CodeCheck
    from minutebook.record.errors import InvalidInput

    try:
        missing = CodeCheck(Path(), None).missing(given)
    except InvalidInput as error:
        warn(f"Nothing will be said of {', '.join(given)}: {error.remedy}")
        return
    for each in missing:
        warn(
            f"{each} is not in the last commit here, or more than once: it is kept, and nothing will be said of it. "
            "A definition is named with its file, such as src/pay.py:Order.total."
        )


_OPTION = click.option(
    "--cites",
    multiple=True,
    metavar="CODE",
    help="What it is about in this folder's code: src/pay.py, src/pay.py:12-20, src/pay.py:Order.total; repeatable.",
)
IN_METADATA = AddedOptions({"cites": _OPTION}, _in_metadata)
IN_CONSEQUENCES = AddedOptions({"cites": _OPTION}, _in_consequences)
