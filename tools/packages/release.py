"""Check and build a release: `make release VERSION=1.2.3`. Uploads nothing, sets no tag.

docs/releasing.md is the check-list of which this is the middle part.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.packages.__main__ import DIGESTS, ROOT
from tools.packages.facts import facts_of
from tools.packages.requirements import unlocked

STEPS = (
    ("make", "check"),
    ("make", "test-all"),
    ("make", "dist"),
)


def main() -> None:
    """Print what stands against the release, and exit with 1 if anything does; else make it."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("version", metavar="VERSION")
    parser.add_argument("--dry-run", action="store_true", help="look, and say what would be run")
    options = parser.parse_args()
    found = list(problems(ROOT, options.version))
    for problem in found:
        print(f"- {problem}")
    if options.dry_run:
        for step in STEPS:
            print("would run:", *step)
    if found:
        sys.exit(1)
    if not options.dry_run:
        _make()
        print(f"dist/ holds {options.version}; docs/releasing.md says what is left to do")


def problems(root: Path, version: str) -> Iterator[str]:
    """Yield what stands against releasing a version from a folder, each with its remedy.

    Raises CalledProcessError if the folder is in no Git repository.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        yield f"{version!r} is no version; write it as 1.2.3 or 1.2.3rc1"
    facts = facts_of(root)
    if facts.version != version:
        yield f"the package says {facts.version}; enter {version} in src/{facts.name}/__init__.py"
    compose = (root / "deploy" / "compose.yaml").read_text(encoding="utf-8")
    if f"image: {facts.name}:{version}\n" not in compose:
        yield f"deploy/compose.yaml names another image; enter {facts.name}:{version}"
    for address in facts.placeholders():
        yield f"{address} belongs to nobody; enter yours under [project.urls] in pyproject.toml"
    readme = (root / "README.md").read_text(encoding="utf-8")
    if f"mcp-name: {facts.registry_name} " not in readme:
        yield f"README.md has another mcp-name; enter {facts.registry_name}"
    for name in unlocked(root):
        yield f"the lock lacks {name}; run `make lock`"
    command = ["git", "status", "--porcelain"]
    state = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    if state:
        yield f"files are not committed; commit or remove them: {', '.join(state.split()[1::2])}"
    tags = ["git", "tag", "--list", f"v{version}"]
    if subprocess.run(tags, cwd=root, check=True, capture_output=True).stdout:
        yield f"the tag v{version} is there already; take the next version"


def _make() -> None:
    """Run all steps, the last one twice; exit with a message if its two results differ."""
    digests = []
    for step in (*STEPS, STEPS[-1]):
        subprocess.run(step, cwd=ROOT, check=True)
        if step == STEPS[-1]:
            digests.append((ROOT / "dist" / DIGESTS).read_bytes())
    if digests[0] != digests[1]:
        sys.exit("two builds differ; the release cannot be made again, so it is none")


if __name__ == "__main__":
    main()
