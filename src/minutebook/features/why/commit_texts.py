"""Commits as answers show them, and the paths of their files."""

import re

from minutebook.record.records import ProjectCommit
from minutebook.text.words import words

_FOLDERS = frozenset({"src", "lib", "source", "tests", "test", "docs"})

_COMMIT = re.compile(r"\bcommits?\b|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b", re.IGNORECASE)

LEAST_WORDS = 3
"""A message with so many words is enough of an answer; one with two must share one with the question."""

LONGEST_SHOWN = 700
"""Characters of a message that an answer shows, at most."""


def shown(commit: ProjectCommit) -> str:
    """Return a commit as an answer shows it: the message, and the first files."""
    message = commit.message
    if len(message) > LONGEST_SHOWN:
        message = f"{message[:LONGEST_SHOWN]}…"
    files = ", ".join(commit.files[:3]) + (", …" if len(commit.files) > 3 else "")
    return f"{message}\n({files})" if files else message


def is_like(path: str, other: str) -> bool:
    """Tell whether `other` may be the later path of the file at `path`: its name is that of the file, or of one of its folders."""
    stems = [each.partition(".")[0].strip("_") for each in path.split("/")]
    name = other.rpartition("/")[2].partition(".")[0].strip("_")
    return name == stems[-1] or (name in stems and name not in _FOLDERS)


def asks_for_commits(query: str) -> bool:
    """Tell whether a question has the word "commit" or the id of a commit."""
    return _COMMIT.search(query) is not None


def says_something(commit: ProjectCommit, query: str) -> bool:
    """Tell whether the message of a commit says enough to answer a question: "wip" does not."""
    own = set(words(commit.message))
    return len(own) >= LEAST_WORDS or (len(own) > 1 and not own.isdisjoint(words(query)))
