import inspect
import re

from minutebook.record import errors
from minutebook.record.errors import InBatch, InvalidInput, Locked, MinutebookError, NotFound
from minutebook.record.reason import Reason

CLASSES = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, MinutebookError)
]


def drawn_tree() -> dict[str, str | None]:
    """Read the tree in the module's docstring: each error and the one it is drawn under."""
    parents: dict[str, str | None] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"([│├└─ ]*)([A-Z]\w+)(?:\s{2,}\S|$)", line)
        if match is None:
            continue
        depth, name = len(match[1]), match[2]
        while path and path[-1][0] >= depth:
            path.pop()
        parents[name] = path[-1][1] if path else None
        path.append((depth, name))
    return parents


def test_the_drawn_tree_is_the_tree_of_the_classes() -> None:
    assert drawn_tree() == {
        each.__name__: None if each is MinutebookError else each.__bases__[0].__name__
        for each in CLASSES
    }


def test_an_error_is_a_sentence_of_its_facts() -> None:
    assert str(NotFound("memory", "m1")) == "there is no memory m1"
    assert str(Locked("delete", Reason("it is locked"), "m1")) == "m1 stays as it is: it is locked"
    assert str(InBatch(3, InvalidInput("title", "must not be empty"))) == (
        "[3]: title must not be empty"
    )


def test_an_error_with_a_reason_is_a_sentence() -> None:
    assert str(errors.StoreBusy("another process is writing")) == "another process is writing"
    assert str(errors.ModelUnavailable("no model", "prepare it")) == "no model; prepare it"
    assert str(errors.KeysUnavailable("no keys", "name them")) == "no keys; name them"
    assert str(errors.EmbeddingNotReady("loading", Reason(""))) == (
        "the embedding model is not ready: it is loading"
    )
    failed = errors.EmbeddingNotReady("error", Reason("no model"))
    assert str(failed) == "the embedding model failed to load: no model"
