"""The sentences of errors and notes in the reader's language: known by the English ones, which agents get too.

An error carries its reason in English, and so does a note of an answer. A page looks for the sentence here, takes out of it what stands
in the place of the `{names}`, and says it anew. A sentence that is not here stays as it is.
"""

import re
from collections.abc import Mapping
from functools import cache

from minutebook.domain.caller import Note
from minutebook.services.access.provenance import PROVENANCE
from minutebook.web.catalogue import later, spoken, text
from minutebook.web.words import word

_REFUSALS = (
    *(
        later("the organization {name} is not the caller's"),
        later("the user {name} is not the caller"),
    ),
    later("the repository {name} is not the caller's"),
    later("this connection is held to the user {name}"),
    later("this connection is held to several repositories; name one"),
    later(
        "the scope organization is beyond this token, which names repositories; whose token names none may"
    ),
    later("system scope is not written through this door; `minutebook system write` does"),
    later("the role viewer may only read"),
    later("the role agent may not verify; a human may"),
    later("the role agent may not erase; a person may"),
    later("the role agent may not {act} suggestions; a human may"),
    later("the role {role} may not write system scope here; a manager may"),
    later("the role {role} may not {act}; a manager may"),
    later("the role {role} may not {act}; an admin may"),
    later("the type {type} is kept from agents; a person may"),
    later("the scope {scope} is kept from agents; a person may"),
    later("locked by the role {role}, which outranks {own}"),
    later("locked by the role {role}"),
    later("the memory {id} is locked and names it as its successor"),
    later("a locked memory is there and names it as its successor"),
    later("written by {name}; an agent deletes only its own"),
    later("a person replaces the secrets in what others wrote"),
    later("tokens are made where the data directory is; `minutebook token create` does"),
    later("an admin who is held to no repository and no user may see what another caller sees"),
    later(
        "the trail is of a whole organization, and this caller is held to a repository or a user; "
        "leave out --repository and --user"
    ),
    later(
        "the trail is of a whole organization, and this caller is held to a repository or a user; "
        "ask its owner for a token that is held to neither"
    ),
    later("{count} are active on one target ({targets}); a person chooses"),
    later("{id} was decided by a person; a person may"),
    later(
        "it concerns all organizations; its owner may, and an admin's token that is held to none"
    ),
    later("it holds all organizations; its owner may, and an admin's token that is held to none"),
    later(
        "its owner may, at this page as `minutebook ui` opens it, or by `minutebook doctor --repair`"
    ),
    later("its review is not over"),
    later("the secret is another one"),
    later("wrong secrets were given before"),
    later(
        "the secret is not given: start this process with AGENT_MEMORY_SECRET, or the setting "
        "agent_memory_secret; it is one secret for all servers of a store"
    ),
    later("a token is needed here"),
    later("this browser is signed out"),
)

_CONFLICTS = (
    *(later("it is not locked"), later("it has no end"), later("it is {status}")),
    *(later("it is {status} by {id}"), later("it is {status}, not declined")),
    *(later("it was {status} already"), later("it was {status} already as {id}")),
    later("it is not deleted; name the version whose text is to return"),
    later("another memory took its place"),
    later("a memory cannot be linked to itself"),
    later("a memory cannot be superseded by itself or its past"),
    later("it belongs to another organization than {id}"),
    later("it belongs to the organization {name}"),
    later("no link {type} leads from it to {id}"),
    later("no memory moves into system scope or out of it; write it anew"),
    later("this id is taken; leave it out to get a new one"),
    later("it was revoked already; make another by `minutebook token create`"),
    later("name the decision that is superseded"),
    later("it is active on this target as well ({target}); supersede it too"),
    later("it is on another target, {target}"),
    later("it concerns another repository or user than the first that is named"),
)

_INPUTS = (
    *(later("must not be empty"), later("must not be blank"), later("must be an instant")),
    *(later("must be a text"), later("must be a number"), later("must lie in the future")),
    *(later("must be given"), later("must be earlier than until")),
    later("must be later than the memory begins to hold"),
    later("must be one of {names} (got {given})"),
    later("must be newer, older or both (got {given})"),
    later("must be one of {names}"),
    later("must be a day or a time, such as 2026-01-31 (got {given})"),
    later("must be a number from 1 to {most} (got {given})"),
    later("must be a number of 0 or more (got {given})"),
    later("must be a number of 1 or more (got {given})"),
    later("must be a number of days (got {given})"),
    later("must be a mark of this page; reload it"),
    later("must name {most} things at most (got {count})"),
    later("must be named for a memory of repository scope"),
    later("must be system in the organization {name}"),
    later("must be whole characters (one is half of one)"),
    later("must hold no control characters and no half characters"),
    later("must have 1 to {most} printable characters, no space at its ends"),
    later("must have 1 to {most} characters"),
    later("must have at least {least} characters"),
    later("must have at most {most} characters (it has {count})"),
    later(
        "must have at most {most} characters once ligatures and symbols are written out "
        "(it has {count})"
    ),
    later("must name one at least, or be left out for any"),
    later("must name at least one decision"),
    later("must not be {name}, which stands for anybody"),
    later("must not be {name}, nobody's home"),
)

_NOTES = (
    later("No code here is about that."),
    later("No decision here is about that."),
    later("Nothing here is about that."),
    later(
        "Found by words alone: the embedding model is still loading; ask again soon to find by "
        "meaning too."
    ),
    later("Found by words alone: the embedding model cannot be used ({name})."),
    later("{count} records were compared by words alone: their vectors are still to come."),
)

SENTENCES = tuple(each.message for each in (*_REFUSALS, *_CONFLICTS, *_INPUTS, *_NOTES))

_WORDS = frozenset({"role", "own", "type", "scope", "status", "act"})
"""The names in whose place a record's word stands, which is said in the reader's language too."""

_NAME = re.compile(r"\{(\w+)\}")


def said(sentence: str) -> str:
    """Say an error's English sentence in the reader's language; one that is not known stays as it is."""
    if spoken().code == "en":
        return sentence
    for message, pattern in _patterns():
        if found := pattern.fullmatch(sentence):
            values = {
                name: word(value) if name in _WORDS else value
                for name, value in found.groupdict().items()
            }
            return text(message, **values)
    return sentence


def notes_said(notes: Mapping[str, Note]) -> dict[str, str]:
    """Return what is to be said to a person beside an answer, in their language; nothing that is for agents."""
    return {
        # An agent needs to know how much was looked through; a person sees it on other pages.
        name: said(f"{note.text.partition('.')[0]}." if note.leads else note.text)
        for name, note in notes.items()
        if note.text and name != PROVENANCE
    }


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return for each sentence what recognizes it; those that say most themselves come first."""
    ordered = sorted(SENTENCES, key=lambda each: -len(_NAME.sub("", each)))
    return tuple((each, re.compile(_expression(each), re.DOTALL)) for each in ordered)


def _expression(message: str) -> str:
    parts = _NAME.split(message)
    return "".join(
        f"(?P<{part}>.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts)
    )
