"""Name the cited files that are not in the project, beside the answer to a write."""

from contextlib import suppress
from pathlib import Path

from minutebook.app import App
from minutebook.domain.caller import Caller, Note, anywhere
from minutebook.domain.errors import InvalidInput
from minutebook.domain.reason import Reason
from minutebook.domain.records import Project, TextRecord
from minutebook.features.code.references import references_in


def note_absent(app: App, caller: Caller, record: TextRecord) -> None:
    """Note in the call the files that a record cites and that are not in its project, if its work tree is known."""
    if not any(each.path for each in references_in(record.text)):
        return
    from minutebook.features.citations.checking import CodeCheck
    from minutebook.features.citations.work_trees import known_trees

    records = app.infrastructure.records
    projects = records.seen_in(record.organization, anywhere(caller)).find(Project)
    tree = known_trees(caller, projects).tree_of(getattr(record, "repository", None), {})
    with suppress(InvalidInput):
        if tree and (absent := CodeCheck(Path(tree), None).absent(record.text)):
            text = "There is no {files} in this project: the text is kept, and nothing will be said of what it cites there."
            said = Reason(text, files=", ".join(absent))
            caller.call.notes["cites"] = Note({"absent": absent}, said)
