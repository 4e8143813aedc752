"""A process that decides: `python -m tests.features.ledger.decider HOME NAME COUNT TARGET`.

Each target is TARGET and a number; with `=` before it, TARGET itself each time. What it was told is
on its standard output, a line an act.
"""

import sys

from minutebook.app import App, open_app
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.record.caller import Caller
from minutebook.record.errors import Decided, LedgerBusy
from minutebook.record.records import Role
from minutebook.record.writing.decision_drafts import DecisionDraft
from tests.homes import settings_at


def main(home: str, name: str, count: str, target: str) -> None:
    """Decide once told to, while others do too."""
    app = open_app(settings_at(home, embedder="none"))
    caller = Caller(name=name, role=Role.HUMAN)
    _say("ready")
    sys.stdin.readline()
    for number in range(int(count)):
        about = target[1:] if target.startswith("=") else f"{target} {number}"
        draft = DecisionDraft(f"As {name} says", about, "It was decided by many at once")
        _say(_outcome(app, caller, draft))
    app.close()


def _outcome(app: App, caller: Caller, draft: DecisionDraft) -> str:
    while True:
        try:
            return f"made {app.get(DecisionActs).record(caller, draft).id}"
        except Decided as error:
            return f"lost {error.id}"
        except LedgerBusy:
            # As the error says: on a busy machine the others may take longer than one waits.
            continue


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
