"""Commits as answers show them, and the paths of their files."""

import re

from minutebook.record.records import ProjectCommit
from minutebook.text.words import words

_FOLDERS = frozenset({"src", "lib", "source", "tests", "test", "docs"})

_COMMIT = re.compile(r"\bcommits?\b|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b", re.IGNORECASE)

TELLING = 3
"""Words of a message from which on it says something by itself; one of fewer, but more than one, has to share one with the question."""

SHOWN = 700
"""Characters of a message that an answer shows."""


def shown(commit: ProjectCommit) -> str:
    """Return a commit as an answer shows it: the message, and the first files."""
    message = commit.message if len(commit.message) <= SHOWN else f"{commit.message[:SHOWN]}…"
    files = ", ".join(commit.files[:3]) + (", …" if len(commit.files) > 3 else "")
    return f"{message}\n({files})" if files else message


def is_like(path: str, other: str) -> bool:
    """Tell whether a path may be an earlier one of a file: it has its name, or that of a folder around it, underscores aside."""
    stems = [each.partition(".")[0].strip("_") for each in path.split("/")]
    name = other.rpartition("/")[2].partition(".")[0].strip("_")
    return name == stems[-1] or (name in stems and name not in _FOLDERS)


def asks_for_commits(query: str) -> bool:
    """Tell whether a question names commits, or one by its id."""
    return _COMMIT.search(query) is not None


def says_something(commit: ProjectCommit, query: str) -> bool:
    """Tell whether the message of a commit says enough to answer a question: "wip" does not."""
    said = set(words(commit.message))
    return len(said) >= TELLING or (len(said) > 1 and not said.isdisjoint(words(query)))
