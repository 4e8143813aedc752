"""Make the mean vector of questions about code, of which a search of code takes a part out of each question.

`python -m benchmarks.mean_question [--out FILE]`. The questions are first paragraphs of docstrings of the standard library's packages
(`json/`, `email/` …), 400 drawn once. None is among those of `benchmarks.code`, which asks docstrings of the modules that are one file.
"""

import argparse
import sysconfig
from pathlib import Path

import numpy as np

from benchmarks import docstrings
from minutebook.features.models.built_in import builtin

LEFT_OUT = frozenset({"test", "tests", "idlelib", "lib2to3", "site-packages", "turtledemo"})
QUESTIONS = 400
SEED = 0


def questions() -> list[str]:
    """Return first paragraphs of docstrings of functions in packages."""
    library = Path(sysconfig.get_path("stdlib"))
    found: list[docstrings.Question] = []
    for file in sorted(library.glob("*/**/*.py")):
        path = file.relative_to(library)
        if LEFT_OUT.isdisjoint(path.parts):
            found += docstrings.cut(path.as_posix(), file.read_text(encoding="utf-8"))[1]
    return [each.paragraph for each in docstrings.sampled(found, QUESTIONS, SEED)]


def main() -> None:
    """Embed the questions; write their mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=builtin.MEAN_QUESTION)
    given = parser.parse_args()
    model = builtin.open_model()
    code = builtin.E5_ALONE.digest
    vectors = [model.embed_query(each).others[code] for each in questions()]
    np.save(given.out, np.mean(vectors, axis=0).astype(np.float16))


if __name__ == "__main__":
    main()
