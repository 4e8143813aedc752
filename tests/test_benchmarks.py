"""The benchmarks measure what they say: sums by hand, and the short form of each run for real."""

import json
import os
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import code, code_speed, docstrings, measure, peers, pipe, start, tool
from benchmarks.measure import ROOT, Table, Timing
from minutebook.features.models.built_in import builtin
from minutebook.model import Embedding

DOCUMENTED = '''"""A module."""
import os


class Kettle:
    """Boils."""

    @property
    def heat(self):
        """Boil the water until it whistles, then switch the plate off.

        At sea level that is 100 degrees.
        """
        def inside():
            """Say something of ten words that nobody is asked about here."""
            return 1
        return inside()

    def idle(self):
        """Do nothing at all for as long as nobody asks for tea."""
        raise NotImplementedError

    def short(self): "Give é ten words on the same line as the function is."; return 2
'''


def test_a_docstring_is_cut_out_and_becomes_a_question() -> None:
    bare, questions = docstrings.cut("kettle.py", DOCUMENTED)
    assert '"' not in bare
    lines = bare.splitlines()
    heat, short = questions
    assert heat.paragraph == "Boil the water until it whistles, then switch the plate off."
    assert heat.whole == f"{heat.paragraph} At sea level that is 100 degrees."
    assert lines[heat.first - 1].strip() == "@property"
    assert lines[heat.last - 1].strip() == "return inside()"
    assert lines[short.first - 1 : short.last] == ["    def short(self): pass; return 2"]
    assert heat.is_answered_by("kettle.py", heat.last, heat.last + 9)
    assert not heat.is_answered_by("kettle.py", heat.last + 1, heat.last + 9)
    assert not heat.is_answered_by("other.py", heat.first, heat.last)


def test_what_several_functions_ask_is_not_asked_and_a_sample_stays_the_same() -> None:
    asked = [docstrings.Question(f"q {n // 2 if n < 4 else n}", "", "a.py", n, n) for n in range(9)]
    drawn = docstrings.sampled(asked, 3, 0)
    assert drawn == docstrings.sampled(asked, 3, 0)
    assert {each.paragraph for each in docstrings.sampled(asked, 99, 0)} == {
        f"q {n}" for n in range(4, 9)
    }


def test_no_question_that_counts_is_one_to_tune_by() -> None:
    asked = [docstrings.Question(f"q {n}", "", f"{n}.py", 1, 1) for n in range(300)]
    counts, tunes = code.drawn(asked, development=False), code.drawn(asked, development=True)
    assert not {each.path for each in counts} & {each.path for each in tunes}
    assert len(counts) > len(tunes) > 30


def test_a_function_is_found_where_its_first_chunk_stands() -> None:
    question = docstrings.Question("q", "", "a.py", 10, 20)
    before, part = ("a.py", 1, 9), ("a.py", 15, 18)
    found = code.score([before, part, part], question)
    assert (found.found, found.mrr) == (1.0, 0.5)
    assert found.ndcg == pytest.approx(1 / np.log2(3))
    assert code.score([before] * 10 + [part], question) == code.Scores(0.0, 0.0, 0.0)


def test_no_question_about_code_is_asked_twice() -> None:
    assert len({code_speed.question(n) for n in range(500)}) == 500


def test_warm_calls_are_made_and_not_counted() -> None:
    called: list[int] = []
    ticks = count(10.0, 0.25)
    timing = measure.timed(called.append, 5, lambda: next(ticks), warm=2)
    assert called == list(range(7))
    assert len(timing.wall) == 5
    assert timing.cpu == 250.0


def test_works_take_turns_and_each_has_its_own_clock() -> None:
    called: list[str] = []
    slow, quick = count(0.0, 1.0), count(0.0, 0.5)
    timings = measure.timed_in_turn(
        {
            "slow": (lambda n: called.append(f"slow {n}"), lambda: next(slow)),
            "quick": (lambda n: called.append(f"quick {n}"), lambda: next(quick)),
        },
        2,
        warm=1,
    )
    assert called == [f"{name} {n}" for n in range(3) for name in ("slow", "quick")]
    assert (timings["slow"].cpu, timings["quick"].cpu) == (1000.0, 500.0)


