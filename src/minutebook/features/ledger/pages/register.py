"""The pages of decisions, as the feature registers them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from minutebook.app import App
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.pages import decisions
from minutebook.features.ledger.search import DecisionHit, DecisionMode, DecisionSearch
from minutebook.features.pages.explained import EXCERPT, Explained
from minutebook.features.pages.frame.catalogue import later
from minutebook.features.pages.frame.page import FindKind, MenuEntry, Pages, Visit
from minutebook.record.caller import Caller
from minutebook.text.excerpt import excerpt_and_words, sought_terms


def _search(visit: Visit, text: str, limit: int) -> Sequence[Explained]:
    search = visit.app.get(DecisionSearch)
    return explained(text, search.search(visit.caller, text, DecisionMode.AUDIT, limit))


def explained(query: str, found: Sequence[DecisionHit]) -> list[Explained]:
    """Return decisions and proposals as *Find* shows them, each with the reason why it was found, in their order."""
    terms, hits = sought_terms(query), []
    for each in found:
        said, words = excerpt_and_words(each.record.rationale, each.record.text, terms, EXCERPT)
        hit = Explained(each.record, each.hit, {}, said, words, each.relevance)
        hits.append(replace(hit, followed=each.followed))
    return hits


def secret(app: App, caller: Caller, may_issue: bool) -> Mapping[str, Any] | None:  # noqa: FBT001 - as the page asks
    """Return whether a secret is pinned, to those who may make tokens."""
    return {"is_set": app.get(ApprovalSecret).is_set} if may_issue else None


PAGES = Pages(
    views=(decisions.VIEWS,),
    menu=(MenuEntry(30, "/decisions", later("Decisions")),),
    kinds=(FindKind(20, "decisions", later("Decisions"), _search),),
)
