"""The words of records that pages say in the reader's language: kinds, types, statuses, scopes, roles."""

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
)

WORDS = {each.message: each for each in _MARKED}


def word(value: str) -> str:
    """Say a record's word in the reader's language; one that is not known stays as it is."""
    found = WORDS.get(value)
    return str(value) if found is None else str(found)