def test_what_is_left_of_a_call_is_told_call_by_call() -> None:
    whole, one = Timing((6.0, 10.0, 31.0), 0), Timing((4.0, 6.0, 28.0), 0)
    assert measure.apart(whole, one) == 3.0
    assert measure.apart(whole, one, Timing((1.0, 1.5, 1.0), 0)) == 2.0


def test_a_timing_tells_its_median_and_its_tail() -> None:
    timing = Timing(tuple(map(float, range(1, 102))), 0.5)
    assert (timing.p50, timing.p99) == (51.0, 100.0)


@pytest.mark.skipif(sys.platform != "linux", reason="no clock of another process")
def test_the_cpu_time_of_a_process_counts_work_and_not_waiting() -> None:
    code = "import sys\nfor line in sys.stdin:\n  sum(range(int(line))); print(flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None

        def work(size: int) -> float:
            assert child.stdin is not None
            assert child.stdout is not None
            before = measure.cpu_seconds(child.pid)
            child.stdin.write(f"{size}\n")
            child.stdin.flush()
            child.stdout.readline()
            return measure.cpu_seconds(child.pid) - before

        work(1)
        rest = measure.cpu_seconds(child.pid)
        time.sleep(0.2)
        assert measure.cpu_seconds(child.pid) - rest < 0.1
        assert work(2_000_000) > work(1)
        child.communicate()


def test_what_is_printed_is_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path / "results")
    rows: list[tuple[measure.Cell, ...]] = [
        ("one", 1.234, None),
        ("two", 5678.9, (50.0, 40.04, 60.0)),
    ]
    table = Table("how long", ("what", "ms", "share"), rows, "not equal")
    measure.publish("thing", {"cores": 2}, [table], quick=True)
    assert capsys.readouterr().out.splitlines() == [
        "cores:         2",
        "",
        "how long",
        "what    ms              share",
        "one   1.23                  –",
        "two   5679  50.0 [40.0, 60.0]",
        "(not equal)",
    ]
    written = json.loads((tmp_path / "results" / "thing-quick.json").read_text(encoding="utf-8"))
    assert written["tables"][0]["rows"][1] == {
        "what": "two",
        "ms": 5678.9,
        "share": [50.0, 40.04, 60.0],
    }


@pytest.mark.thorough
def test_what_is_stored_and_asked_is_never_the_same_twice() -> None:
    work = tool.drawn(200)
    assert len(set(work.texts)) == len(set(work.questions)) == 203
    assert {len(text.split()) for text in work.texts} == {tool.WORDS}


def test_a_server_that_ends_is_told_with_its_last_words() -> None:
    code = "import sys; sys.stdin.readline(); sys.exit('out of ink')"
    with (
        pipe.Pipe([sys.executable, "-c", code]) as ended,
        pytest.raises(RuntimeError, match="out of ink"),
    ):
        ended.initialize()


def test_a_tool_that_fails_ends_the_measurement(tmp_path: Path) -> None:
    with pipe.Pipe(tool.serve_command(tmp_path)) as served:
        served.initialize()
        with pytest.raises(RuntimeError, match="limit"):
            served.call("recall", {"query": "x", "limit": "nonsense"})


@pytest.mark.thorough
def test_the_least_server_answers() -> None:
    starter = start.Starter(
        "bare", [sys.executable, ROOT / "benchmarks" / "bare.py"], "nothing", {}
    )
    measured = start.start(starter)
    assert 0 < measured.initialized < measured.answered


def test_peers_are_pinned_and_their_locks_name_no_host() -> None:
    assert peers.versions().startswith("chromadb 1.")
    lock = json.loads(peers.NODE_LOCK.read_text(encoding="utf-8"))
    packages = {name: each for name, each in lock["packages"].items() if name}
    assert all("resolved" not in each and each["integrity"] for each in packages.values())
    for each in (peers.CHROMA_LOCK, peers.COMPARTMENT_LOCK):
        pinned = each.read_text(encoding="utf-8")
        assert "://" not in pinned
        assert pinned.count("==") <= pinned.count("--hash=sha256:")


