"""Measure how well search finds the relevant documents of data sets."""

import json
from pathlib import Path

import click

from minutebook.cli.keyboard import PATH
from minutebook.cli.opening import settings_of
from minutebook.cli.printing import echo, warn
from minutebook.cli.progress import bar, interruptible
from minutebook.cli.terminal import identity
from minutebook.features.bench.datasets import read, sampled


@click.command(short_help="Measure how well search finds, on data sets of yours.")
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--split", help="Only questions marked with it: dev, test…")
@click.option(
    "--sample", type=click.IntRange(1), help="At most so many questions of each category."
)
@click.option("--json", "as_json", type=PATH, help="Write all figures here.")
@identity
def bench(
    options: dict[str, str],
    paths: tuple[Path, ...],
    split: str | None,
    sample: int | None,
    as_json: Path | None,
) -> None:
    """Measure search on the data sets PATH…, in stores of their own; yours stay as they are.

    Each is a file of JSON lines as docs/guides/bench.md describes them.
    """
    from minutebook.features.bench import report, runs

    settings = settings_of(options)
    done = []
    for path in paths:
        dataset = read(path, split)
        if sample is not None:
            dataset = sampled(dataset, sample)
        with (
            interruptible("Stopped. Nothing was written."),
            bar(dataset.name, hidden=False) as progress,
        ):
            done.append(runs.run(dataset, settings, progress))
        for reason, count in dataset.left_out.items():
            if count:
                warn(f"{dataset.name}: left out {count} {reason}")
    figures = report.report(done)
    echo(*report.table(figures))
    if as_json is not None:
        as_json.write_text(
            json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )


COMMANDS = (bench,)
