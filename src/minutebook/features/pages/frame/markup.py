"""Turn stored text into markup that does nothing but show it."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from minutebook.features.pages.frame import catalogue
from minutebook.features.pages.frame.catalogue import later_number_of
from minutebook.features.pages.frame.catalogue import text as _
from minutebook.record.control_characters import escaped

LONGEST_MARKDOWN = 50_000
"""Characters up to which a text is read as Markdown; a longer one is shown as it is."""

DATED_FROM = timedelta(days=30)
"""The age from which on the day is shown instead."""

UNITS = (
    (
        timedelta(days=1),
        later_number_of("{count} day ago", "{count} days ago"),
        later_number_of("{count} day", "{count} days"),
    ),
    (
        timedelta(hours=1),
        later_number_of("{count} hour ago", "{count} hours ago"),
        later_number_of("{count} hour", "{count} hours"),
    ),
    (
        timedelta(minutes=1),
        later_number_of("{count} minute ago", "{count} minutes ago"),
        later_number_of("{count} minute", "{count} minutes"),
    ),
)
"""Units of time, the largest first, with the words for how long ago, and for how long."""

_BACKQUOTED = re.compile("`([^`]+)`")

_LEADS_AWAY = re.compile("(?:https?|mailto):", re.IGNORECASE)


class _Markdown(MarkdownIt):
    """Makes links to web pages and addresses only: none to another scheme, this machine or our own pages."""

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return _LEADS_AWAY.match(url) is not None


_MARKDOWN = (
    _Markdown("commonmark", {"html": False, "maxNesting": 20})
    .enable(["table", "strikethrough"])
    # A picture would be fetched from another host, and could tell it who reads.
    .disable("image")
)


def visible(text: str) -> str:
    r"""Write control and bidirectional characters as escapes (`\x1b`), but line ends and tabs."""
    return escaped(text.replace("\r\n", "\n"), keep="\n\t")


def markdown(text: str) -> Markup:
    """Render stored Markdown without HTML, pictures, or links that run script."""
    text = visible(text)
    if len(text) > LONGEST_MARKDOWN:
        return Markup('<pre class="plain">{}</pre>').format(text)
    tokens = _MARKDOWN.parse(text)
    _mark_links(tokens)
    return Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))  # noqa: S704 - escaped by the renderer


def _mark_links(tokens: Sequence[Token]) -> None:
    """Have links tell nobody where they were followed, and headings stand below the page's own."""
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
        for child in token.children or ():
            if child.type == "link_open":
                child.attrs["rel"] = "noopener noreferrer nofollow"


def moment(instant: datetime | None, *, exact: bool = False) -> Markup:
    """Show an instant in UTC as `<time>`, which script turns to local time; the exact one on hover."""
    if instant is None:
        return Markup("–")
    utc = instant.astimezone(UTC)
    day = utc.strftime(catalogue.spoken().day)
    shown = f"{day} {utc:%H:%M:%S}" if exact else f"{day} {utc:%H:%M}"
    return Markup('<time datetime="{}" title="{} UTC">{} UTC</time>').format(
        utc.isoformat(), f"{day} {utc:%H:%M:%S.%f}", shown
    )


def age(instant: datetime) -> Markup:
    """Show how long ago an instant was, or its day where that is a month or more; the exact one on hover."""
    passed = datetime.now(UTC) - instant
    utc = instant.astimezone(UTC)
    if not timedelta() <= passed < DATED_FROM:
        shown = utc.strftime(catalogue.spoken().day)
    else:
        shown = _counted(passed, 0) or _("just now")
    return Markup('<time datetime="{}" title="{:%Y-%m-%d %H:%M:%S} UTC" data-age>{}</time>').format(
        utc.isoformat(), utc, shown
    )


def lasted(span: timedelta) -> str:
    """Say how long something took; empty below a minute."""
    return _counted(span, 1)


def _counted(span: timedelta, words: int) -> str:
    """Count a span in its largest unit, in the words at a place of UNITS; empty below a minute."""
    for unit, *texts in UNITS:
        if span >= unit:
            return texts[words](span // unit)
    return ""


def clock(instant: datetime) -> Markup:
    """Show the time of the day at which an instant is here, which script turns to that of the browser."""
    here = instant.astimezone()
    return Markup('<time datetime="{}" data-clock>{:%H:%M}</time>').format(here.isoformat(), here)


def weekday(begin: datetime) -> Markup:
    """Show a day as Friday, 27 November; in another language than English script puts it so."""
    spoken = catalogue.spoken()
    if spoken is not catalogue.ENGLISH:
        return Markup('<time datetime="{}" data-weekday>{}</time>').format(
            f"{begin:%Y-%m-%dT00:00}", begin.strftime(spoken.day)
        )
    year = "" if begin.year == datetime.now(UTC).year else f" {begin.year}"
    return escape(f"{begin:%A}, {begin.day}\N{NO-BREAK SPACE}{begin:%B}{year}")


def day(iso: str) -> str:
    """Show a day that is written as 2026-01-31 in the way of the reader's language."""
    return date.fromisoformat(iso).strftime(catalogue.spoken().day)


def with_commands(text: object) -> Markup:
    """Show the parts between backquotes in a text as code: commands and names."""
    parts = _BACKQUOTED.split(visible(str(text)))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part)
        for at, part in enumerate(parts)
    )


def percent(part: float) -> str:
    """Show a part of one as a percentage."""
    return f"{part * 100:.0f}{catalogue.spoken().percent}"


def shown(value: object) -> object:
    """Make every text that a template shows visible; markup stays as it is."""
    return visible(value) if type(value) is str else value


def marked(parts: Sequence[tuple[str, bool]]) -> Markup:
    """Join parts of a text, those that are to stand out within `<mark>`."""
    return Markup("").join(
        Markup("<mark>{}</mark>").format(visible(part)) if stands_out else escape(visible(part))
        for part, stands_out in parts
    )
