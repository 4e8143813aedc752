"""Does the journal find what was said? LoCoMo's turns kept by `add_memory`, asked of `query_raw_memories`.

`python -m benchmarks.journal_quality [--quick]`. Each turn is the prompt of one exchange of its session, and
ten results are asked for, in a store a conversation. The tool gives them in the order of their cosines, so
the share of the evidence among them is what the ranking is responsible for. `--quick` takes one conversation
and four questions of each category.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import public_sets
from benchmarks.finding import datasets
from benchmarks.finding.datasets import Collection
from benchmarks.finding.metrics import interval
from benchmarks.measure import asked
from benchmarks.quality import PUBLIC
from minutebook.app import open_app
from minutebook.config import Settings, load, settings_with
from minutebook.config.models import Models, models_of
from minutebook.features.journal.contract import journal
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.record.errors import MinutebookError

LOCOMO = PUBLIC / "locomo-dev.json"

RESULTS = 10
"""How many results are asked for."""


def shares(
    collection: Collection, models: Models, settings: Settings
) -> Iterator[tuple[str, float]]:
    """Keep the turns of a conversation and ask its questions; give each one's groups and share of evidence."""
    contract, caller = journal(), settings_with().caller()
    with closing(open_app(settings, models=models)) as app:

        def call(tool: str, **arguments: object) -> Any:
            answer = contract.call(app, caller, tool, arguments)
            if answer.content is None:
                raise MinutebookError(f"{tool}: {answer.text}")
            return answer.content

        for turn in collection.documents:
            call("add_memory", sessionId=turn.session, prompt=turn.text, thought="", response="")
        text_of = {each.id: each.text for each in collection.documents}
        for query in collection.queries:
            found = call("query_raw_memories", query=query.text, nResults=RESULTS)["results"]
            texts = {each["prompt"] for each in found}
            held = sum(text_of[id] in texts for id in query.relevant)
            for group in query.groups:
                yield group, held / len(query.relevant)


def main() -> None:
    """Measure and print a line a category."""
    given = asked("Measure how well the journal finds what was said.").parse_args()
    if not LOCOMO.exists():
        print(f"left out: there is no {LOCOMO}")
        return
    dataset = public_sets.read(LOCOMO)
    collections = dataset.collections
    if given.quick:
        collections = datasets.sampled(dataset, 4).collections[:1]
    models = models_of(load({}))
    models.embedding.start()
    models.embedding.wait()
    by_group: dict[str, list[float]] = defaultdict(list)
    with closing(models.embedding), tempfile.TemporaryDirectory() as top:
        for collection in collections:
            home = Path(top) / collection.name
            settings = replace(
                load({}).of(LedgerSettings),
                home=home,
                durability="normal",
                policy=None,
                ledger=None,
            )
            for group, share in shares(collection, models, settings):
                by_group[group].append(share)
    print(f"{'share of the evidence among ten':<34}{'n':>5}{'share':>8}   95 %")
    for group, found in sorted(by_group.items()):
        value, low, high = (100 * each for each in interval(found))
        print(f"{group:<34}{len(found):>5}{value:>8.1f}   {low:.1f} to {high:.1f}")


if __name__ == "__main__":
    main()
