"""A server that is killed while it decides: `python -m tests.features.ledger.killed_decider HOME URL`.

The commit is in Git by then, and the store has nothing of it.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.mirror.tables import DecisionTables
from tests.features.ledger.decided import PERSON, draft


def _die(*arguments: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def main() -> None:
    home, url = sys.argv[1:]
    settings = settings_with(home=Path(home), store=url, embedder="none")
    app = open_app(settings)
    tables: Any = DecisionTables
    tables.put_mark = _die
    app.get(DecisionActs).record(PERSON, draft("wire", "Use copper"))


if __name__ == "__main__":
    main()
