"""The error of an adapter without its library installed."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needing(extra: str, library: str) -> Iterator[None]:
    """Import a library in this block. Raises ImportError, with the extra to install, if it is missing."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in library.split():
            raise
        remedy = f"pip install 'minutebook[{extra}]'"
        raise ImportError(f"this needs {library.split()[0]}: {remedy}", name=error.name) from error
