"""Measure search on data sets: `python -m benchmarks.finding PATH…`, files as docs/measuring-search.md describes them."""

import json
from pathlib import Path

import click

from benchmarks.finding import report, runs
from benchmarks.finding.datasets import read, sampled
from minutebook.cli.keyboard import PATH
from minutebook.cli.printing import echo, warn
from minutebook.cli.progress import bar
from minutebook.config import load
from minutebook.record.errors import InvalidInput


@click.command()
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--split", help="Only questions marked with it: dev, test…")
@click.option(
    "--sample", type=click.IntRange(1), help="At most so many questions of each category."
)
@click.option("--json", "as_json", type=PATH, help="Write all figures here.")
def finding(
    paths: tuple[Path, ...], split: str | None, sample: int | None, as_json: Path | None
) -> None:
    """Measure search on the data sets PATH…, in stores of their own; yours stay as they are."""
    settings = load({})
    done = []
    for path in paths:
        try:
            dataset = read(path, split)
        except InvalidInput as error:
            raise click.ClickException(str(error)) from error
        if sample is not None:
            dataset = sampled(dataset, sample)
        with bar(dataset.name, hidden=False) as progress:
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


if __name__ == "__main__":
    finding()
