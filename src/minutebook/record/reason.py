"""Sentences for a person, with template and values kept apart until they are shown, so that pages can translate them."""

from collections.abc import Iterable
from typing import Any, Self


class Word(str):
    """A word of ours in a sentence, such as the name of an act, which a page translates."""

    __slots__ = ()


class Reason(str):
    """A text that a page can translate; as a `str` it is the English one.

    `template` is its key in the catalogues. `make messages` gathers templates from the code, so
    each is written out where it is raised. `values` stand in place of its `{names}`: a reason, a word
    or an enum's member is translated too, a number is written as the reader's
    language does, and anything else (an id, a path, the words of another program) stays as it is.
    Braces in a template without values are left as they are. A reason in place of the template is returned as it is.
    """

    __slots__ = ("template", "values")

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, /, **values: object) -> Self:
        """Fill a template. Raises KeyError if a value is missing."""
        if isinstance(template, cls):
            return template
        self = super().__new__(cls, template.format(**values) if values else template)
        self.template = template
        # A kept error would keep alive all values in its traceback.
        self.values = {
            name: str(value) if isinstance(value, BaseException) else value
            for name, value in values.items()
        }
        return self


def counted(one: str, many: str, count: int, /, **values: object) -> Reason:
    """Return the template `one` filled for a count of 1, else `many`; the count stands in place of `{count}`.

    Each is translated by itself.
    """
    return Reason(one if count == 1 else many, count=count, **values)


def must_be_one_of(names: Iterable[str], given: str | None = None) -> Reason:
    """Return the sentence that an argument must be one of some names; `given` is the value refused."""
    listed = ", ".join(names)
    if given is None:
        return Reason("must be one of {names}", names=listed)
    return Reason("must be one of {names} (got {given!r})", names=listed, given=given[:50])


def cause_of(error: OSError) -> Word:
    """Return the operating system's message for an error, which a page translates if it is a usual one."""
    return Word(error.strerror or error)


def os_error_reason(path: object, error: OSError) -> Reason:
    """Return why the operating system refused a file or folder."""
    return Reason("{path}: {cause}", path=path, cause=cause_of(error))


def count_of(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 record`, `1,200 records`; `many` where the plural is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
