"""The reason for a refusal: a sentence with template and values kept apart until it is shown; counts with their nouns."""

from collections.abc import Iterable
from typing import Any, Self


class Word(str):
    """A word of ours in a sentence, such as the name of an act; a page says it in its language."""

    __slots__ = ()


class Reason(str):
    """A text that a page can say in the reader's language; as a `str` it is the English one.

    `template` is what the catalogues know it by. `make messages` gathers templates from the code, so
    each is written out where it is raised. `values` stand in place of its `{names}`: a reason, a word
    or an enum's member in one is said in the reader's language too, a number is written as that
    language does, and anything else (an id, a path, the words of another program) stays as it is.
    A template without values is not read for names; a reason in its place is returned as it is.
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
        # An error in its place would keep alive all that its traceback names.
        self.values = {
            name: str(value) if isinstance(value, BaseException) else value
            for name, value in values.items()
        }
        return self


def counted(one: str, many: str, count: int, /, **values: object) -> Reason:
    """Return the reason of two that fits a count, which stands in place of `{count}`.

    Each is a template of its own, so that a language writes both as it does.
    """
    return Reason(one if count == 1 else many, count=count, **values)


def must_be_one_of(names: Iterable[str], given: str | None = None) -> Reason:
    """Return the requirement on an argument that takes some words only; `given` is the value refused."""
    listed = ", ".join(names)
    if given is None:
        return Reason("must be one of {names}", names=listed)
    return Reason("must be one of {names} (got {given!r})", names=listed, given=given[:50])


def cause_of(error: OSError) -> Word:
    """Return the operating system's message; a page shows the usual one in its language."""
    return Word(error.strerror or error)


def of_system(path: object, error: OSError) -> Reason:
    """Return why the operating system refused a file or folder."""
    return Reason("{path}: {cause}", path=path, cause=cause_of(error))


def count_of(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 record`, `1,200 records`; `many` where the plural is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
