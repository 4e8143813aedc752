"""The benchmark of citations, on a small history."""

from pathlib import Path

from benchmarks.rot import walked
from tests.features.citations.repositories import committed

PAY = "def total(lines):\n    return sum(lines)\n\n\ndef refund(order):\n    return -order\n"


def test_what_was_removed_changed_or_kept_is_counted(tmp_path: Path) -> None:
    page = "`total`, `refund`, `kept` and src/old.ts stand here.\n"
    kept = "def kept():\n    return 1\n"
    committed(tmp_path, {"a.md": page, "pay.py": PAY, "kept.py": kept, "src/old.ts": "let a = 1\n"})
    committed(tmp_path, {"pay.py": PAY.replace("sum", "max"), "kept.py": f"# why\n{kept}"})
    committed(
        tmp_path, {"pay.py": "def total(lines):\n    return max(lines)\n", "src/old.ts": None}
    )
    counts, _ = walked(tmp_path, 200)
    assert counts == {"cited": 4, "alerts": 3, "right": 3, "gone": 2, "found": 2}
