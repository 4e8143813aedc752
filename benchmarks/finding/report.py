"""Sum up a run: figures with their intervals, as data, as a table."""

import os
import platform
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from benchmarks.finding.metrics import METRICS, NDCG_CUT, area_interval, interval, score
from benchmarks.finding.runs import BUDGETS, QueryResult, Run
from minutebook import __version__

Report: TypeAlias = dict[str, Any]
"""What can be written as JSON; a figure in it is [value, low, high], shares and scores in [0, 1]."""

SHOWN = ("any@1", "any@10", "share@10", "NDCG@10", "MRR")
"""The metrics of the table; the JSON has all."""

ALL = "all"


def report(runs: Sequence[Run]) -> Report:
    """Sum up some runs."""
    return {
        "program": f"minutebook {__version__}",
        "model": ", ".join(dict.fromkeys(each.model for each in runs)),
        "machine": machine(),
        "sets": [_set(each) for each in runs],
    }


def machine() -> dict[str, str]:
    """Return the machine on which the figures were measured, by property."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cores": str(os.cpu_count()),
        "load": load,
    }


def _set(run: Run) -> Report:
    collections = run.dataset.collections
    return {
        "name": run.dataset.name,
        "form": run.dataset.form,
        "stores": len(collections),
        "documents": sum(len(collection.documents) for collection in collections),
        "queries": sum(len(collection.queries) for collection in collections),
        "left_out": {why: count for why, count in run.dataset.left_out.items() if count},
        "main": run.main,
        "levels": dict(_levels(run)),
        "updates": _updates(run),
        "within": _within(run),
        "cost": {system: _cost(run, system) for system in run.systems},
        "storing": {"wall_ms": run.stored.wall, "cpu_ms": run.stored.cpu},
        "separation": _separation(run),
    }


def _levels(run: Run) -> Iterator[tuple[str, Report]]:
    """Sum up rankings of documents and, where they have sessions, of sessions."""
    yield "document", _level(run, run.results, _by_document)
    if with_sessions := [result for result in run.results if result.sessions]:
        yield "session", _level(run, with_sessions, _by_session)


_Scored: TypeAlias = Callable[[QueryResult, str], dict[str, float]]


def _by_document(result: QueryResult, system: str) -> dict[str, float]:
    return score(result.outcomes[system].ranked, result.query.relevant)


def _by_session(result: QueryResult, system: str) -> dict[str, float]:
    """Score the sessions in the order of their best documents, one without a session for itself."""
    session = result.sessions
    named = result.query.sessions or {session.get(id, id) for id in result.query.relevant}
    ranked = [session.get(id, id) for id in result.outcomes[system].ranked]
    return score(ranked, dict.fromkeys(named, 1.0))


def _level(run: Run, results: Sequence[QueryResult], scored: _Scored) -> Report:
    scores = [{system: scored(result, system) for system in run.systems} for result in results]
    return {
        group: {
            "questions": len(places),
            "systems": {
                system: {
                    metric: interval([scores[index][system][metric] for index in places])
                    for metric in METRICS
                }
                for system in run.systems
            },
            # Question by question, so that the interval is that of the difference.
            "gain": {
                system: {
                    metric: interval(
                        [
                            scores[index][run.main][metric] - scores[index][system][metric]
                            for index in places
                        ]
                    )
                    for metric in METRICS
                }
                for system in run.systems
                if system != run.main
            },
        }
        for group, places in _grouped(results).items()
    }


def _grouped(results: Iterable[QueryResult]) -> dict[str, list[int]]:
    """Return the positions of each group's questions by the group's name; all questions come first."""
    groups: dict[str, list[int]] = {}
    for index, result in enumerate(results):
        for group in (ALL, *result.query.groups):
            groups.setdefault(group, []).append(index)
    return groups


def _updates(run: Run) -> Report | None:
    """Sum up the questions about changes, where a data set names the old documents and the new ones."""
    changed = [
        each for each in (*run.results, *run.apart) if each.query.old and each.query.relevant
    ]
    asked = list({each.query.id: each for each in changed}.values())
    if not asked:
        return None
    systems = {
        system: {
            name: interval([float(measured(each, system)) for each in asked])
            for name, measured in _OF_UPDATES.items()
        }
        for system in run.systems
    }
    return {"questions": len(asked), "systems": systems}


def _is_before(result: QueryResult, system: str) -> bool:
    """Tell whether the best new document stands among ten results, above all old ones."""
    best = result.outcomes[system].ranked[:NDCG_CUT]
    first = next((id for id in best if id in result.query.new | result.query.old), None)
    return first in result.query.new


def _is_first(result: QueryResult, system: str) -> bool:
    return next(iter(result.outcomes[system].ranked), None) in result.query.new


def _is_marked(result: QueryResult, system: str) -> bool:
    """Tell whether all that said it before and is among the results is said to be revised, or none of it is there."""
    best = result.query.old.intersection(result.outcomes[system].ranked[:NDCG_CUT])
    return best <= result.outcomes[system].revised


_OF_UPDATES = {
    "new before old": _is_before,
    "new first": _is_first,
    "old marked or absent": _is_marked,
}


def _within(run: Run) -> Report | None:
    """Sum up the part of the relevant documents within some tokens of an answer in lines, by group."""
    asked = [each for each in run.results if each.outcomes[run.main].within]
    if not asked:
        return None
    return {
        group: {
            str(budget): interval([_arrived(asked[index], run.main, budget) for index in places])
            for budget in BUDGETS
        }
        for group, places in _grouped(asked).items()
    }


def _arrived(result: QueryResult, system: str, budget: int) -> float:
    """Return the part of the relevant documents that arrives."""
    found = result.query.relevant.keys() & set(result.outcomes[system].within[budget])
    return len(found) / len(result.query.relevant)


def _cost(run: Run, system: str) -> Report:
    """Sum up the time and the size of a call for ten results."""
    outcomes = [each.outcomes[system] for each in (*run.results, *run.apart)]
    wall = [each.spent.wall for each in outcomes]
    return {
        "median_ms": statistics.median(wall),
        "p95_ms": float(np.percentile(wall, 95)),
        "cpu_ms": statistics.fmean(each.spent.cpu for each in outcomes),
        "tokens": statistics.fmean(each.tokens for each in outcomes),
    }


def _separation(run: Run) -> Report | None:
    """Tell how well the best hit's score tells questions with an answer from those without."""
    if not run.negatives:
        return None
    # A group has its own questions without an answer, or is held against all there are.
    without = [result for result in run.apart if not result.answerable]
    groups: Report = {}
    for group, places in _grouped(run.apart).items():
        here = [run.apart[index] for index in places]
        answered = [result for result in here if result.answerable]
        unanswered = [result for result in here if not result.answerable] or without
        if answered:
            groups[group] = {
                "answerable": len(answered),
                "unanswerable": len(unanswered),
                "systems": {
                    system: {
                        "area": area_interval(
                            [result.outcomes[system].best for result in answered],
                            [result.outcomes[system].best for result in unanswered],
                        ),
                        "kept": interval([_kept(result, system) for result in answered]),
                        "doubted": interval([_doubt(result, system) for result in answered]),
                        "doubted_without": interval(
                            [_doubt(result, system) for result in unanswered]
                        ),
                    }
                    for system in run.systems
                },
            }
    return {"negatives": run.negatives, "groups": groups}


