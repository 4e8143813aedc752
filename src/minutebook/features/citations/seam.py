"""The functions of this feature that the core calls: a note on cited files that are absent, and undoing."""

from contextlib import suppress
from pathlib import Path

from minutebook.app import App
from minutebook.features.code.references import references_in
from minutebook.record.caller import Caller, Note, without_folder_scope
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import Reason
from minutebook.record.records import Project, TextRecord
from minutebook.record.trust.acts import CONFIRM
from minutebook.record.trust.done_acts import DoneAct, Undoing


def note_absent(app: App, caller: Caller, record: TextRecord) -> None:
    """Add to the notes of a call the files that a record cites and its project does not have, if its work tree is known."""
    if not any(each.path for each in references_in(record.text)):
        return
    from minutebook.features.citations.checking import CodeCheck
    from minutebook.features.citations.work_trees import known_trees

    records = app.infrastructure.records
    projects = records.seen_in(record.organization, without_folder_scope(caller)).find(Project)
    tree = known_trees(caller, projects).tree_of(getattr(record, "repository", None), {})
    with suppress(InvalidInput):
        if tree and (absent := CodeCheck(Path(tree), None).absent(record.text)):
            text = "There is no {files} in this project: the text is kept, and nothing will be said of what it cites there."
            said = Reason(text, files=", ".join(absent))
            caller.call.notes["cites"] = Note({"absent": absent}, said)


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Return how the confirmations of an act are undone, or why they cannot be; None if it confirmed nothing."""
    from minutebook.features.citations.citing import Confirmations

    confirmations = app.get(Confirmations)
    confirmed = [each for each in act.entries if each.act == CONFIRM]
    if not confirmed:
        return None
    for each in confirmed:
        if not confirmations.is_last(each):
            return Undoing(Reason("it was confirmed again since"))

    def take_back(who: Caller) -> None:
        for each in confirmed:
            confirmations.take_back(who, each.organization, each.subject_kind, each.subject)

    return Undoing(after=take_back)
