"""The examples of the guide for programs, run as somebody would who reads it from the top."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "python.md"
_EXAMPLE = re.compile(
    r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)


def parts() -> tuple[str, str]:
    """The part about the memory itself, and that about adapters."""
    api, heading, adapters = GUIDE.read_text("utf-8").partition("\n# Adapters\n")
    assert heading
    return api, adapters


def run_examples(page: str, names: dict[str, Any]) -> int:
    """Run each example with the names of those before, and compare what it prints; how many there were."""
    examples = _EXAMPLE.findall(page)
    for code, printed in examples:
        said = io.StringIO()
        with redirect_stdout(said):
            exec(compile(code, str(GUIDE), "exec"), names)
        assert said.getvalue() == printed, code
    return len(examples)
