"""Judge a citation: it holds, or the code was changed, renamed or moved, or is gone."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from minutebook.features.citations.cited import CitationVerdict, Cited, CodeDefinition, Judged
from minutebook.features.citations.trees import SearchedTree, TreeComparison, is_meant
from minutebook.features.code.references import Reference


def cited_in(
    references: list[Reference], tree: SearchedTree, among: frozenset[str] | None = None
) -> Iterator[Cited]:
    """Yield the references to code that the whole tree has exactly once, in one of the files `among` its own (None: any)."""
    for each in references:
        path = None if each.path is None else tree.file_named(each.path)
        if each.path is not None and (path is None or (among is not None and path not in among)):
            continue
        if path is not None and not each.symbol:
            lines = each.lines if each.lines and tree.is_text(path) else None
            yield Cited(each.written, path, lines)
            continue
        found = tree.defined(each.symbol, among if path is None else frozenset({path}))
        if found and path is None and among is not None:
            found = tree.defined(each.symbol)
        if len(found) == 1 and (among is None or found[0].path in among):
            yield Cited(each.written, found[0].path, definition=found[0])


def judge(cited: Cited, comparison: TreeComparison) -> Judged:
    """Judge a citation of the tree before by the tree after."""
    if cited.path not in comparison.now:
        place = cited.path if cited.definition is None else _place(cited.definition)
        return Judged(cited, CitationVerdict.HOLDS, place)
    path = comparison.now[cited.path]
    if cited.definition is not None:
        return _judge_definition(cited, cited.definition, path, comparison)
    if path is None:
        return Judged(cited, CitationVerdict.GONE)
    if cited.lines is not None and not _has_lines(cited, cited.lines, path, comparison):
        return Judged(cited, CitationVerdict.CHANGED, path)
    return _unchanged(cited, path, path)


def _unchanged(cited: Cited, path: str | None, place: str) -> Judged:
    """Return the verdict on unchanged code that is in the file `path` now."""
    is_here = path == cited.path
    return Judged(cited, CitationVerdict.HOLDS if is_here else CitationVerdict.MOVED, place)


def _judge_definition(
    cited: Cited, before: CodeDefinition, path: str | None, comparison: TreeComparison
) -> Judged:
    """Judge a definition; `path` is where its file is now, None if that is gone."""
    here = [] if path is None else _same_sort(before, comparison.after.definitions(path))
    if same := [each for each in here if each.names == before.names]:
        if any(each.digest == before.digest for each in same):
            return _unchanged(cited, path, _place(same[0]))
        return Judged(cited, CitationVerdict.CHANGED, _place(same[0]))
    lines = before.first, before.last
    if before.is_value and path is not None and _has_lines(cited, lines, path, comparison):
        # It is in a condition now, or below another key.
        return _unchanged(cited, path, _place(replace(before, path=path)))
    known = {each.names for each in _same_sort(before, comparison.before.definitions(cited.path))}
    elsewhere = _same_sort(before, comparison.definitions_elsewhere(path, before.names[-1]))
    new = [each for each in here if each.names not in known]
    for verdict, among in ((CitationVerdict.RENAMED, new), (CitationVerdict.MOVED, elsewhere)):
        if found := [each for each in among if is_renamed(before, each)]:
            is_named = found[0].names[-1] == before.names[-1]
            return Judged(cited, CitationVerdict.MOVED if is_named else verdict, _place(found[0]))
    moved = [each for each in (*new, *elsewhere) if is_meant(before.names[-1:], each)]
    if len(moved) == 1:
        return Judged(cited, CitationVerdict.CHANGED, _place(moved[0]))
    return Judged(cited, CitationVerdict.GONE)


def _same_sort(definition: CodeDefinition, found: Iterable[CodeDefinition]) -> list[CodeDefinition]:
    """Return the values of those found if the definition is a value, else the definitions."""
    return [each for each in found if each.is_value == definition.is_value]


def is_renamed(before: CodeDefinition, after: CodeDefinition) -> bool:
    """Tell whether two definitions differ only in their names."""
    return after.nameless == before.nameless or after.headless == before.headless


def _place(definition: CodeDefinition) -> str:
    return f"{definition.path}:{'.'.join(definition.names)}"


def _has_lines(cited: Cited, lines: tuple[int, int], path: str, comparison: TreeComparison) -> bool:
    """Tell whether the cited lines are together anywhere in a file; True if they are blank."""
    first, last = lines
    wanted = _plain(comparison.before.lines(cited.path)[first - 1 : last])
    return not wanted or wanted in _plain(comparison.after.lines(path))


def _plain(lines: list[str]) -> str:
    """Return the lines that are not blank, with single blanks between words, each between line ends."""
    plain = [" ".join(line.split()) for line in lines if line.strip()]
    return "".join(f"\n{line}\n" for line in plain)
