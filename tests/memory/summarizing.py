"""A process that summarises every session of a store, and says so after each."""

import sys

from minutebook.app import open_app
from minutebook.record.caller import Caller, with_call
from minutebook.record.records import Role
from tests.homes import settings_at


def main(home: str) -> None:
    app = open_app(settings_at(home, embedder="none"))

    def progress(part: float, what: str) -> None:
        if part > 0:
            sys.stdout.write(f"{what}\n")
            sys.stdout.flush()

    app.summaries.summarize_all(with_call(Caller(name="robot", role=Role.AGENT), progress=progress))


if __name__ == "__main__":
    main(*sys.argv[1:])
