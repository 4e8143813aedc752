"""Errors in words for a page: a status, a headline, the cause, the remedy."""

from collections.abc import Mapping
from dataclasses import dataclass

from minutebook.features.pages.frame.catalogue import Later, later
from minutebook.features.pages.frame.catalogue import text as _
from minutebook.features.pages.frame.words import said, word
from minutebook.memory.access.provenance import PROVENANCE
from minutebook.record.caller import Note
from minutebook.record.errors import (
    Conflict,
    Decided,
    EmbeddingNotReady,
    Fault,
    Forbidden,
    GuessedTooOften,
    InvalidInput,
    KeysUnavailable,
    LedgerError,
    Locked,
    MinutebookError,
    ModelUnavailable,
    NotFound,
    Refused,
    StoreBusy,
    StoreError,
    UnderReview,
    Unidentified,
)
from minutebook.record.reason import Reason
from minutebook.text.answerability import Verdict

VERDICTS: dict[Verdict, Later] = {
    Verdict.LIKELY: later("likely"),
    Verdict.POSSIBLE: later("possible"),
    Verdict.UNLIKELY: later("unlikely"),
}
"""The words for how likely a hit answers."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error for a page: its HTTP status, a headline, the cause, the remedy."""

    status: int
    title: str
    reason: str
    remedy: str = ""


def trouble_of(error: MinutebookError) -> Trouble:
    """Return an error in words for a page."""
    sentence, remedy = error.sentence, ""
    match error:
        case NotFound():
            title = _("Not here")
            sentence = Reason("{sentence}, or none that you may see", sentence=sentence)
            remedy = _("It may have been removed since the link was made. Search for it.")
        case Refused():
            title, remedy = _refusal(error)
        case Decided(target=target, id=id):
            title, remedy = _("Decided already"), _("Supersede that one.")
            sentence = Reason("{target} has an active decision already: {id}", target=target, id=id)
        case Conflict():
            title = _("It is not as it was")
        case InvalidInput():
            title = _("That cannot be read")
        case Unidentified():
            title = _("Sign in again")
        case Fault():
            title = _("A mistake of Minutebook's")
        case LedgerError(reason=sentence):
            title, remedy = _("The decisions cannot be read or written"), _as_sentence(error.remedy)
        case _:
            title, remedy = _unavailable(error)
    return Trouble(error.status, title, _as_sentence(sentence), remedy)


def notes_said(notes: Mapping[str, Note]) -> dict[str, str]:
    """Return the notes on an answer in the reader's language, without those for agents."""
    # A note for agents says how much was searched; a person sees that on other pages.
    return {
        name: said(getattr(note.text, "values", {}).get("said", note.text))
        for name, note in notes.items()
        if note.text and name != PROVENANCE
    }


def _refusal(error: Refused) -> tuple[str, str]:
    """Return the headline of a refusal, and the remedy."""
    match error:
        case UnderReview():
            return _("Still under review"), ""
        case GuessedTooOften():
            return _("Too many wrong secrets"), ""
        case Locked(needs=needs):
            role = word(needs or "manager")
            return _("Locked"), _("Someone with the role {role} may unlock it.", role=role)
    title = _("Your role may not") if isinstance(error, Forbidden) else _("Not in your scope")
    if error.needs is None:
        return title, ""
    return title, _("Someone with the role {role} may.", role=word(error.needs))


def _unavailable(error: MinutebookError) -> tuple[str, str]:
    """Return the headline and the remedy for an error of the store, the model or the server."""
    match error:
        case StoreBusy():
            return _("Others are writing"), _("Nothing was changed. Try again in a moment.")
        case StoreError():
            title = _("The store cannot be used")
            return title, _("`minutebook doctor` tells what is wrong and how to mend it.")
        case EmbeddingNotReady(state="loading"):
            title = _("The model is loading")
            return title, _("Nothing was changed. Try again in some seconds.")
        case EmbeddingNotReady() | ModelUnavailable():
            title = _("The model cannot be used")
            return title, _("`minutebook doctor` tells what is wrong and how to mend it.")
        case KeysUnavailable():
            return _("Nobody can be identified now"), _("The log of the server tells why.")
        case _:
            return _("That did not work"), ""


def _as_sentence(reason: Reason) -> str:
    """Return a reason as a sentence, with a capital letter and a full stop."""
    words = said(reason).strip()
    if not words:
        return words
    return words[0].upper() + words[1:] + ("" if words[-1] in ".!?…" else ".")
