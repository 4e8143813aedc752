"""Judgements on statements: which hold from case to case, and which a later turn took back."""

from collections.abc import Iterable

import numpy as np

from minutebook.features.summarizer.extractive import TAKEN_BACK, quotes_of, said_of
from minutebook.features.summarizer.talks import taken_back
from minutebook.memory.access.visibility import Records
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.records import Memory, Turn
from minutebook.text.judged_vectors import LIKELY, chances
from minutebook.text.sentences import sentences


def standing(records: Records, memories: Iterable[Memory]) -> set[str]:
    """Return the ids of the memories that are standing statements, as far as they have vectors of the model that the weights are for."""
    kept = [(memory.id, records.vectors(memory)) for memory in memories]
    return {
        id
        for id, found in kept
        if found is not None
        and chances("standing", np.asarray(found[1][:1]), found[0].name)[0] >= LIKELY
    }


NEXT, LATEST = 16, 32
"""Turns of the project after one, and of its latest ones, that may take it back: a hook has some 50 ms for this."""


def is_taken_back(records: Records, caller: Caller, turn: Turn, text: str) -> bool:
    """Tell whether a passage of a turn holds a statement that a later turn of its project took back.

    The sessions of a project are read as one talk. A statement counts from the chance on from which no summary tells it, if
    there is a later one that takes it back.
    """
    view = records.seen_in(turn.organization, without_folder_scope(caller))
    here = view.narrowed(repository=turn.repository, user=turn.user).where(since=turn.at)
    after = here.find(Turn, order=["at"], limit=NEXT)
    talk = _in_order([*after, *here.find(Turn, order=["-at"], limit=LATEST)])
    said = said_of(quotes_of(talk, len(talk)))
    passage = " ".join(sentences(text))
    asked = [index for index, each in enumerate(said) if not each.by_user and each.text in passage]
    found = taken_back(said, asked).values()
    return any(each.by is not None and each.chance >= TAKEN_BACK for each in found)


def _in_order(turns: Iterable[Turn]) -> list[Turn]:
    return sorted({each.id: each for each in turns}.values(), key=lambda each: (each.at, each.id))
