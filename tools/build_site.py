"""Builds the site of the pages that stand in the repository: `build_site.py [FOLDER]`, or `build/site`.

This version goes into a folder of its own name; other versions that are there stay, and each page offers them.
A link that leads nowhere, or a page that no contents list, is an error.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from packaging.version import Version
from sphinx.cmd.build import main as sphinx

from minutebook import __version__ as version

ROOT = Path(__file__).resolve().parent.parent
REDIRECT = """<!doctype html>
<meta charset="utf-8">
<title>Minutebook</title>
<meta http-equiv="refresh" content="0; url={version}/index.html">
<a href="{version}/index.html">Minutebook {version}</a>
"""


def build(folder: Path) -> Path:
    """Build this version's pages into a folder of sites; return the first. Exits with Sphinx's status if it fails."""
    site = folder / version
    doctrees = folder / ".doctrees"
    status = sphinx(
        [
            "-q",
            "-n",
            "-W",
            "--keep-going",
            "-d",
            str(doctrees),
            "-c",
            str(ROOT / "tools/site"),
            str(ROOT),
            str(site),
        ]
    )
    shutil.rmtree(doctrees, ignore_errors=True)
    if status:
        sys.exit(status)
    # Pictures that a page chooses by the reader's colours are plain HTML, which Sphinx hands on unread.
    shutil.copytree(ROOT / "docs/pictures", site / "docs/pictures", dirs_exist_ok=True)
    shutil.copyfile(site / "README.html", site / "index.html")
    versions = sorted(
        (each.parent.name for each in folder.glob("*/index.html")), key=Version, reverse=True
    )
    (folder / "versions.json").write_text(json.dumps(versions), encoding="utf-8")
    (folder / "index.html").write_text(REDIRECT.format(version=versions[0]), encoding="utf-8")
    return site / "index.html"


if __name__ == "__main__":
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    print(build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"))
