"""Operations on commits: the requests that led to them, and those that are about a question."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minutebook.ask.memories import in_folder
from minutebook.ask.operation import operation
from minutebook.features.why.session_requests import Request, WrittenCode, requests_of
from minutebook.record.caller import Caller, FolderScope

if TYPE_CHECKING:
    from minutebook.app import App


@operation("journal")
def requests_before(
    app: "App",
    caller: Caller,
    written: Sequence[WrittenCode],
    folder: FolderScope | None = None,
) -> list[Request | None]:
    """Return for each commit, the latest first, the request that led to it, None if it is unknown."""
    return requests_of(app.infrastructure.records, in_folder(caller, folder), written)


@operation("knowledge")
def commits_about(app: "App", caller: Caller, question: str, root: str, path: str) -> list[str]:
    """Return the ids of the commits to a file of the project in the folder `root` that are about a question, best first."""
    from minutebook.features.why.search import CommitSearch

    return app.get(CommitSearch).about_file(caller, question, root, path)


OPERATIONS = (requests_before, commits_about)
