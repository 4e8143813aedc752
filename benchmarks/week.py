"""Play a week of a developer through hooks, and judge each line told: `python -m benchmarks week [--quick] [--show]`.

`week/` holds thirteen transcripts of one developer in three projects, in Claude Code's form, and `plan.json`: in which order
they were, which memories a person or an agent kept after which turn, and which prompts are about nothing that memory knows.
Each event goes to the function by which the daemon answers hooks, at the instant of the transcript: a session's start, each
prompt, its end, which keeps and summarizes it. `judged.json` has the judgement of each line that was told, made by hand:
`right` (it helps and holds), `stale` (something said since says otherwise), `beside` (it does not concern the prompt). Lines are
known by where they were told and their words, without who and when; one that nobody judged is counted apart.
"""

import json
import re
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

from benchmarks.measure import ROOT, Cell, Table, asked, machine, publish
from minutebook.app import App, open_app
from minutebook.config import settings_with
from minutebook.config.whereabouts import known_place, scope_of
from minutebook.features.hooks import log
from minutebook.features.hooks.answers import answer
from minutebook.record.caller import Call
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft

WEEKS = {
    "A week of one developer in three projects": ROOT / "benchmarks" / "week",
    "Another week, of three projects in German, French and Chinese": ROOT
    / "benchmarks"
    / "week_unseen",
}
"""The folders of transcripts, by name; the second was written before, and not looked at, when rules were made for the first."""

HOME = "/home/kim"
"""The folder in which the transcripts say that the projects are."""

CLIENT = "claude-code"
QUICK = 4
"""Sessions of the short form: the first ones."""

LABELS = ("right", "stale", "beside")
_WORDS = re.compile(r"^- (.*) \([^()]*\)$")
_HEADING = re.compile(r".*:$")


@dataclass(frozen=True, slots=True)
class Told:
    """The lines that were told at a moment of the week (`03 start`, `03 prompt 2`), and their tokens."""

    moment: str
    prompt: str
    is_about_nothing: bool
    lines: tuple[str, ...]
    tokens: int


class Week:
    """The week, played event by event in a folder; its clock is that of the transcripts."""

    def __init__(self, week: Path, folder: Path) -> None:
        self._week = week
        self._folder = folder
        self._now = datetime(2026, 11, 9, tzinfo=UTC)
        self._settings = settings_with(home=folder / "data", scope_from_folder="on")

    def play(self, sessions: int) -> Iterator[Told]:
        """Yield the lines told at each moment of so many sessions."""
        plan = json.loads((self._week / "plan.json").read_text(encoding="utf-8"))[:sessions]
        for project in {each["project"] for each in plan}:
            _begin(self._folder / project)
        with closing(open_app(self._settings, clock=lambda: self._now)) as app:
            app.embedding.start()
            app.embedding.wait(timeout=None)
            for each in plan:
                yield from self._session(app, each)

    def _session(self, app: App, plan: Mapping[str, Any]) -> Iterator[Told]:
        number = plan["file"][:2]
        text = (
            (self._week / plan["file"]).read_text(encoding="utf-8").replace(HOME, str(self._folder))
        )
        transcript = self._folder / "claude" / "projects" / plan["project"] / plan["file"]
        transcript.parent.mkdir(parents=True, exist_ok=True)
        transcript.write_text(text, encoding="utf-8")
        rows = [json.loads(line) for line in text.splitlines()]
        prompts = [row for row in rows if isinstance(row["message"]["content"], str)]
        common = {
            "session_id": rows[0]["sessionId"],
            "cwd": rows[0]["cwd"],
            "transcript_path": str(transcript),
        }
        self._at(prompts[0])
        yield self._told(app, f"{number} start", {**common, "hook_event_name": "SessionStart"})
        for turn, row in enumerate(prompts):
            self._at(row)
            event = {**common, "hook_event_name": "UserPromptSubmit"}
            event["prompt"] = row["message"]["content"]
            told = self._told(app, f"{number} prompt {turn + 1}", event)
            yield replace(told, is_about_nothing=turn in plan["about_nothing"])
            for kept in (each for each in plan["keeps"] if each["turn"] == turn):
                self._keep(app, Path(common["cwd"]), kept)
        self._at(rows[-1])
        self._told(app, "", {**common, "hook_event_name": "SessionEnd", "reason": "exit"})
        app.embeddings.backfill(Event())

    def _at(self, row: Mapping[str, Any]) -> None:
        self._now = datetime.fromisoformat(row["timestamp"])

    def _told(self, app: App, moment: str, event: Mapping[str, Any]) -> Told:
        """Answer an event, and note it in the log of hooks, as the process of a hook does."""
        said, note = answer(app, self._settings, CLIENT, event, self._folder / "claude")
        note()
        log.append(
            str(self._settings.home),
            at=self._now.isoformat(),
            client=CLIENT,
            event=event["hook_event_name"],
            session=event["session_id"],
            outcome=said.outcome,
            tokens=said.tokens,
            ids=said.ids,
            is_briefing=said.is_briefing,
        )
        output = (said.output or {}).get("hookSpecificOutput", {})
        text = output.get("additionalContext", "") if isinstance(output, dict) else ""
        lines = tuple(text.splitlines()[1:])
        return Told(moment, event.get("prompt", ""), False, lines, said.tokens)

    def _keep(self, app: App, folder: Path, kept: Mapping[str, str]) -> None:
        """Keep a memory as a person at the terminal does, or as the agent of the session."""
        is_person = kept["who"] == "person"
        caller = replace(
            self._settings.caller(),
            name="kim" if is_person else CLIENT,
            role=Role.HUMAN if is_person else Role.AGENT,
            call=Call(request="benchmark"),
            folder_scope=scope_of(known_place(self._settings, folder)),
        )
        app.memories.store(caller, Draft(content=kept["text"], type=MemoryType(kept["type"])))
        app.embeddings.backfill(Event())


