"""Which technologies, files and packages a text names."""

import pytest

from minutebook.features.summarizer import technologies


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("We use PostgreSQL, Redis and FastAPI.", {"postgresql", "redis", "fastapi"}),
        ("psql and postgres are the same", {"postgresql"}),
        ("Next.js on Node.js with three.js", {"next.js", "nodejs", "three.js"}),
        ("C++ and C#", {"c++", "c#"}),
        ("run it with vs code and GitHub Actions", {"vscode", "github"}),
        ("we go to the spring festival and make a swift poem about rust", set()),
        ("a reduxed, sqlitely, unpandas world", set()),
        ("mail me@redis.io", set()),
    ],
)
def test_technologies_are_found_as_whole_names(text: str, named: set[str]) -> None:
    assert set(technologies.technologies_in(text)) == named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("written in Go and Rust", {"go", "rust"}),
        ("with React, Flask (and Swift)", {"react", "flask", "swift"}),
        ("Go there. Make it so. React quickly.", set()),
        ("go there", set()),
    ],
)
def test_words_of_every_day_count_with_a_capital_inside_a_sentence(
    text: str, named: set[str]
) -> None:
    assert set(technologies.doubtful_technologies_in(text)) == named


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("see src/app.py and ./tests/test_app.py.", ["src/app.py", "tests/test_app.py"]),
        ("src/app.py:12: error", ["src/app.py"]),
        ("tests/test_a.py::test_b fails", ["tests/test_a.py"]),
        ("`web\\view.tsx`, (Dockerfile)", ["web/view.tsx", "Dockerfile"]),
        ("node.js and vue.js are no files", []),
        ("e.g. this, i.e. that, v1.2.3, 3.py", ["3.py"]),
        (".env and .gitignore", []),
        ("https://example.com/a.py", []),
        ("a.b.c.d", []),
    ],
)
def test_files_are_found_by_suffix_or_name(text: str, files: list[str]) -> None:
    assert list(technologies.files_in(technologies.without_urls(text))) == files


@pytest.mark.parametrize(
    ("text", "packages"),
    [
        ("$ pip install requests rich==13 -U", ["requests", "rich"]),
        ("run `npm install zod @types/node@20 --save-dev`", ["zod", "@types/node"]),
        ("then cargo add serde and go on", ["serde"]),
        ("pip install -r requirements.txt", []),
        ("import numpy as np\nfrom fastapi.routing import APIRouter", ["fastapi", "numpy"]),
        ("import os\nfrom pathlib import Path", []),
        ("import the file from the start", []),
        ("const z = require('zod/lib'); import x from \"left-pad\"", ["zod", "left-pad"]),
        ("require('./local')", []),
    ],
)
def test_packages_are_found_where_they_are_installed_or_imported(
    text: str, packages: list[str]
) -> None:
    assert list(technologies.packages_in(text)) == packages
