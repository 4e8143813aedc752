"""Judge the citations of records by a work tree, in a module of its own: an answer from the table needs neither Git nor parsers."""

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
    """Judge records by a work tree; `known` are earlier verdicts, with citations of code that was not committed then.

    Raises InvalidInput if the work tree is too large, a shallow clone, or cannot be read.
    """
    with reading_git():
        return list(_judged(tree, citing, known))


def _judged(
    tree: str, citing: Iterable[CitingRecord], known: Mapping[RecordName, JudgedRecord]
) -> Iterator[JudgedRecord]:
    """Yield the judgement of each record in a tree; verdicts that are `known` have the code that was cited uncommitted."""
    code, began = CodeCheck(Path(tree), None), time.time_ns()
    if not code.root.samefile(tree):
        # Git found a repository around the folder, which is none itself.
        raise InvalidInput(PROJECT, "is in no Git repository: {folder}", folder=tree)
    check_size(code.repository)
    for each in citing:
        base, *earlier = code.bases(each.text.at)
        cited = {one.written: one for one in code.cited_by(each.text, base)}
        before = known.get(each.name)
        if before is not None and before.digest == each.digest:
            cited |= {one.cited.written: one.cited for one in before.judged if one.cited.is_new}
        judged = code.judged(cited.values(), base)
        for other in earlier:
            judged += code.judged(code.cited_by(each.text, other), other)
        judged = worse_of(judged)
        row = JudgedRecord(each.name, tree, each.digest, str(base.id), code.head, {}, tuple(judged))
        stamps = {path: stamp_of(code.root, path) for path in files_of(row)}
        # A file that was changed meanwhile is judged again.
        meanwhile = {path: NEVER for path, stamp in stamps.items() if stamp and stamp[1] >= began}
        yield replace(row, stamps=stamps | meanwhile)
