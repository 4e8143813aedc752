"""The pages of the core's records, as the feature registers them."""

from minutebook.features.pages.frame.catalogue import later
from minutebook.features.pages.frame.host import Host
from minutebook.features.pages.frame.page import (
    LOOK_CLOSER,
    THE_STORE,
    WHAT_HAPPENS,
    Events,
    MenuEntry,
    Pages,
)
from minutebook.features.pages.views import (
    activity,
    find,
    graph,
    health,
    memories,
    sessions,
    settings,
    today,
)
from minutebook.features.pages.views.live import Live


def _live(host: Host) -> Events:
    return Live(host).begin


PAGES = Pages(
    views=(
        today.VIEWS,
        find.VIEWS,
        memories.VIEWS,
        sessions.VIEWS,
        graph.VIEWS,
        activity.VIEWS,
        health.VIEWS,
        settings.VIEWS,
    ),
    menu=(
        MenuEntry(0, "/today", later("Today")),
        MenuEntry(10, "/find", later("Find")),
        MenuEntry(20, "/sessions", later("Sessions")),
        MenuEntry(
            60,
            "/graph",
            later("Graph"),
            LOOK_CLOSER,
            later("The people, parts and tools that memories name, and how they belong together."),
            graph.has_things,
        ),
        MenuEntry(
            90,
            "/activity",
            later("Activity"),
            WHAT_HAPPENS,
            later("Who kept, changed or removed what, as it happens; it can be proved."),
        ),
        MenuEntry(
            100,
            "/health",
            later("Health"),
            THE_STORE,
            later("How much is kept, whether all is in order, and backups."),
        ),
        MenuEntry(
            110,
            "/settings",
            later("Settings"),
            THE_STORE,
            later("Your language, who may come in and do what, and which rules hold."),
        ),
    ),
    streams={"/activity/live": _live},
)
