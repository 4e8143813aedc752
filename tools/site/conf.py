"""How Sphinx makes the site of the pages that stand in the repository; `tools/build_site.py` runs it."""

from pathlib import Path

from sphinx.application import Sphinx

from minutebook import __version__

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

project = "Minutebook"
version = release = __version__

extensions = ["myst_parser"]
myst_heading_anchors = 4
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "src/minutebook/features/*/README.md"]
# They lead to pages of those who published them.
exclude_patterns = ["docs/contracts/published/**"]

nitpicky = True
html_theme = "furo"
html_title = f"Minutebook {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("versions.js", {"defer": "defer"})]
html_copy_source = False
html_show_sphinx = False
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}

# The front page is the README, which shows no table of contents on other hosts.
CONTENTS = """

```{toctree}
:hidden:
:caption: Begin

docs/tutorial
docs/README
```

```{toctree}
:hidden:
:glob:
:caption: Recipes

docs/recipes/*
```

```{toctree}
:hidden:
:glob:
:caption: Guides

docs/guides/*
```

```{toctree}
:hidden:
:caption: Reference

docs/commands
docs/settings
docs/contracts/knowledge
docs/contracts/catalog
docs/contracts/governance
docs/contracts/ledger
docs/contracts/journal
docs/promises
docs/glossary
```

```{toctree}
:hidden:
:caption: How well

docs/quality
docs/benchmarks
docs/measuring-search
docs/reliability
docs/platforms
```

```{toctree}
:hidden:
:caption: How it is made

ARCHITECTURE
CONTRIBUTING
docs/releasing
docs/decisions/README
```

```{toctree}
:hidden:
:glob:
:caption: Features

src/minutebook/features/*/README
```
"""

DECISIONS = """

```{toctree}
:hidden:
:glob:

[0-9]*
```
"""


def _add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Add what stands in the margin of the site to the two pages that list others."""
    source[0] += {"README": CONTENTS, "docs/decisions/README": DECISIONS}.get(name, "")


def setup(app: Sphinx) -> None:
    """Have the tables of contents added."""
    app.connect("source-read", _add_contents)
