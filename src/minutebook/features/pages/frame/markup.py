"""Turn stored text and values into safe markup."""

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
"""The most characters of a text that is rendered as Markdown; a longer one is shown as plain text."""

DATED_FROM = timedelta(days=30)
"""The age from which the day is shown in place of the age."""

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
"""Units of time, the largest first, each with the texts for an age and for a duration."""

_BACKQUOTED = re.compile("`([^`]+)`")

_LEADS_AWAY = re.compile("(?:https?|mailto):", re.IGNORECASE)


class _Markdown(MarkdownIt):
    """Renders only links to absolute http and mailto URLs, none to another scheme or to our own pages."""

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return _LEADS_AWAY.match(url) is not None


_MARKDOWN = (
    _Markdown("commonmark", {"html": False, "maxNesting": 20})
    .enable(["table", "strikethrough"])
    # An image would be loaded from another host, which would learn of the reader.
    .disable("image")
)


def visible(text: str) -> str:
    r"""Return a text with control and bidirectional characters as escapes (`\x1b`), except line ends and tabs."""
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
    """Set `rel="noreferrer"` on links, and move headings below those of the page."""
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
        for child in token.children or ():
            if child.type == "link_open":
                child.attrs["rel"] = "noopener noreferrer nofollow"


def moment(instant: datetime | None, *, exact: bool = False) -> Markup:
    """Return `<time>` for an instant in UTC, which a script turns into local time; the exact time is its title."""
    if instant is None:
        return Markup("–")
    utc = instant.astimezone(UTC)
    day = utc.strftime(catalogue.spoken().day)
    shown = f"{day} {utc:%H:%M:%S}" if exact else f"{day} {utc:%H:%M}"
    return Markup('<time datetime="{}" title="{} UTC">{} UTC</time>').format(
        utc.isoformat(), f"{day} {utc:%H:%M:%S.%f}", shown
    )


def age(instant: datetime) -> Markup:
    """Return `<time>` with the age of an instant, or its day if that is DATED_FROM or more; the exact time is its title."""
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
    """Return a duration in words; "" below a minute."""
    return _counted(span, 1)


def _counted(span: timedelta, words: int) -> str:
    """Return a span in its largest unit, with the texts of UNITS at the index `words`; "" below a minute."""
    for unit, *texts in UNITS:
        if span >= unit:
            return texts[words](span // unit)
    return ""


def clock(instant: datetime) -> Markup:
    """Return `<time>` with the server's local time of day of an instant, which a script turns into the browser's."""
    here = instant.astimezone()
    return Markup('<time datetime="{}" data-clock>{:%H:%M}</time>').format(here.isoformat(), here)


def weekday(begin: datetime) -> Markup:
    """Return a day as `Friday, 27 November`; in other languages than English a script writes it so."""
    spoken = catalogue.spoken()
    if spoken is not catalogue.ENGLISH:
        return Markup('<time datetime="{}" data-weekday>{}</time>').format(
            f"{begin:%Y-%m-%dT00:00}", begin.strftime(spoken.day)
        )
    year = "" if begin.year == datetime.now(UTC).year else f" {begin.year}"
    return escape(f"{begin:%A}, {begin.day}\N{NO-BREAK SPACE}{begin:%B}{year}")


def day(iso: str) -> str:
    """Return a day such as 2026-01-31 in the format of the reader's language."""
    return date.fromisoformat(iso).strftime(catalogue.spoken().day)


def with_commands(text: object) -> Markup:
    """Return a text with its parts between backquotes as `<code>`."""
    parts = _BACKQUOTED.split(visible(str(text)))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part)
        for index, part in enumerate(parts)
    )


def percent(part: float) -> str:
    """Return a fraction as a percentage."""
    return f"{part * 100:.0f}{catalogue.spoken().percent}"


def shown(value: object) -> object:
    """Return a value for a template: a text as `visible` returns it, other values and markup unchanged."""
    return visible(value) if type(value) is str else value


def marked(parts: Sequence[tuple[str, bool]]) -> Markup:
    """Join parts of a text; those that stand out are in `<mark>`."""
    return Markup("").join(
        Markup("<mark>{}</mark>").format(visible(part)) if stands_out else escape(visible(part))
        for part, stands_out in parts
    )