def test_a_peer_that_may_not_be_installed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "DATA", tmp_path)
    with pytest.raises(measure.NotThere, match="chromadb is not installed yet"):
        peers.chroma(install=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(measure.NotThere, match="node and npm are not on the path"):
        peers.memory_server(install=True)


def test_an_unknown_benchmark_is_refused_by_name() -> None:
    told = run("nonsense")
    assert told.returncode == 2
    assert "no benchmark named nonsense" in told.stderr


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_the_short_form_of_governing_runs_and_its_figures_make_sense(tmp_path: Path) -> None:
    told = run("--quick", "governance", TMPDIR=str(tmp_path))
    assert told.returncode == 0, told.stderr
    writes, (proof,), searches = results("governance")
    assert {(row["act"], row["durability"]) for row in writes} == {
        (act, durability) for act in ("write", "update") for durability in ("full", "normal")
    }
    for row in writes:
        assert 0 < row["p50"] <= row["p99"]
    assert proof["entries"] == 5_000
    assert proof["CPU seconds"] > 0
    asked, everything, nothing = searches
    assert 0 < asked["found"] < everything["found"] == 4_949
    assert nothing["found"] == 0


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_the_short_form_of_a_journal_runs_and_its_figures_make_sense(tmp_path: Path) -> None:
    told = run("--quick", "journal", TMPDIR=str(tmp_path))
    assert told.returncode == 0, told.stderr
    kept, found, moved, summarised = results("journal")
    assert kept[0]["CPU"] < kept[1]["CPU"]
    for row in (*kept, *found):
        assert 0 < row["p50"] <= row["p99"]
    assert [row["act"] for row in moved] == [
        "export",
        "import into an empty store",
        "replacing the same",
    ]
    for row in moved:
        assert row["turns/s"] > 0
        assert 20 < row["MB at the peak"] < 200
    assert [row["sessions"] for row in summarised] == [2, 2]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_short_form_of_all_runs_and_its_figures_make_sense(tmp_path: Path) -> None:
    told = run("--quick", "quality", "code", "start", "tool", TMPDIR=str(tmp_path))
    assert told.returncode == 0, told.stderr
    assert "is not installed yet" in told.stdout
    (starts,) = results("start")
    assert {"minutebook, empty store", "bare SDK server"} <= {row["what"] for row in starts}
    for row in starts:
        assert 0 < row["to initialize"] < row["to first answer"]
    store, find, beside = results("tool")
    for row in (*store, *find):
        assert row["embedding"] > 0
        assert 0 < row["p50"] <= (row["p99"] or row["p50"])
    assert beside[0]["what"] == "minutebook over stdio"
    functions, _, reading, again, searches = results("code")
    whole = {
        row["by"]: row["NDCG@10"][0]
        for row in functions
        if (row["among"], row["question"]) == ("all chunks", "whole docstring")
    }
    assert 100 >= whole["search_code"] > 30
    assert all(row["chunks/s"] > row["files/s"] > 0 for row in reading)
    assert all(row["p50"] >= row["least"] > 0 for row in again)
    assert searches[0]["p50"] > searches[1]["p50"]
    path = measure.RESULTS / "quality-quick.json"
    for told in json.loads(path.read_text(encoding="utf-8"))["sets"]:
        every = told["levels"]["document"]["all"]["systems"]
        assert 1 >= every["recall"]["any@10"][0] >= every["words"]["any@10"][0] > 0


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def results(name: str) -> list[list[dict[str, Any]]]:
    path = measure.RESULTS / f"{name}-quick.json"
    return [table["rows"] for table in json.loads(path.read_text(encoding="utf-8"))["tables"]]


@pytest.mark.thorough
def test_a_store_is_filled_under_the_models_name_and_found_by_the_real_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built_in: Embedding
) -> None:
    monkeypatch.setattr(tool, "DATA", tmp_path)
    monkeypatch.setattr(peers, "DATA", tmp_path)
    data = tool.filled(10)
    assert np.load(data / "vectors.npy").shape == (10, builtin.MODEL.dimensions)
    assert len(json.loads((data / "texts.json").read_text(encoding="utf-8"))) == 10
    rows = tool.Tables([], [], [])
    tool.measure(10, tool.drawn(2), rows, install=False)
    for wall, cpu in (rows.store, rows.find):
        assert wall[:2] == (10, "wall")
        assert cpu[:2] == (10, "CPU")
    assert rows.beside[0][1] == "minutebook over stdio"
    assert tool.filled(10) == data
