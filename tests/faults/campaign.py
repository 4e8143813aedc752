"""How many rounds a test with faults runs, from which seed, and where its figures are kept.

`make test` leaves these tests out, `.ci/run` runs their short form, and `make faults` (`FAULTS=long`) the long one, which
writes what it measured into `docs/reliability.json`; `make docs` makes `docs/reliability.md` from it.
"""

import fcntl
import json
import logging
import os
import random
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from minutebook.store.disk.atomic_file import replace_file
from tools.reliability_page import RUN_ON

logger = logging.getLogger(__name__)

LONG = os.environ.get("FAULTS") == "long"
FIGURES = Path(__file__).resolve().parents[2] / "docs" / "reliability.json"


def rounds(short: int, long: int) -> int:
    """Return how many rounds to run."""
    return long if LONG else short


def chance(name: str) -> random.Random:
    """Return the source of a test's random choices.

    It is the same in each short run, so that a red one means the change, and another in each long run; `FAULTS_SEED`
    repeats a long run. The seed is logged, and pytest shows what a failed test logged.
    """
    seed = os.environ.get("FAULTS_SEED") or (
        str(random.SystemRandom().getrandbits(32)) if LONG else "1"
    )
    logger.warning("FAULTS_SEED=%s", seed)
    return random.Random(f"{name} {seed}")


def report(table: str, name: str, **figures: int | float | str) -> None:
    """Keep a row of a table of docs/reliability.md, in place of the one of that name; a short run keeps nothing.

    `tools/reliability_page.py` says which tables there are and which columns they have.
    """
    if not LONG:
        return
    with (Path(tempfile.gettempdir()) / "minutebook-reliability.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tables = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
        today = datetime.now(UTC).date().isoformat()
        tables.setdefault(table, {})[name] = {**figures, RUN_ON: today}
        replace_file(
            FIGURES, json.dumps(tables, indent=2, ensure_ascii=False).encode() + b"\n", mode=0o644
        )
