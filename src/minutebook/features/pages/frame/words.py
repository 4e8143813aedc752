"""The words of records, and the reasons of errors and notes, in the reader's language."""

from enum import Enum
from string import Formatter
from typing import Any

from minutebook.domain.reason import Reason, Word
from minutebook.features.pages.frame.catalogue import later, text, with_marks

_MARKED = (
    *(later("memory"), later("entity"), later("decision"), later("proposal"), later("session")),
    *(later("turn"), later("project"), later("token")),
    *(later("episodic"), later("semantic"), later("procedural"), later("fact")),
    *(later("business_rule"), later("decision_log"), later("preference"), later("task")),
    *(later("system_constraint"), later("documentation"), later("tech_stack"), later("risk")),
    *(later("architecture"), later("user_context"), later("convention")),
    *(later("draft"), later("active"), later("unverified"), later("verified"), later("locked")),
    *(later("deprecated"), later("superseded"), later("withdrawn"), later("pending")),
    *(later("accepted"), later("declined")),
    *(later("system"), later("organization"), later("repository"), later("user")),
    *(later("viewer"), later("agent"), later("human"), later("manager"), later("architect")),
    later("admin"),
    *(later("version"), later("relation"), later("link"), later("mention"), later("entry")),
    *(later("summary"), later("file"), later("ledger"), later("entity or memory")),
    *(later("bugfix"), later("feature"), later("refactoring"), later("new-app")),
    *(later("analysis"), later("other"), later("quality"), later("productivity")),
    *(later("impact"), later("complexity"), later("indexing"), later("completed")),
    *(later("failed"), later("ready"), later("loading"), later("error"), later("off")),
    *(later("open"), later("governed")),
)

_ACTS = (
    *(later("accept"), later("archive"), later("audit"), later("create"), later("decline")),
    *(later("delete"), later("deprecate"), later("enter"), later("export"), later("import")),
    *(later("index"), later("invalidate"), later("issue"), later("lock"), later("look as")),
    *(later("mask"), later("propose"), later("read"), later("rebuild"), later("record")),
    *(later("reinstate"), later("relate"), later("reopen"), later("reset"), later("restore")),
    *(later("summarize"), later("supersede")),
    *(later("unlink"), later("unlock"), later("update"), later("use"), later("verify")),
    *(later("write"), later("set_secret"), later("mode"), later("look as another caller")),
    *(later("created"), later("add_turn"), later("remove"), later("create_token")),
    *(later("revoke_token"), later("rotate_token")),
    *(later("start the database"), later("stop the database"), later("mend the store")),
    *(later("examine the store"), later("back up the store")),
    later("delete the successor of a memory"),
)

_OUTCOMES = (
    *(later("done"), later("Conflict"), later("Forbidden"), later("GuessedTooOften")),
    *(later("Locked"), later("NotFound"), later("ScopeViolation"), later("UnderReview")),
    *(later("Unidentified"), later("WrongSecret")),
)

_IN_REASONS = (
    *(later("apply"), later("change"), later("erase"), later("merge"), later("refuse")),
    *(later("split"), later("tidy"), later("undo"), later("suggestion"), later("applied")),
    *(later("refused"), later("none"), later("no repository"), later("rolled back")),
    *(later("the text"), later("scope"), later("act"), later("waiting")),
)
"""What reasons name besides."""

_CAUSES = (
    *(later("No such file or directory"), later("Permission denied"), later("File exists")),
    *(later("Operation not permitted"), later("Not a directory"), later("Is a directory")),
    *(later("No space left on device"), later("Disk quota exceeded"), later("Input/output error")),
    *(later("Read-only file system"), later("Too many open files"), later("File too large")),
    *(later("Directory not empty"), later("File name too long"), later("Device or resource busy")),
)
"""What an operating system says of files, as far as it is usual."""

OUTCOMES = tuple(each.message for each in _OUTCOMES)
"""How an act ends on the trail: done, or refused for which reason."""

ON_THE_TRAIL = ("link", *(each.message for each in _ACTS if " " not in each.message))
"""The acts that people look for on the trail."""

WORDS = {each.message: each for each in (*_MARKED, *_ACTS, *_OUTCOMES, *_IN_REASONS, *_CAUSES)}


def word(value: str) -> str:
    """Say a record's word in the reader's language; one that is not known stays as it is."""
    found = WORDS.get(value)
    return str(value) if found is None else str(found)


def said(reason: str) -> str:
    """Say a reason in the reader's language; a text that is none stays as it is."""
    if not isinstance(reason, Reason) or not reason:
        return reason
    template = text(reason.template)
    return _FILLED.vformat(template, (), reason.values) if reason.values else template


class _Filled(Formatter):
    """Puts the values of a reason into its template as the reader's language writes them."""

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        value = super().get_value(key, args, kwargs)
        match value:
            case Reason():
                return said(value)
            case Word() | Enum():
                return word(str(value))
            case _:
                return value

    def format_field(self, value: Any, format_spec: str) -> str:
        written = format(value, format_spec)
        return with_marks(written) if isinstance(value, int | float) else written


_FILLED = _Filled()
