"""Judgements on statements: whether they hold from case to case, and whether a later turn took them back."""

from collections.abc import Iterable

import numpy as np

from minutebook.features.summarizer.extractive import TAKEN_BACK, quotes_of, statements_in
from minutebook.features.summarizer.talks import taken_back
from minutebook.memory.access.visibility import Records
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.records import Memory, Turn
from minutebook.text.judged_vectors import LIKELY, chances
from minutebook.text.sentences import sentences


def standing_ids_of(records: Records, memories: Iterable[Memory]) -> set[str]:
    """Return the ids of the memories that are standing statements; those without vectors of the judged model are none."""
    kept = [(memory.id, records.vectors(memory)) for memory in memories]
    return {
        id
        for id, found in kept
        if found is not None
        and chances("standing", np.asarray(found[1][:1]), found[0].name)[0] >= LIKELY
    }


NEXT, LATEST = 16, 32
"""Turns of a project that are searched for one which takes a turn back: the next ones, and the latest. This takes 50 ms."""


def is_taken_back(records: Records, caller: Caller, turn: Turn, text: str) -> bool:
    """Tell whether a passage of a turn has a statement that a later turn of its project took back.

    All sessions of the project are read as one talk. A statement counts as taken back from the chance TAKEN_BACK on, at
    which summaries leave it out.
    """
    view = records.seen_in(turn.organization, without_folder_scope(caller))
    here = view.narrowed(repository=turn.repository, user=turn.user).where(since=turn.at)
    after = here.find(Turn, order=["at"], limit=NEXT)
    talk = _in_order([*after, *here.find(Turn, order=["-at"], limit=LATEST)])
    statements = statements_in(quotes_of(talk, len(talk)))
    passage = " ".join(sentences(text))
    in_passage = [
        index for index, each in enumerate(statements) if not each.by_user and each.text in passage
    ]
    found = taken_back(statements, in_passage).values()
    return any(each.by is not None and each.chance >= TAKEN_BACK for each in found)


def _in_order(turns: Iterable[Turn]) -> list[Turn]:
    return sorted({each.id: each for each in turns}.values(), key=lambda each: (each.at, each.id))
