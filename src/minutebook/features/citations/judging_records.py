"""Judge the citations of records by a work tree; it imports Git and the parsers, which an answer from the table needs not."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from minutebook.features.citations.checking import CodeCheck, worse_of
from minutebook.features.citations.citing import CitingRecord
from minutebook.features.citations.rows import JudgedRecord, RecordName
from minutebook.features.citations.trees import PROJECT, check_size, reading_git
from minutebook.features.citations.work_trees import NEVER, files_of, stamp_of
from minutebook.record.errors import InvalidInput


def judged_by(
    tree: str, citing: Iterable[CitingRecord], known: Mapping[RecordName, JudgedRecord]
) -> list[JudgedRecord]:
    """Return records judged by a work tree; of those that are known, code that was new then is still cited.

    Raises InvalidInput for one that is too large or a shallow clone, or that cannot be read.
    """
    with reading_git():
        return list(_judged(tree, citing, known))


def _judged(
    tree: str, citing: Iterable[CitingRecord], known: Mapping[RecordName, JudgedRecord]
) -> Iterator[JudgedRecord]:
    code, began = CodeCheck(Path(tree), None), time.time_ns()
    if not code.root.samefile(tree):
        # The repository around another that is none.
        raise InvalidInput(PROJECT, "is in no Git repository: {folder}", folder=tree)
    check_size(code.repository)
    for each in citing:
        base, *earlier = code.bases(each.text.at)
        cited = {one.written: one for one in code.cited_by(each.text, base)}
        before = known.get(each.name)
        if before is not None and before.said == each.said:
            cited |= {one.cited.written: one.cited for one in before.judged if one.cited.is_new}
        judged = code.judged(cited.values(), base)
        for other in earlier:
            judged += code.judged(code.cited_by(each.text, other), other)
        judged = worse_of(judged)
        row = JudgedRecord(each.name, tree, each.said, str(base.id), code.head, {}, tuple(judged))
        stamps = {path: stamp_of(code.root, path) for path in files_of(row)}
        # What was changed meanwhile is judged again.
        meanwhile = {path: NEVER for path, at in stamps.items() if at and at[1] >= began}
        yield replace(row, stamps=stamps | meanwhile)