def _kept(result: QueryResult, system: str) -> float:
    """Tell whether anything relevant came back at all."""
    return float(any(id in result.query.relevant for id in result.outcomes[system].ranked))


def _doubt(result: QueryResult, system: str) -> float:
    """Tell whether the answer says that perhaps nothing is about the question."""
    return float(result.outcomes[system].is_doubted)


def table(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table for a terminal: figures in per cent, NDCG with its interval."""
    for each in results["sets"]:
        yield f"{each['name']}: {each['documents']} documents, {each['queries']} questions"
        for level, groups in each["levels"].items():
            yield ""
            heads = "".join(f"{name:>10}" for name in SHOWN)
            yield f"{f'by {level}':<26}{'n':>6}  {'':<22}{heads}   95 % of NDCG@10"
            for group, summed in groups.items():
                for system, figures in summed["systems"].items():
                    lead = f"{group[:25]:<26}{summed['questions']:>6}" if system == "words" else ""
                    cells = "".join(f"{100 * figures[name][0]:>10.1f}" for name in SHOWN)
                    low, high = (100 * end for end in figures["NDCG@10"][1:])
                    yield f"{lead:<32}  {system:<22}{cells}   {low:.1f} to {high:.1f}"
        yield ""
        yield f"{'cost of ten results':<34}{'median':>10}{'p95':>10}{'CPU':>10}{'tokens':>10}"
        for system, cost in each["cost"].items():
            times = "".join(f"{cost[name]:>7.1f} ms" for name in ("median_ms", "p95_ms", "cpu_ms"))
            yield f"{system:<34}{times}{cost['tokens']:>10.0f}"
        yield from _update_lines(each["updates"])
        yield from _within_lines(each["within"])
        yield from _separation_lines(each["separation"])
        yield ""


def _update_lines(updates: Mapping[str, Any] | None) -> Iterator[str]:
    if updates is None:
        return
    yield ""
    heads = "".join(f"{name:>26}" for name in _OF_UPDATES)
    yield f"{'what changed':<26}{updates['questions']:>6}  {'':<22}{heads}"
    for system, figures in updates["systems"].items():
        cells = "".join(f"{_ranged(figures[name]):>26}" for name in _OF_UPDATES)
        yield f"{'':<34}{system:<22}{cells}"


def _within_lines(within: Mapping[str, Any] | None) -> Iterator[str]:
    if within is None:
        return
    yield ""
    heads = "".join(f"{f'{budget:,} tokens':>26}" for budget in BUDGETS)
    yield f"{'of the relevant, in lines':<34}{heads}"
    for group, figures in within.items():
        cells = "".join(f"{_ranged(figures[str(budget)]):>26}" for budget in BUDGETS)
        yield f"{group[:33]:<34}{cells}"


def _ranged(figure: Sequence[float]) -> str:
    value, low, high = (100 * each for each in figure)
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def _separation_lines(separation: Mapping[str, Any] | None) -> Iterator[str]:
    if separation is None:
        return
    yield ""
    yield f"answered or not, by the best score; without an answer: {separation['negatives']}"
    for group, summed in separation["groups"].items():
        # The baselines are shown once, for all.
        systems = summed["systems"]
        for system in systems if group == ALL else list(systems)[-1:]:
            figures = systems[system]
            lead = f"{group[:25]:<26}{summed['unanswerable']:>6}"
            area, low, high = figures["area"]
            yield (
                f"{lead:<32}  {system:<22}area {area:.3f} ({low:.3f} to {high:.3f}), answer kept "
                f"{100 * figures['kept'][0]:.1f} %, doubted {100 * figures['doubted'][0]:.1f} %; without one doubted "
                f"{100 * figures['doubted_without'][0]:.1f} %"
            )
