"""Make questions with the texts that answer them out of public data; README.md names each source and its licence.

A pool is some texts that resemble one another (functions of a file, paragraphs of an article, turns of
a talk) and questions, each with the texts that answer it; the others are what it must be told from.
"""

import html
import json
import random
import re
import subprocess
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks import docstrings

LONGEST = 1000
"""Characters of a text that are kept."""
SHORTEST = 20
"""Characters of a text at the least, where it is more than a sentence."""
FREE = re.compile(r"MIT|BSD|Apache|ISC|Python-2\.0|PSF", re.IGNORECASE)
"""The licences of packages whose code is used."""
TURNS_OF_A_SPAN = 40
"""A span of more turns answers a question nowhere in particular."""

_HELP = "en-us de es fr it ru tr el hi vi zh-cn ja ko pl pt-br cs nl hu sv fi"
"""The languages of LibreOffice's help that are used."""
DEBIAN = ["gnome-user-docs", *(f"libreoffice-help-{code}" for code in _HELP.split(" "))]
REPOSITORIES = {
    "laser": "facebookresearch/LASER",
    "qmsum": "Yale-LILY/QMSum",
    "crd3": "RevanthRameshkumar/CRD3",
    "molweni": "HIT-SCIR/Molweni",
    "arcd": "husseinmozannar/SOQAL",
    "jaquad": "SkelterLabsInc/JaQuAD",
    "cmrc": "ymcui/cmrc2018",
    "iapp": "iapp-technology/iapp-wiki-qa-dataset",
    "dream": "nlpdata/dream",
    "tquad": "TQuad/turkish-nlp-qa-dataset",
    "friends": "emorynlp/FriendsQA",
}
"""Public repositories, https://github.com/ before each."""

