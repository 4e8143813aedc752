"""Suggestions."""

from minutebook.features.tidying.findings import State, Suggestion, Topic
from minutebook.features.tidying.rows import TidyRows
from minutebook.record.records import Kind
from minutebook.store.protocol import Tended
from tests.store.samples import START


def suggested(id: str, organization: str = "acme", **said: object) -> Suggestion:
    facts = {"finding": Topic.DUPLICATE, "certainty": 0.75, "subjects": ((Kind.MEMORY, "a\ud800"),)}  # fmt: skip
    return Suggestion(organization=organization, id=id, found_at=START, **{**facts, **said})  # type: ignore[arg-type]


def write_suggestions(store: Tended) -> None:
    """Have an engine do all that tidying asks of it."""
    tidying = TidyRows(store.database)
    found = Suggestion(
        organization="acme",
        id="a",
        finding=Topic.DUPLICATE,
        certainty=1.0,
        subjects=((Kind.MEMORY, "a"), (Kind.MEMORY, "b")),
        found_at=START,
    )
    for suggestion in tidying.add("acme", [found]):
        tidying.put(suggestion)
    tidying.known("acme", ["a"])
    tidying.numbered("acme", 1)
    list(tidying.everything("acme", State.OPEN))
    tidying.due("acme", START, 3)
    list(tidying.everything("acme"))
    tidying.remove("acme", "a")
