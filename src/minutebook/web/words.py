"""The words of records that pages say in the reader's language: kinds, types, statuses, scopes, roles, acts, states."""

from minutebook.web.catalogue import later

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

OUTCOMES = tuple(each.message for each in _OUTCOMES)
"""How an act ends on the trail: done, or refused for which reason."""

ON_THE_TRAIL = ("link", *(each.message for each in _ACTS if " " not in each.message))
"""The acts that people look for on the trail."""

WORDS = {each.message: each for each in (*_MARKED, *_ACTS, *_OUTCOMES)}


def word(value: str) -> str:
    """Say a record's word in the reader's language; one that is not known stays as it is."""
    found = WORDS.get(value)
    return str(value) if found is None else str(found)
