"""A process that exports or imports: `python -m tests.features.archives.archivist ACT HOME FILE [BYTES]`.

It says `half` when it is halfway, and waits there to be told to go on. BYTES bounds what any of its
files may grow to, from then on.
"""

import resource
import sys

from minutebook.app import open_app
from minutebook.features.archives.archive_lines import JOURNAL, Mode
from minutebook.features.archives.archives import Archives
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import MinutebookError
from minutebook.record.records import Role
from tests.homes import settings_at


def main(act: str, home: str, file: str, limit: str = "") -> None:
    """Do it, and say what came of it."""
    app = open_app(settings_at(home, embedder="none", durability="normal"))
    is_halfway = False

    def progress(part: float, what: str) -> None:
        nonlocal is_halfway
        if not is_halfway and part > (0.4 if act == "export" else 0.7):
            is_halfway = True
            _say("half")
            sys.stdin.readline()

    caller = with_call(Caller(name="ana", role=Role.AGENT), progress=progress)
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    try:
        if act == "export":
            app.get(Archives).export(caller, JOURNAL, file)
        else:
            app.get(Archives).import_(caller, file, Mode(act))
    except MinutebookError as error:
        _say(str(error))
    else:
        _say("done")
    app.close()


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
