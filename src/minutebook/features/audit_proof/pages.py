"""The proof of the trail, on a page."""

from minutebook.features.pages.frame.page import Page, Pages, View, Visit


def prove(visit: Visit) -> Page:
    """Verify the trail of each organization, entry by entry. Raises Forbidden as the page of the trail does."""
    from minutebook.features.audit_proof.audit_proof import TrailProving

    proofs = visit.app.get(TrailProving).prove(visit.caller)
    return Page("audit_proof/proof.html", {"proofs": proofs})


VIEWS: dict[tuple[str, str], tuple[str, View]] = {("GET", "/activity/proof"): ("proof", prove)}

PAGES = Pages(views=(VIEWS,))
