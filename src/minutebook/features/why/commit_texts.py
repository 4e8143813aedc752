"""Commits as answers show them, and the paths of their files."""

from minutebook.domain.records import ProjectCommit

_FOLDERS = frozenset({"src", "lib", "source", "tests", "test", "docs"})

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
