"""What `knowledge` promises of code: index, search, status, list, delete, and recall with code."""

import threading
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest

from minutebook.features.code.projects import Projects
from minutebook.features.code.watching import QUIET_MS
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict
from minutebook.record.filters import Filter
from minutebook.record.records import CodeChunk, Role
from tests.features.code.chunking.given import SAMPLES
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, WordEmbedder, World, failed, loading, ready, wait_until

VERIFY = '''"""Tokens."""


class Verifier:
    """Checks tokens."""

    def check(self, token):
        return token == self.secret


def issue(secret):
    return secret
'''
RUST = "struct Point {\n    x: i32,\n}\n\nimpl Point {\n    fn len(&self) -> i32 {\n        self.x\n    }\n}\n"
FILES = {
    "auth/verify.py": VERIFY,
    "src/point.rs": RUST,
    "README.md": "# Kettle\n\nBoils the water.\n",
    "conf.toml": "[server]\nport = 80\n\n[client]\nretries = 3\n",
}


@pytest.fixture
def kettle(tmp_path: Path) -> Path:
    return put(tmp_path / "kettle", FILES)


def put(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def found(world: World, query: str, **arguments: Any) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = world.call("search_code", query=query, **arguments)["results"]
    return results


def names(world: World, query: str, **arguments: Any) -> list[tuple[str, str | None]]:
    return [(each["file_path"], each["name"]) for each in found(world, query, **arguments)]


@requirement("knowledge/index_project/index", "knowledge/index_project/output")
def test_a_folder_is_indexed_and_counted(world: World, kettle: Path) -> None:
    answer = world.call("index_project", path=str(kettle))
    assert answer["project_id"] == "kettle"
    assert answer["files_indexed"] == 4
    assert answer["chunks_created"] == world.call("get_status")["code_chunks_count"] > 4
    assert answer["status"] == "completed"


@requirement("knowledge/search_code/search", "knowledge/search_code/output")
def test_code_is_found_by_name_words_and_place(world: World, kettle: Path) -> None:
    world.call("index_project", path=str(kettle))
    answer = world.call("search_code", query="Verifier.check")
    assert answer["count"] == len(answer["results"])
    first = answer["results"][0]
    assert first["id"]
    assert first["content"] == (
        "    def check(self, token):\n        return token == self.secret\n\n\n"
    )
    assert {key: first[key] for key in ("file_path", "language", "chunk_type", "name")} == {
        "file_path": "auth/verify.py",
        "language": "python",
        "chunk_type": "function",
        "name": "Verifier.check",
    }
    assert (first["start_line"], first["end_line"]) == (7, 10)
    assert 0 < first["score"] <= 1
    assert names(world, "where are tokens checked")[0][0] == "auth/verify.py"
    assert names(world, "retries")[0] == ("conf.toml", "client")


@pytest.mark.parametrize(
    ("query", "start"), [("auth/verify.py:8", 7), ("why is auth/verify.py:12-14 so", 11)]
)
def test_the_lines_that_a_question_names_come_first(
    world: World, kettle: Path, query: str, start: int
) -> None:
    world.call("index_project", path=str(kettle))
    first, *others = found(world, query)
    assert (first["file_path"], first["start_line"], first["score"]) == ("auth/verify.py", start, 1)
    assert first["id"] not in {each["id"] for each in others}
    assert len(found(world, query, limit=1)) == 1
    assert found(world, "auth/verify.py:99")[0]["score"] < 1
    assert found(world, f"{kettle}/auth/verify.py:8")[0]["start_line"] == 7
    put(kettle.parent / "other", {"auth/verify.py": "x = 1\n" * 20})
    world.call("index_project", path=str(kettle.parent / "other"))
    assert found(world, f"{kettle}/auth/verify.py:8")[0]["project_id"] == "kettle"
    assert found(world, query, project_id="other")[0]["project_id"] == "other"


@requirement("knowledge/code/chunk_type")
def test_chunks_have_the_published_types(world: World, kettle: Path) -> None:
    put(kettle, {"a.ts": "namespace N {\n  export function f() { return 1 }\n}\n"})
    world.call("index_project", path=str(kettle))
    told = {
        each["chunk_type"]
        for query in ("Verifier check issue", "Point len struct", "namespace N f", "Kettle water")
        for each in found(world, query, limit=50)
    }
    assert told == {"function", "class", "struct", "module", "impl", "other"}


@requirement("knowledge/search_code/limit")
def test_a_search_of_code_is_limited(world: World, tmp_path: Path) -> None:
    many = "\n\n".join(f"def boil_{number}():\n    return 'boil'" for number in range(70))
    world.call("index_project", path=str(put(tmp_path / "many", {"a.py": many})))
    assert len(found(world, "boil")) == 10
    assert len(found(world, "boil", limit=50)) == len(found(world, "boil", limit=500)) == 50
    assert "`limit`" in world.refused("search_code", query="boil", limit=0)


@requirement("knowledge/search_code/project_id", "knowledge/system/later-recall_code")
def test_a_search_of_code_keeps_to_a_project(world: World, tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = put(tmp_path / "code" / name, {f"{name}.py": "tea = 1\n"})
        world.call("index_project", path=str(folder))
    assert names(world, "tea", project_id="two") == [("two.py", None)]
    later = world.call("recall_code", query="tea", project_id="one")["results"]
    assert [each["file_path"] for each in later] == ["one.py"]
    refusal = world.refused("search_code", query="tea", project_id="three")
    assert refusal == "Project not found: three"


@requirement("knowledge/index_project/invalid-path", "knowledge/errors/invalid-path")
def test_a_path_that_is_no_readable_folder_is_refused_with_the_reason(
    world: World, kettle: Path
) -> None:
    home = Path.home()
    for path, reason in (
        (str(kettle / "gone"), "does not exist"),
        (str(kettle / "README.md"), "is not a folder"),
        ("kettle", "not an absolute path"),
        ("/proc/self", "is a place for secrets"),
    ):
        text = world.refused("index_project", path=path)
        assert text == f"Invalid path: {path} ({reason})"
    if (home / ".ssh").is_dir():
        assert "secrets" in world.refused("index_project", path="~/.ssh")
    assert world.call("list_projects")["count"] == 0


def test_a_path_outside_of_the_allowed_roots_is_refused(opener: Opener, kettle: Path) -> None:
    world = opener(index_roots=(kettle / "src",))
    text = world.refused("index_project", path=str(kettle))
    assert text == f"Invalid path: {kettle} (is outside the allowed roots)"
    assert world.call("index_project", path=str(kettle / "src"))["project_id"] == "src"


@requirement("knowledge/code/project_id")
def test_a_project_is_named_for_its_folder(world: World, tmp_path: Path) -> None:
    first = put(tmp_path / "a" / "my app", {"ä.py": "x = 1\n"})
    second = put(tmp_path / "b" / "my app", {"y.py": "y = 1\n"})
    assert world.call("index_project", path=str(first))["project_id"] == "my app"
    other = world.call("index_project", path=str(second))["project_id"]
    assert other.startswith("my app-")
    assert len(other) == len("my app-") + 4
    assert world.call("index_project", path=str(first))["project_id"] == "my app"
    assert world.call("list_projects") == {"projects": ["my app", other], "count": 2}
    assert names(world, "x", project_id="my app") == [("ä.py", None)]


@requirement("knowledge/code/ignored")
def test_what_is_left_out_is_counted_by_reason(world: World, tmp_path: Path) -> None:
    root = put(
        tmp_path / "p",
        {
            ".gitignore": "*.log\n",
            ".memoryignore": "secret/\n",
            "a.py": "tea = 1\n",
            "b.log": "tea\n",
            "secret/tea.py": "tea = 2\n",
            ".hidden.py": "tea = 3\n",
            "deep/.gitignore": "c.py\n",
            "deep/c.py": "tea = 4\n",
            "big.txt": "tea\n" * 300_000,
            "image.bin": "tea",
        },
    )
    (root / "nul").write_bytes(b"tea\0")
    (root / "link.py").symlink_to(root / "a.py")
    answer = world.call("index_project", path=str(root))
    assert answer["files_indexed"] == 1
    assert names(world, "tea") == [("a.py", None)]
    assert answer["skipped"] == {
        "binary": 2,
        "hidden": 4,
        "ignored": 3,
        "link": 1,
        "too_large": 1,
    }
    assert world.call("get_index_status", project_id="p")["skipped"] == answer["skipped"]


@requirement("knowledge/code/incremental")
def test_only_what_changed_is_read_and_embedded_again(opener: Opener, kettle: Path) -> None:
    embedder = WordEmbedder()
    world = opener(ready(embedder), wait=10)
    created = world.call("index_project", path=str(kettle))["chunks_created"]
    assert len(embedder.embedded) == created
    before = {each["name"]: each["id"] for each in found(world, "Verifier check issue")}
    assert world.call("index_project", path=str(kettle))["chunks_created"] == 0
    put(kettle, {"auth/verify.py": VERIFY.replace("return secret\n", "return secret[::-1]\n")})
    again = world.call("index_project", path=str(kettle))
    assert (again["files_indexed"], again["chunks_created"]) == (4, 1)
    assert len(embedder.embedded) == created + 1
    after = {each["name"]: each["id"] for each in found(world, "Verifier check issue")}
    assert {name for name in before if before[name] != after[name]} == {"issue"}


def test_lines_that_moved_keep_their_vectors(opener: Opener, kettle: Path) -> None:
    embedder = WordEmbedder()
    world = opener(ready(embedder), wait=10)
    created = world.call("index_project", path=str(kettle))["chunks_created"]
    put(kettle, {"auth/verify.py": VERIFY.replace('"""Tokens."""\n', '"""Tokens."""\n\n\n')})
    assert world.call("index_project", path=str(kettle))["chunks_created"] <= 1
    assert len(embedder.embedded) <= created + 1
    (first, *_) = found(world, "Verifier.check")
    assert (first["start_line"], first["end_line"]) == (9, 12)


def test_files_that_went_or_were_renamed_disappear(world: World, kettle: Path) -> None:
    world.call("index_project", path=str(kettle))
    (kettle / "README.md").unlink()
    (kettle / "auth" / "verify.py").rename(kettle / "auth" / "tokens.py")
    answer = world.call("index_project", path=str(kettle))
    assert answer["files_indexed"] == 3
    paths = {path for path, _ in names(world, "tokens Verifier water Kettle", limit=50)}
    assert "auth/tokens.py" in paths
    assert not paths & {"README.md", "auth/verify.py"}


@requirement("knowledge/get_index_status/status")
def test_a_project_is_pending_then_indexing_then_failed_or_completed(
    world: World, kettle: Path
) -> None:
    seen: list[str] = []

    def status() -> str:
        told: str = world.call("get_index_status", project_id="kettle")["status"]
        return told

    def cut_short(part: float, what: str) -> None:
        seen.append(status())
        raise Conflict("kettle", "the person has had enough")

    def look(part: float, what: str) -> None:
        seen.append(status())

    # Another that has the project's lock keeps the first run from beginning.
    with world.app.infrastructure.locks.hold("default\0kettle") as mine:
        assert mine
        world.call("index_project", path=str(kettle))
        assert status() == "pending"
    world.by(progress=cut_short).refused("index_project", path=str(kettle))
    assert (seen, status()) == (["indexing"], "failed")
    world.by(progress=look).call("index_project", path=str(kettle))
    assert (set(seen), status()) == ({"indexing"}, "completed")


@requirement(
    "knowledge/get_index_status/output",
    "knowledge/system/later-project_info",
)
def test_the_status_of_a_project_tells_how_far_it_is(world: World, kettle: Path) -> None:
    created = world.call("index_project", path=str(kettle))["chunks_created"]
    status = world.call("get_index_status", project_id="kettle")
    assert status == world.call("project_info", action="status", project_id="kettle")
    assert status == {
        "project_id": "kettle",
        "path": str(kettle),
        "status": "completed",
        "total_files": 4,
        "indexed_files": 4,
        "total_chunks": created,
        "progress_percent": 100.0,
        "eta_seconds": None,
        "pending_chunks": 0,
        "started_at": "2026-01-06T12:00:00.000000Z",
        "completed_at": "2026-01-06T12:00:00.000000Z",
        "skipped": {},
    }


@requirement("knowledge/get_index_status/output")
def test_reading_is_the_first_fifth_of_the_progress(opener: Opener, tmp_path: Path) -> None:
    world = opener(loading(threading.Event()))
    root = put(tmp_path / "p", {f"{number:03}.py": "tea = 1\n" for number in range(200)})
    seen: list[dict[str, Any]] = []

    def look(part: float, what: str) -> None:
        if what in {"000.py", "100.py", "199.py"}:
            world.clock.turn(1)
            seen.append(world.call("get_index_status", project_id="p"))

    world.app.get(Projects).index(world.by(progress=look).caller, str(root), vectors_within=0)
    read = [each["indexed_files"] for each in seen]
    assert read == sorted(set(read))
    assert read[0] == 0
    assert [each["progress_percent"] for each in seen] == [count / 10 for count in read]
    assert {each["status"] for each in seen} == {"indexing"}
    # How long the vectors will take is not known before one was made.
    assert {each["eta_seconds"] for each in seen} == {None}


@requirement("knowledge/get_index_status/eta")
def test_without_a_model_the_time_left_is_that_of_reading(opener: Opener, tmp_path: Path) -> None:
    world = opener(failed())
    assert world.app.embedding.settle(10) == "error"
    root = put(tmp_path / "p", {f"{number:03}.py": "tea = 1\n" for number in range(200)})
    seen: list[dict[str, Any]] = []

    def look(part: float, what: str) -> None:
        if what in {"064.py", "130.py"}:
            world.clock.turn(8)
            seen.append(world.call("get_index_status", project_id="p"))

    world.app.get(Projects).index(world.by(progress=look).caller, str(root))
    assert [each["indexed_files"] for each in seen] == [64, 128]
    assert [each["progress_percent"] for each in seen] == [32.0, 64.0]
    assert [each["eta_seconds"] for each in seen] == [17, 9]


@requirement("knowledge/get_index_status/eta")
def test_the_time_left_comes_from_the_rate(opener: Opener, tmp_path: Path) -> None:
    release = threading.Event()
    world = opener(loading(release))
    text = "\n\n".join(f"def f{number}():\n    return 'tea'" for number in range(64))
    root = put(tmp_path / "p", {"a.py": text})
    world.app.get(Projects).index(world.caller, str(root), vectors_within=0)
    world.clock.turn(10)
    waiting = world.call("get_index_status", project_id="p")
    # All is read, which is a fifth of the work.
    assert (waiting["status"], waiting["progress_percent"]) == ("indexing", 20.0)
    assert (waiting["eta_seconds"], waiting["pending_chunks"]) == (None, 64)
    assert waiting["completed_at"] is None
    release.set()
    world.app.embedding.wait(60)
    world.app.embeddings.backfill_batch()
    halfway = world.call("get_index_status", project_id="p")
    assert (halfway["status"], halfway["progress_percent"]) == ("indexing", 60.0)
    assert (halfway["eta_seconds"], halfway["pending_chunks"]) == (10, 32)
    world.clock.turn(4)
    assert world.call("get_index_status", project_id="p")["eta_seconds"] == 6
    world.app.embeddings.backfill_batch()
    assert world.call("get_index_status", project_id="p")["status"] == "completed"


@requirement("knowledge/code/unknown-project")
def test_a_project_that_nobody_indexed_is_not_found(world: World) -> None:
    for tool in ("get_index_status", "delete_project"):
        assert world.refused(tool, project_id="gone") == "Project not found: gone"


@requirement("knowledge/list_projects/list", "knowledge/list_projects/output")
def test_projects_are_listed(world: World, kettle: Path) -> None:
    assert world.call("list_projects") == {"projects": [], "count": 0}
    world.call("index_project", path=str(kettle))
    listed = {"projects": ["kettle"], "count": 1}
    assert world.call("list_projects") == world.call("project_info", action="list") == listed


@requirement("knowledge/delete_project/delete", "knowledge/delete_project/output")
def test_a_deleted_project_is_gone_with_its_chunks(world: World, kettle: Path) -> None:
    created = world.call("index_project", path=str(kettle))["chunks_created"]
    world.call("index_project", path=str(put(kettle.parent / "other", {"a.py": "tea = 1\n"})))
    answer = world.call("project_info", action="delete", project_id="kettle")
    assert answer == {"chunks_deleted": created}
    assert world.call("list_projects")["projects"] == ["other"]
    assert names(world, "Verifier") == names(world, "tea") == [("a.py", None)]
    assert world.call("index_project", path=str(kettle))["chunks_created"] == created


def test_without_a_model_code_is_found_by_words(opener: Opener, kettle: Path) -> None:
    world = opener(failed(), wait=10)
    answer = world.call("index_project", path=str(kettle))
    assert answer["status"] == "completed"
    assert names(world, "Verifier.check")[0] == ("auth/verify.py", "Verifier.check")


def test_a_file_is_found_by_words_before_its_vectors_are_there(
    opener: Opener, kettle: Path
) -> None:
    opener(failed(), name="same", wait=10).call("index_project", path=str(kettle))
    world = opener(name="same")
    world.call("index_project", path=str(put(kettle.parent / "other", {"a.py": "tea = 1\n"})))
    assert names(world, "Point.len")[0] == ("src/point.rs", "Point::len")


@requirement(
    "knowledge/recall/include_code",
    "knowledge/recall/code-fields",
    "knowledge/recall/z-score",
    "knowledge/recall/z-normalised",
)
def test_recall_merges_memories_and_code_by_their_own_deviations(
    world: World, kettle: Path
) -> None:
    world.call("index_project", path=str(kettle))
    for text in ("tokens checked", "tokens signed", "tokens counted"):
        world.remember(text)
    only = world.call("recall", query="tokens", include_memories=False, include_code=True)
    alone = world.call("recall", query="tokens")
    both = world.call("recall", query="tokens", include_code=True, limit=50)
    assert (only["memories_count"], only["code_count"]) == (0, len(only["results"]))
    assert (both["memories_count"], both["code_count"]) == (3, len(both["results"]) - 3)
    scores = [each["score"] for each in both["results"]]
    assert scores == sorted(scores, reverse=True)
    for source, unmerged in (("memory", alone), ("code", only)):
        raw = {each["id"]: each["score"] for each in unmerged["results"]}
        if source == "code":
            assert len(raw) <= 10
            raw = {
                each["id"]: each["score"]
                for each in world.call(
                    "recall", query="tokens", include_memories=False, include_code=True, limit=50
                )["results"]
            }
        mean, deviation = fmean(raw.values()), pstdev(raw.values())
        told = {e["id"]: e["score"] for e in both["results"] if e["source"] == source}
        assert told == pytest.approx(
            {id: (s - mean) / deviation for id, s in raw.items()}, abs=0.02
        )
    code = next(each for each in both["results"] if each["source"] == "code")
    assert set(code) == {
        "id",
        "content",
        "source",
        "score",
        "vector_score",
        "bm25_score",
        "ppr_score",
        "relevance",
        "file_path",
        "start_line",
        "end_line",
    }


@requirement("knowledge/code/unknown-language")
def test_an_unknown_language_is_refused_with_the_known_ones(world: World) -> None:
    refused = world.refused("recall", query="Point", language="klingon", include_code=True)
    assert refused.startswith("Invalid argument `language`: must be one of bash, c, ")
    assert refused.count("typescript") == 1


@requirement("knowledge/recall/project-and-language")
def test_recall_of_code_keeps_to_a_project_and_a_language(world: World, kettle: Path) -> None:
    world.call("index_project", path=str(kettle))
    world.call("index_project", path=str(put(kettle.parent / "other", {"a.py": "Point = 1\n"})))
    asked = {"query": "Point", "include_code": True, "include_memories": False}

    def paths(**more: str) -> set[str]:
        return {each["file_path"] for each in world.call("recall", **asked, **more)["results"]}

    assert paths(language="rust") == {"src/point.rs"}
    assert paths(language="Rust") == paths(language="rs") == {"src/point.rs"}
    assert paths(project_id="other") == {"a.py"}
    assert paths(project_id="other", language="rust") == set()
    assert world.refused("recall", **asked, project_id="x") == "Project not found: x"


def test_projects_belong_to_whoever_may_see_them(world: World, kettle: Path) -> None:
    acme = world.by(organization="acme")
    acme.call("index_project", path=str(kettle))
    ana = world.by(organization="acme", user="ana")
    ana.call("index_project", path=str(put(kettle.parent / "own", {"a.py": "tea = 1\n"})))
    for other in (world.by(organization="zoo"), world.by(organization="acme", user="ben")):
        assert "own" not in other.call("list_projects")["projects"]
        assert ("a.py", None) not in names(other, "tea", limit=50)
        assert other.refused("get_index_status", project_id="own") == "Project not found: own"
        assert other.refused("delete_project", project_id="own") == "Project not found: own"
        assert other.refused("search_code", query="tea", project_id="own")
    assert found(world.by(organization="zoo"), "Verifier") == []
    assert names(ana, "tea")[0] == ("a.py", None)


def test_a_viewer_searches_and_indexes_nothing(world: World, kettle: Path) -> None:
    world.call("index_project", path=str(kettle))
    viewer = world.by(role=Role.VIEWER)
    assert names(viewer, "Verifier")
    for tool, arguments in (
        ("index_project", {"path": str(kettle)}),
        ("delete_project", {"project_id": "kettle"}),
    ):
        assert viewer.refused(tool, **arguments).startswith("Not allowed")
    assert world.call("list_projects")["count"] == 1


@requirement("knowledge/get_status/code-count", "knowledge/reset_all_memory/code-chunks")
def test_a_reset_removes_chunks_and_counts_them(world: World, kettle: Path) -> None:
    mine = world.call("index_project", path=str(kettle))["chunks_created"]
    other = world.by(name="other")
    root = put(kettle.parent / "other", {"a.py": "tea = 1\n"})
    other.call("index_project", path=str(root))
    assert world.call("get_status")["code_chunks_count"] == mine + 1
    answer = world.call("reset_all_memory", confirm=True)
    assert answer["deleted"]["code_chunks"] == mine
    assert answer["kept_others"] == 1
    assert world.call("get_status")["code_chunks_count"] == 1
    assert world.call("list_projects")["projects"] == ["other"]


def test_indexing_and_deleting_are_on_the_record(world: World, kettle: Path) -> None:
    world.call("index_project", path=str(kettle))
    world.call("delete_project", project_id="kettle")
    acts = [(entry.act, entry.outcome) for entry in world.entries("kettle")]
    assert acts == [("index", "done"), ("delete", "done")]


@requirement("knowledge/code/chunks", "knowledge/code/languages")
def test_every_line_of_a_file_lies_in_one_chunk_in_every_language(
    world: World, tmp_path: Path
) -> None:
    samples = {sample.name: sample.text for sample in SAMPLES}
    world.call("index_project", path=str(put(tmp_path / "samples", samples)))
    kept = world.store.find(CodeChunk, Filter(organization="default"), order=("path", "start_line"))
    chunks = [each for each in kept if isinstance(each, CodeChunk)]
    for name, text in samples.items():
        own = [each for each in chunks if each.path == name]
        assert "".join(each.content for each in own) == text
        ends = [0, *(each.end_line for each in own)]
        assert [each.start_line - 1 for each in own] == ends[:-1]
    assert {each.language for each in chunks} >= {
        *("rust", "python", "javascript", "typescript", "go", "java", "c", "cpp", "csharp"),
        *("ruby", "php", "swift", "kotlin", "scala", "bash", "objectivec", "objectivecpp"),
        *("markdown", "json", "yaml", "toml"),
    }


@requirement("knowledge/index_project/watch", "knowledge/code/watch-delay")
def test_a_watched_project_is_read_again_half_a_second_after_the_last_change(
    world: World, kettle: Path
) -> None:
    answer = world.call("index_project", path=str(kettle), watch=True)
    assert answer["watching"]
    assert QUIET_MS == 500
    # The watcher may not stand yet, but what changed before it did is read as well.
    put(kettle, {f"burst/{number}.py": f"whistle_{number} = 1\n" for number in range(300)})
    (kettle / "README.md").unlink()

    def seen() -> bool:
        paths = {path for path, _ in names(world, "whistle_7 Kettle", limit=50)}
        counted = world.call("get_index_status", project_id="kettle")["indexed_files"]
        return "burst/7.py" in paths and "README.md" not in paths and counted == 303

    wait_until(seen)


def test_a_caller_held_to_a_repository_indexes_into_it(world: World, kettle: Path) -> None:
    one = world.by(organization="acme", repositories=frozenset({"one"}))
    two = world.by(organization="acme", repositories=frozenset({"two"}))
    one.call("index_project", path=str(kettle))
    assert two.call("list_projects")["count"] == 0
    again = two.call("index_project", path=str(kettle))["project_id"]
    assert again.startswith("kettle-")
    assert {name for _, name in names(two, "Verifier.check")} >= {"Verifier.check"}
    several = Caller(name="a", role=Role.AGENT, repositories=frozenset({"one", "two"}))
    assert "name one" in world.by(repositories=several.repositories, organization="acme").refused(
        "index_project", path=str(kettle)
    )
