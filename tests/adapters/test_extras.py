"""An adapter without its library names the extra that installs it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "src" / "minutebook" / "adapters"
EXTRAS = {"anthropic": "anthropic", "langgraph": "langgraph"}


def test_each_adapter_is_in_the_table_and_has_an_extra() -> None:
    named = {path.stem for path in FOLDER.glob("*.py") if 'needing("' in path.read_text("utf-8")}
    assert named == set(EXTRAS)
    project = (FOLDER.parents[2] / "pyproject.toml").read_text("utf-8")
    for module in EXTRAS:
        assert re.search(rf"^{module.replace('_', '-')} = \[", project, re.MULTILINE), module


@pytest.mark.cold_start
def test_an_adapter_without_its_library_names_the_extra() -> None:
    code = (
        "import importlib, sys\n"
        f"for module, library in {EXTRAS!r}.items():\n"
        "    sys.modules[library] = None\n"
        "    try:\n"
        "        importlib.import_module(f'minutebook.adapters.{module}')\n"
        "    except ImportError as error:\n"
        "        print(module, '|', error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = dict(line.split(" | ") for line in done.stdout.splitlines())
    assert set(lines) == set(EXTRAS)
    for module, said in lines.items():
        assert f"pip install 'minutebook[{module.replace('_', '-')}]'" in said
