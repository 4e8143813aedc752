"""The functions of this feature that the core calls: the pairs that a new memory makes, the counts of *Today*, undoing, the records of a prompt."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from minutebook.app import App
from minutebook.features.tidying.findings import FINDINGS, State, Topic
from minutebook.memory.access.provenance import provenance_phrase
from minutebook.record.caller import Caller
from minutebook.record.day import DayPart, DaySpan, DayTopic
from minutebook.record.reason import Reason, counted
from minutebook.record.records import Memory, MemoryType, TextRecord
from minutebook.record.trust.done_acts import DoneAct, Undoing

if TYPE_CHECKING:
    from minutebook.serve.contracts.resources import PromptData


def suggest_pairs(app: App, caller: Caller, record: TextRecord) -> None:
    """Suggest to end one memory of each pair of the memory just written and one that it was found to be similar to."""
    similar = caller.call.notes.get("similar")
    if similar is not None and isinstance(record, Memory):
        from minutebook.features.tidying.looking.rounds import Rounds

        memories = similar.facts["memories"]
        assert isinstance(memories, list)
        app.get(Rounds).suggest(record, [each["id"] for each in memories])


def waiting(app: App, caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    """Yield the counts of all items that are open now, whatever the span."""
    from minutebook.features.tidying.review import Review

    found = app.get(Review).page(caller, 0).counts
    suggestions = sum(found[topic] for topic in FINDINGS)
    counts = [*_counts(found)]
    if suggestions:
        counts.append(counted("{count:,} suggestion", "{count:,} suggestions", suggestions))
    remedy = Reason("See `minutebook tidy`.") if counts else ""
    yield DayPart(DayTopic.WAITS, counts, (), remedy)


def _counts(found: Mapping[Topic, int]) -> Iterator[str]:
    said = {
        Topic.RULE: counted("{count:,} rule", "{count:,} rules", found.get(Topic.RULE, 0)),
        Topic.PROPOSAL: counted(
            "{count:,} proposed decision",
            "{count:,} proposed decisions",
            found.get(Topic.PROPOSAL, 0),
        ),
        Topic.CLASH: counted(
            "{count:,} contradiction of decisions",
            "{count:,} contradictions of decisions",
            found.get(Topic.CLASH, 0),
        ),
        Topic.UNVERIFIED: counted(
            "{count:,} unverified memory",
            "{count:,} unverified memories",
            found.get(Topic.UNVERIFIED, 0),
        ),
        Topic.DRAFT: counted("{count:,} draft", "{count:,} drafts", found.get(Topic.DRAFT, 0)),
    }
    return (text for topic, text in said.items() if found.get(topic))


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Return how an act on suggestions is undone: those that it settled are opened again; else a command for the person."""
    from minutebook.features.tidying.inbox import Inbox, name_of

    inbox = app.get(Inbox)
    found = inbox.settled(act)
    settled = [each for each in found if each.state is not State.OPEN]
    if settled:
        return Undoing(after=lambda who: inbox.reopen(who, settled))
    if found:
        number = " ".join(name_of(caller, each) for each in found)
        return Undoing(Reason("`minutebook tidy apply {number}` applies it again", number=number))
    return None


MOST_PAIRS = 10
"""The most pairs in one prompt."""

NOTHING = "(none: nothing that is kept twice waits here)"

_TYPES = (MemoryType.EPISODIC, MemoryType.SEMANTIC, MemoryType.PROCEDURAL)


def pairs_to_word(app: App, caller: Caller) -> str:
    """Return the pairs of memories that wait as duplicates, one JSON object on each line."""
    from minutebook.features.tidying.inbox import Inbox
    from minutebook.features.tidying.judging.wordings import MERGES
    from minutebook.features.tidying.wordings import wordable

    lines = []
    for pair in wordable(app.get(Inbox), app.doors, caller, MOST_PAIRS):
        type, user = pair[0].type, pair[0].user
        type = type if type in _TYPES else MemoryType.SEMANTIC
        arguments = {"memory_type": type, "metadata": {MERGES: [memory.id for memory in pair]}}
        if user is not None:
            arguments["user_id"] = user
        texts = [{"written_by": provenance_phrase(memory), "text": memory.text} for memory in pair]
        lines.append(json.dumps({"texts": texts, "arguments": arguments}, ensure_ascii=False))
    return "\n".join(lines) or NOTHING


PROMPTS: "Mapping[str, PromptData]" = {"word-what-is-kept-twice": pairs_to_word}
