"""The records in a prompt of the `knowledge` contract: pairs to be worded as one."""

import json
from collections.abc import Mapping

from minutebook.app import App
from minutebook.contracts.resources import PromptData
from minutebook.domain.caller import Caller
from minutebook.domain.records import MemoryType
from minutebook.features.tidying.judging.wordings import MERGES
from minutebook.features.tidying.wordings import wordable
from minutebook.services.access.provenance import words_of

MOST_PAIRS = 10
"""How many pairs one prompt gives to be worded."""

NOTHING = "(none: nothing that is kept twice waits here)"

_TYPES = (MemoryType.EPISODIC, MemoryType.SEMANTIC, MemoryType.PROCEDURAL)


def pairs_to_word(app: App, caller: Caller) -> str:
    """Return the pairs of memories that wait as duplicates, one JSON object a line."""
    from minutebook.features.tidying.inbox import Inbox

    lines = []
    for pair in wordable(app.get(Inbox), app.doors, caller, MOST_PAIRS):
        type, user = pair[0].type, pair[0].user
        type = type if type in _TYPES else MemoryType.SEMANTIC
        arguments = {"memory_type": type, "metadata": {MERGES: [memory.id for memory in pair]}}
        if user is not None:
            arguments["user_id"] = user
        texts = [{"written_by": words_of(memory), "text": memory.text} for memory in pair]
        lines.append(json.dumps({"texts": texts, "arguments": arguments}, ensure_ascii=False))
    return "\n".join(lines) or NOTHING


PROMPTS: Mapping[str, PromptData] = {"word-what-is-kept-twice": pairs_to_word}