_MALLARD = "{http://projectmallard.org/1.0/}"
_JSDOC = re.compile(r"/\*\*((?:(?!\*/).)+)\*/[ \t]*\n((?:(?!\s*/\*\*)[^\n]*\n){1,25})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pool:
    """Texts that resemble one another, and questions, each with the indices of the texts that answer it."""

    texts: Sequence[str]
    questions: Sequence[tuple[str, Sequence[int]]]


def fetch(work: Path) -> None:
    """Clone the repositories and unpack the Debian packages below a folder, unless they are there."""
    for repository in REPOSITORIES.values():
        place = _clone_of(work, repository)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            address = f"https://github.com/{repository}"
            command = ["git", "clone", "--quiet", "--bare", "--depth", "1", address, str(place)]
            subprocess.run(command, check=True)
    packages, unpacked = work / "deb", work / "debian"
    packages.mkdir(parents=True, exist_ok=True)
    for name in DEBIAN:
        if not list(packages.glob(f"{name}_*.deb")):
            subprocess.run(["apt-get", "download", name], cwd=packages, check=True)
    if not unpacked.exists():
        for package in sorted(packages.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", str(package), str(unpacked)], check=True)


def _clone_of(work: Path, repository: str) -> Path:
    return work / "clones" / repository.replace("/", "+")


def _git(work: Path, name: str, *arguments: str) -> str:
    place = _clone_of(work, REPOSITORIES[name])
    done = subprocess.run(["git", "-C", str(place), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def _show(work: Path, name: str, path: str) -> str:
    return _git(work, name, "show", f"HEAD:{path}")


def _files(work: Path, name: str, under: str) -> list[str]:
    return _git(work, name, "ls-tree", "-r", "-z", "--name-only", "HEAD", under).split("\0")[:-1]


def _plain(text: str) -> str:
    return " ".join(html.unescape(text).split())


def python_packages(_: Path) -> Iterator[Pool]:
    """Yield first paragraphs of docstrings and the functions they were cut out of, by file."""
    for package in metadata.distributions(path=[sysconfig.get_path("purelib")]):
        told = package.metadata
        licence = [*(told.get_all("License-Expression") or []), *(told.get_all("License") or [])]
        licence += [each for each in told.get_all("Classifier") or [] if "License" in each]
        if not FREE.search(" ".join(licence)[:400]):
            continue
        for file in package.files or []:
            if file.suffix == ".py" and "test" not in str(file):
                yield from _functions(Path(str(file.locate())))


def _functions(path: Path) -> Iterator[Pool]:
    try:
        with warnings.catch_warnings(action="ignore"):
            bare, asked = docstrings.cut(path.name, path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, OSError, ValueError):
        return
    lines = bare.split("\n")
    bodies = ["\n".join(lines[each.first - 1 : each.last])[:LONGEST] for each in asked]
    yield Pool(bodies, [(each.paragraph, [at]) for at, each in enumerate(asked)])


def npm_packages(work: Path) -> Iterator[Pool]:
    """Yield first sentences of JSDoc comments and the code below them, by file of `work/node_modules`."""
    for manifest in sorted((work / "node_modules").glob("**/package.json")):
        licence = str(json.loads(manifest.read_text(encoding="utf-8")).get("license", ""))
        if not FREE.search(licence):
            continue
        for file in sorted(manifest.parent.rglob("*.[jt]s")):
            text = file.read_text(encoding="utf-8", errors="replace")
            if len(text) > 300_000 or file.relative_to(manifest.parent).parts[0] == "node_modules":
                continue
            found = dict[str, str]()
            for comment, body in _JSDOC.findall(text):
                said = _plain(re.sub(r"^\s*\*", "", comment, flags=re.MULTILINE)).split("@")[0]
                sentence = re.split(r"(?<=[.!?])\s", said.strip())[0]
                if docstrings.SHORTEST <= len(sentence.split()) <= docstrings.LONGEST:
                    found.setdefault(body[:LONGEST], sentence)
            yield Pool(list(found), [(said, [at]) for at, said in enumerate(found.values())])


def gnome(work: Path) -> Iterator[Pool]:
    """Yield titles and summaries of help pages with the pages, within a language and across two."""
    pages = {
        folder.parent.name: dict(filter(None, map(_mallard, sorted(folder.glob("*.page")))))
        for folder in sorted((work / "debian/usr/share/help").glob("*/gnome-help"))
    }
    yield from _parallel(pages)


def _mallard(path: Path) -> tuple[str, tuple[list[str], str]] | None:
    root = ElementTree.parse(path).getroot()
    title = root.find(f"{_MALLARD}title")
    summary = root.find(f"{_MALLARD}info/{_MALLARD}desc")
    if title is None:
        return None
    said = [
        _plain("".join(each.itertext()))
        for part in root
        if part.tag not in (f"{_MALLARD}info", f"{_MALLARD}title")
        for each in part.iter(f"{_MALLARD}p")
    ]
    asked = [_plain("".join(each.itertext())) for each in (title, summary) if each is not None]
    return path.name, (asked, " ".join(said)[:LONGEST])


def libreoffice(work: Path) -> Iterator[Pool]:
    """Yield titles of help pages with the pages, within a language and across two."""
    pages = {}
    for folder in sorted((work / "debian/usr/share/libreoffice/help").glob("*/text")):
        found = {}
        for path in sorted(folder.rglob("*.html")):
            text = path.read_text(encoding="utf-8", errors="replace")
            title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
            body = text.partition('id="DisplayArea"')[2].partition("<footer")[0].partition(">")[2]
            body = re.sub(r"<script.*?</script>|<h1.*?</h1>|<[^>]+>", " ", body, flags=re.DOTALL)
            if title:
                said = _plain(title[1]), _plain(body)[:LONGEST]
                found[str(path.relative_to(folder))] = ([said[0]], said[1])
        pages[folder.parent.name] = found
    yield from _parallel(pages)


def _parallel(pages: Mapping[str, Mapping[str, tuple[list[str], str]]]) -> Iterator[Pool]:
    """Ask each language's titles of its own pages, and of those of another language."""
    languages = sorted(pages)
    chance = random.Random(len(languages))
    for language in languages:
        for asking in (language, chance.choice(languages)):
            both = sorted(pages[language].keys() & pages[asking].keys())
            chance.shuffle(both)
            for first in range(0, len(both), 100):
                names = both[first : first + 100]
                texts = [pages[language][name][1] for name in names]
                questions = [
                    (title, [at])
                    for at, name in enumerate(names)
                    for title in pages[asking][name][0]
                ]
                yield Pool(texts, questions)


def tatoeba(work: Path) -> Iterator[Pool]:
    """Yield sentences with their translations from and into English."""
    paths = _files(work, "laser", "data/tatoeba/v1/")
    for path in (each for each in paths if each.endswith(".eng")):
        english = _show(work, "laser", path).splitlines()
        code = path.rpartition(".")[0].rpartition(".")[2].partition("-")[0]
        other = _show(work, "laser", f"{path.removesuffix('eng')}{code}").splitlines()
        for texts, asked in ((english, other), (other, english)):
            for first in range(0, len(texts), 100):
                some = texts[first : first + 100]
                questions = [(each, [at]) for at, each in enumerate(asked[first : first + 100])]
                yield Pool(some, questions)


def _turn(speaker: str, text: str) -> str:
    said = re.sub(r"[{]\w+[}]", "", text)
    return f"{speaker}: {_plain(said)}"[:LONGEST]


def qmsum(work: Path) -> Iterator[Pool]:
    """Yield questions on meetings, and what was said of them, with the turns that answer."""
    for part in ("train", "val", "test"):
        for path in _files(work, "qmsum", f"data/ALL/{part}/"):
            yield _meeting(json.loads(_show(work, "qmsum", path)))


def _meeting(told: Mapping[str, Any]) -> Pool:
    turns = [_turn(each["speaker"], each["content"]) for each in told["meeting_transcripts"]]
    long = {at: len(each) >= 2 * SHORTEST for at, each in enumerate(turns)}
    questions = []
    for each in told["specific_query_list"]:
        ends = [(int(first), int(last)) for first, last in each["relevant_text_span"]]
        held = [at for first, last in ends for at in range(first, last + 1) if long.get(at)]
        if 0 < len(held) <= TURNS_OF_A_SPAN:
            questions.append((each["query"], held))
            sentences = re.split(r"(?<=[.!?])\s", each["answer"])
            questions += [(said, held) for said in sentences[:2] if len(said) > 2 * SHORTEST]
    return _without_idle(Pool(turns, questions), long)


def _without_idle(pool: Pool, told: Mapping[int, bool]) -> Pool:
    """Leave out the texts that are too short to say something."""
    place = {at: new for new, at in enumerate(at for at in range(len(pool.texts)) if told[at])}
    questions = [(asked, [place[at] for at in held]) for asked, held in pool.questions]
    return Pool([pool.texts[at] for at in place], questions)


def crd3(work: Path) -> Iterator[Pool]:
    """Yield sentences of the summary of a played story with the turns that they tell of."""
    for path in _files(work, "crd3", "data/aligned data/c=2/"):
        told = json.loads(_show(work, "crd3", path))
        turns = dict[int, str]()
        asked = list[tuple[str, list[int]]]()
        for each in told:
            own = {
                turn["NUMBER"]: _turn(
                    " and ".join(turn["NAMES"]).title(), " ".join(turn["UTTERANCES"])
                )
                for turn in each["TURNS"]
            }
            turns |= own
            held = [at for at, text in own.items() if len(text) >= 2 * SHORTEST]
            if 0 < len(held) <= TURNS_OF_A_SPAN and each["ALIGNMENT"]["ALIGNMENT SCORE"] > 0:
                sentences = re.split(r"(?<=[.!?])\s", _plain(each["CHUNK"]))
                asked += [(said, held) for said in sentences if len(said) > 2 * SHORTEST]
        names = sorted(at for at, text in turns.items() if len(text) >= 2 * SHORTEST)
        place = {at: new for new, at in enumerate(names)}
        questions = [(said, [place[at] for at in held]) for said, held in asked]
        yield Pool([turns[at] for at in names], questions)


def molweni(work: Path) -> Iterator[Pool]:
    """Yield questions on technical chats with the turns that hold the answer."""
    told = json.loads(_show(work, "molweni", "MRC(withDiscourse)/test.json"))
    talks = told["data"]["dialogues"]
    for first in range(0, len(talks), 10):
        texts, questions = list[str](), list[tuple[str, list[int]]]()
        for talk in talks[first : first + 10]:
            own = [_turn(each["speaker"], each["text"]) for each in talk["edus"]]
            for asked in talk["qas"]:
                answers = {_plain(each["text"]).lower() for each in asked["answers"]}
                held = [
                    len(texts) + at
                    for at, text in enumerate(own)
                    if any(answer and answer in text.lower() for answer in answers)
                ]
                if held:
                    questions.append((asked["question"], held))
            texts += own
        yield Pool(texts, questions)


def _squad(articles: Sequence[Mapping[str, Any]], least: int = 12) -> Iterator[Pool]:
    """Yield paragraphs and their questions, of some articles together."""
    texts, questions = list[str](), list[tuple[str, Sequence[int]]]()
    for article in articles:
        for paragraph in article["paragraphs"]:
            if questions and len(texts) >= least:
                yield Pool(texts, questions)
                texts, questions = [], []
            questions += [(each["question"], [len(texts)]) for each in paragraph["qas"]]
            texts.append(_plain(paragraph["context"])[:LONGEST])
    if questions:
        yield Pool(texts, questions)


def arcd(work: Path) -> Iterator[Pool]:
    """Yield Arabic questions on Wikipedia."""
    yield from _squad(json.loads(_show(work, "arcd", "data/arcd.json"))["data"])


def jaquad(work: Path) -> Iterator[Pool]:
    """Yield Japanese questions on Wikipedia."""
    for path in _files(work, "jaquad", "data/train/"):
        yield from _squad(json.loads(_show(work, "jaquad", path))["data"])


def cmrc(work: Path) -> Iterator[Pool]:
    """Yield Chinese questions on Wikipedia."""
    for part in ("dev", "trial"):
        path = f"squad-style-data/cmrc2018_{part}.json"
        yield from _squad(json.loads(_show(work, "cmrc", path))["data"])


def iapp(work: Path) -> Iterator[Pool]:
    """Yield Thai questions on Wikipedia."""
    lines = _show(work, "iapp", "squad_format/data/test.jsonl").splitlines()
    by_text = dict[str, list[Any]]()
    for row in map(json.loads, lines):
        by_text.setdefault(row["context"], []).append(row)
    yield from _squad(
        [{"paragraphs": [{"context": text, "qas": qas} for text, qas in by_text.items()]}]
    )


def tquad(work: Path) -> Iterator[Pool]:
    """Yield Turkish questions on the history of science; to measure by."""
    yield from _squad(json.loads(_show(work, "tquad", "dev-v0.1.json"))["data"], 60)


def friends(work: Path) -> Iterator[Pool]:
    """Yield questions on television scenes with the turns that answer; to measure by."""
    for part in ("dev", "tst"):
        for scene in json.loads(_show(work, "friends", f"dat/friendsqa_{part}.json"))["data"]:
            for told in scene["paragraphs"]:
                said = told["utterances:"]
                turns = [_turn(", ".join(each["speakers"]), each["utterance"]) for each in said]
                questions = [
                    (
                        each["question"],
                        sorted({answer["utterance_id"] for answer in each["answers"]}),
                    )
                    for each in told["qas"]
                ]
                yield Pool(turns, questions)


def dream(work: Path) -> Iterator[Pool]:
    """Yield questions on short talks, all turns of which answer; to measure by."""
    told = json.loads(_show(work, "dream", "data/dev.json"))
    for first in range(0, len(told), 60):
        some = told[first : first + 60]
        yield Pool(
            [" ".join(turns)[:LONGEST] for turns, _, _ in some],
            [(each["question"], [at]) for at, (_, asked, _) in enumerate(some) for each in asked],
        )


Source = Callable[[Path], Iterator[Pool]]

TRAINING: Mapping[str, tuple[Source, int]] = {
    "python": (python_packages, 1200),
    "npm": (npm_packages, 600),
    "gnome": (gnome, 1300),
    "libreoffice": (libreoffice, 1300),
    "tatoeba": (tatoeba, 1500),
    "qmsum": (qmsum, 700),
    "crd3": (crd3, 1400),
    "molweni": (molweni, 800),
    "arcd": (arcd, 800),
    "jaquad": (jaquad, 800),
    "cmrc": (cmrc, 500),
    "iapp": (iapp, 300),
}
"""What training may use, and how many questions of each it uses."""
STRETCHES = ("qmsum", "crd3")
"""Whose labels are stretches of a talk: see `sharpened.py`."""

MEASURING: Mapping[str, tuple[Source, int]] = {
    "friends": (friends, 700),
    "dream": (dream, 500),
    "tquad": (tquad, 400),
}
"""What is measured by alone: a licence that is for research only, unclear or not stated."""


def usable(pool: Pool) -> Pool | None:
    """Keep a pool's questions that one text at least answers, and no question twice; None if none is left."""
    kept: dict[str, Sequence[int]] = {}
    for asked, held in pool.questions:
        good = [at for at in held if len(pool.texts[at]) >= SHORTEST]
        if asked.strip() and good and asked not in kept:
            kept[asked] = good
    return Pool(pool.texts, list(kept.items())) if kept and len(pool.texts) > 3 else None
