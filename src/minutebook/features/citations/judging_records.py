"""Judge the citations of records by a work tree; it imports Git and the parsers, which an answer from the table needs not."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pygit2

from minutebook.domain.errors import InvalidInput
from minutebook.features.citations.checking import CodeCheck
from minutebook.features.citations.citing import CitingRecord
from minutebook.features.citations.rows import JudgedRecord
from minutebook.features.citations.trees import check_size
from minutebook.features.citations.work_trees import files_of, stamp_of


def judged_by(tree: str, citing: Iterable[CitingRecord]) -> list[JudgedRecord]:
    """Return records judged by a work tree.

    Raises InvalidInput for one that is too large or a shallow clone, or that cannot be read.
    """
    try:
        return list(_judged(tree, citing))
    except (pygit2.GitError, LookupError, ValueError, OSError) as error:
        raise InvalidInput(
            "--project", "cannot be read by Git: {reason}", reason=str(error)
        ) from error


def _judged(tree: str, citing: Iterable[CitingRecord]) -> Iterator[JudgedRecord]:
    code = CodeCheck(Path(tree), None)
    check_size(code.repository)
    cited = [
        (each, base := code.at(each.text.at), code.cited_by(each.text, base)) for each in citing
    ]
    for each, base, found in cited:
        # Before a file is read, so that a later change is noticed.
        stamps = {one.path: stamp_of(code.root, one.path) for one in found}
        row = JudgedRecord(
            each.name,
            tree,
            each.said,
            str(base.id),
            code.head,
            stamps,
            tuple(code.judged(found, base)),
        )
        where = {path: stamp_of(code.root, path) for path in files_of(row)}
        yield replace(row, stamps=where | stamps)
