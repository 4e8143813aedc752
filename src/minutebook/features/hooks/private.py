"""Text that a person marked as private: `<private>…</private>` in their prompts."""

import re

PRIVATE = "[private]"
"""What stands in its place."""

_MARKED = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)


def without_private(text: str) -> str:
    """Return a text with each private part replaced; one that nobody closed goes to the end."""
    return _MARKED.sub(PRIVATE, text)
