"""Statements that hold from case to case: habits, rules and preferences, by the vectors that their memories have."""

from collections.abc import Iterable

import numpy as np

from minutebook.domain.records import Memory
from minutebook.language.judged_vectors import LIKELY, chances
from minutebook.services.access.visibility import Records


def standing(records: Records, memories: Iterable[Memory]) -> set[str]:
    """Return the ids of the memories that are standing statements, as far as they have vectors of the model that the weights are for."""
    kept = [(memory.id, records.vectors(memory)) for memory in memories]
    return {
        id
        for id, found in kept
        if found is not None
        and chances("standing", np.asarray(found[1][:1]), found[0].name)[0] >= LIKELY
    }
