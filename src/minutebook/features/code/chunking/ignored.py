"""The files that `.gitignore`, `.git/info/exclude` and `.memoryignore` leave out.

The library turns a pattern into a regular expression; this module decides which pattern applies, going down
from the root as Git does. A folder that is left out is never entered, so a pattern is matched against an
entry itself, not against the entries inside it.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_GIT = ".gitignore"
_OURS = ".memoryignore"
_MAX_FILE = 1 << 18
# The time of a match grows exponentially with the stars in one part of a path, and with `**` in all.
_MAX_STARS = 3
_STARS = re.compile(r"\*{3,}")
# The library's expressions for these are made for the paths below a folder, not for the folder.
_ANYTHING = re.compile(r"^(!?)(?:\*|/?\*\*(?:/\*\*)*(?:/\*)?)(/?)$")
_INSIDE = re.compile(r"/\*\*(/?)$")


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one file, last first, each with whether it leaves a match out; `depth` is where paths in its folder begin."""

    depth: int
    patterns: tuple[tuple[re.Pattern[str], bool], ...]


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules for the entries of a folder, nearest first: `ours` of `.memoryignore`, `git` of Git's files.

    The nearest file with a matching pattern decides, and in it the last such pattern; every `.memoryignore` comes
    before all of Git's files.
    """

    ours: tuple[_Rules, ...] = ()
    git: tuple[_Rules, ...] = ()

    @classmethod
    def around(cls, root: Path) -> "IgnoreRules":
        """Return the rules of the folders above a root, up to the top of its Git work tree."""
        folders = (root, *root.parents)
        top = next((folder for folder in folders if (folder / ".git").exists()), None)
        if top is None:
            return cls()
        exclude = _read(f"{top}/.git/info/exclude", str(top))
        rules = cls(git=(exclude,) if exclude else ())
        chain = [folder for folder in folders if folder.is_relative_to(top)]
        while len(chain) > 1:
            rules = rules.inside(str(chain.pop()), (_GIT, _OURS))
            if rules.is_ignored(str(chain[-1]), is_folder=True):
                # Somebody who indexes an ignored folder wants its contents.
                return cls()
        return rules

    def inside(self, folder: str, names: Collection[str]) -> "IgnoreRules":
        """Return the rules with those of a folder added; `names` are its entries."""
        ours = _read(f"{folder}/{_OURS}", folder) if _OURS in names else None
        git = _read(f"{folder}/{_GIT}", folder) if _GIT in names else None
        if not ours and not git:
            return self
        return IgnoreRules(
            (ours, *self.ours) if ours else self.ours, (git, *self.git) if git else self.git
        )

    def is_ignored(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether an entry is left out, provided that the folders around it are not."""
        full = path + "/" if is_folder else path
        for rules in (*self.ours, *self.git):
            inside = full[rules.depth :]
            for pattern, is_left_out in rules.patterns:
                if pattern.fullmatch(inside):
                    return is_left_out
        return False


def _read(path: str, folder: str) -> _Rules | None:
    """Return the rules of an ignore file in a folder, the last rule first; None if it is no file that can be read."""
    file = Path(path)
    try:
        if file.is_symlink() or not file.is_file():
            return None
        with file.open("rb") as opened:
            text = opened.read(_MAX_FILE).decode("utf-8-sig", errors="replace")
    except OSError:
        return None
    patterns = [found for line in reversed(text.split("\n")) if (found := _pattern(line))]
    return _Rules(len(folder.rstrip("/\\")) + 1, tuple(patterns))


def _pattern(line: str) -> tuple[re.Pattern[str], bool] | None:
    """Return a line's expression and whether it leaves a match out; None for remarks and invalid patterns, as Git skips these."""
    line = _STARS.sub("**", line.rstrip("\r"))
    stars = max(part.count("*") for part in line.split("/"))
    if max(stars, line.count("**")) > _MAX_STARS:
        return None
    line = _ANYTHING.sub(r"\1?*\2", line)
    line = _INSIDE.sub(r"/**/*\1", line)
    try:
        pattern = GitIgnoreSpecPattern(line)
    except (GitIgnorePatternError, re.error):
        return None
    if pattern.regex is None or pattern.include is None:
        return None
    return pattern.regex, pattern.include
