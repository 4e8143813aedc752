"""More: the pages that are not in the head, with what each is for."""

from minutebook.features.pages.frame.page import Page, View, Visit
from minutebook.features.pages.frame.register import more


def show(visit: Visit) -> Page:
    """List the pages by group."""
    return Page("more.html", {"groups": more(visit)})


VIEWS: dict[tuple[str, str], tuple[str, View]] = {("GET", "/more"): ("more", show)}
