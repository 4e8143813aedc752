"""The proof of the trail, on a page."""

from minutebook.features.pages.frame.page import Page, Pages, View, Visit


def prove(visit: Visit) -> Page:
    """Show the proof of each organization's trail. Raises Forbidden if the caller may not read the trail."""
    from minutebook.features.audit_proof.audit_proof import TrailProving

    proofs = visit.app.get(TrailProving).prove(visit.caller)
    return Page("audit_proof/proof.html", {"proofs": proofs})


VIEWS: dict[tuple[str, str], tuple[str, View]] = {("GET", "/activity/proof"): ("proof", prove)}

PAGES = Pages(views=(VIEWS,))
