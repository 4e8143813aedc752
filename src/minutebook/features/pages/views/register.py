"""The pages of the core's records, as the feature registers them."""

from minutebook.features.pages.frame.catalogue import later
from minutebook.features.pages.frame.host import Host
from minutebook.features.pages.frame.page import Events, MenuEntry, Pages
from minutebook.features.pages.views import (
    activity,
    find,
    graph,
    health,
    memories,
    sessions,
    settings,
    timeline,
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
        timeline.VIEWS,
        activity.VIEWS,
        health.VIEWS,
        settings.VIEWS,
    ),
    menu=(
        MenuEntry(0, "/today", later("Today")),
        MenuEntry(10, "/find", later("Find")),
        MenuEntry(40, "/sessions", later("Sessions")),
        MenuEntry(60, "/graph", later("Graph")),
        MenuEntry(70, "/time", later("Time")),
        MenuEntry(90, "/activity", later("Activity")),
        MenuEntry(100, "/health", later("Health")),
        MenuEntry(110, "/settings", later("Settings")),
    ),
    streams={"/activity/live": _live},
)