def _begin(project: Path) -> None:
    """Begin a repository that Git on this machine knows."""
    project.mkdir(parents=True)
    (project / "README.md").write_text(project.name, encoding="utf-8")
    own = ("-c", "user.name=kim", "-c", "user.email=kim@example.org")
    for words in (
        ("init", "-q"),
        ("remote", "add", "origin", f"https://git.example.org/kim/{project.name}.git"),
        ("add", "."),
        (*own, "commit", "-q", "-m", "begin"),
    ):
        subprocess.run(["git", "-C", str(project), *words], check=True)


def words_of(line: str) -> str:
    """Return a line without its author and age."""
    found = _WORDS.match(line)
    return found[1] if found else line


def judged(week: Path, told: Sequence[Told]) -> dict[tuple[str, str], str]:
    """Return the label of each line told, by moment and words; empty for one that nobody judged."""
    labels: Mapping[str, Mapping[str, str]] = json.loads(
        (week / "judged.json").read_text(encoding="utf-8")
    )
    return {
        (each.moment, words_of(line)): labels.get(each.moment, {}).get(words_of(line), "")
        for each in told
        for line in each.lines
        if not _HEADING.match(line)
    }


def table(name: str, told: Sequence[Told]) -> Table:
    """Sum up a week, by kind of moment."""
    labels = judged(WEEKS[name], told)
    groups = {
        "when a session starts": [each for each in told if not each.prompt],
        "before a prompt": [each for each in told if each.prompt and not each.is_about_nothing],
        "before one about nothing known": [each for each in told if each.is_about_nothing],
        "all": list(told),
    }
    rows: list[tuple[Cell, ...]] = []
    for moment, group in groups.items():
        own = {each.moment for each in group}
        counts = Counter(label for (told_at, _), label in labels.items() if told_at in own)
        tokens = [each.tokens for each in group if each.lines]
        middle = round(statistics.median(tokens)) if tokens else 0
        number = sum(counts.values())
        share = f"{100 * counts['right'] / number:.0f} %" if number else ""
        rows.append((moment, len(group), len(tokens), number, *(counts[each] for each in LABELS), counts[""], share, middle))  # fmt: skip
    head = ("moment", "number", "something told", "lines", "right", "stale", "beside the point", "not judged", "right of all", "tokens, median where told")  # fmt: skip
    return Table(name, head, rows)


def show(name: str, told: Sequence[Told]) -> None:
    """Print what was told at each moment of a week, with its judgement."""
    labels = judged(WEEKS[name], told)
    print(f"\n# {name}")
    for each in told:
        about = "  [about nothing]" if each.is_about_nothing else ""
        print(f"\n## {each.moment}{about} {each.prompt} ({each.tokens} tokens)")
        for line in each.lines:
            label = labels.get((each.moment, words_of(line)), "-")
            print(f"{label or '?':<7}{line}")


def main() -> None:
    """Play, judge, print, keep."""
    parser = asked("Judge what hooks tell through a week.")
    parser.add_argument("--show", action="store_true", help="print each line, and its judgement")
    given = parser.parse_args()
    tables = []
    for name, week in WEEKS.items():
        with tempfile.TemporaryDirectory() as folder:
            told = list(Week(week, Path(folder)).play(QUICK if given.quick else 13))
        if given.show:
            show(name, told)
        tables.append(table(name, told))
    publish("week", machine(), tables, quick=given.quick)


if __name__ == "__main__":
    main()
