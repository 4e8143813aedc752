"""How much waits for a person."""

from collections.abc import Iterator, Mapping

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.day import DayPart, DaySpan, DayTopic
from minutebook.domain.reason import Reason, counted
from minutebook.features.tidying.findings import FINDINGS, Topic

_OF_THEIR_OWN = (Topic.RULE, Topic.PROPOSAL, Topic.CLASH, Topic.UNVERIFIED, Topic.DRAFT)


def waiting(app: App, caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    """Yield the counts of all that waits by now, whatever the span."""
    from minutebook.features.tidying.review import Review

    found = app.get(Review).page(caller, 0).counts
    findings = set(FINDINGS) - set(_OF_THEIR_OWN)
    suggestions = sum(count for topic, count in found.items() if topic in findings)
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
