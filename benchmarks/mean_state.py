"""Make the mean token state that the built-in model's states are centred by.

`python -m benchmarks.mean_state [--data FILE] [--out FILE]`. The data are the questions of XQuAD (Artetxe et al., 2020) in twelve
languages, each language weighing the same, in the form of the evaluation data; they are not part of this project.
The mean of short questions serves better than that of whole paragraphs (docs/decisions/0027-late-interaction-and-relevance.md).
"""

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.measure import ROOT
from minutebook.features.models.built_in import builtin

DATA = ROOT.parent / "shared" / "data" / "xquad-dev.json"


def main() -> None:
    """Embed the questions of each language; write the mean of the languages' means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=builtin.MEAN_STATE)
    given = parser.parse_args()
    paragraphs = json.loads(given.data.read_text(encoding="utf-8"))
    questions = [question for each in paragraphs for question in each["questions"]]
    model = builtin.open_model()
    present = np.load(builtin.MEAN_STATE).astype(np.float32)
    means = []
    for language in sorted(questions[0]):
        made = [model.embed_query(each[language]).tokens for each in questions]
        means.append(np.concatenate([each.states + present for each in made if each]).mean(axis=0))
    np.save(given.out, np.mean(means, axis=0).astype(np.float16))


if __name__ == "__main__":
    main()
