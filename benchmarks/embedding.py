"""The built-in models: how quick, how large, how near multilingual-e5-small is to the full computation.

`python -m benchmarks.embedding [--quick]`; the short form leaves out the comparison of vectors.
Latencies are medians of wall time, with the CPU time of all threads beside them. Load time and
memory are those of fresh processes.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.measure import Table, Timing, asked, machine, publish, timed
from minutebook.features.models.built_in import builtin, model_files
from minutebook.features.models.built_in.builtin import BuiltInEmbedder
from minutebook.features.models.built_in.tokenizer import Tokenizer
from tests.features.models.oracle import Oracle
from tools.models.derive import MULTILINGUAL

SENTENCES = [
    "We moved the production database to PostgreSQL because writers kept waiting for one another.",
    "The certificate of the staging server expires on the third of May and nobody renewed it.",
    "Alice prefers short stand-ups before ten and asked to drop the one on Fridays.",
    "Retries are capped at four with exponential backoff, after the incident in the spring.",
    "Die Abrechnung läuft nachts um zwei und braucht seit dem Umzug doppelt so lange.",
    "Der Kunde in Wien will die Rechnungen künftig als PDF und als XML bekommen.",
    "La facture du mois de mars contient une erreur de TVA que le client a signalée.",
    "El equipo decidió no usar colas de mensajes hasta que haya más de diez mil usuarios.",
    "O relatório trimestral deve ser enviado ao conselho até o dia quinze de abril.",
    "Мы решили хранить журналы девяносто дней, а затем переносить их в холодное хранилище.",
    "Сервер поиска падает, если запрос содержит больше тысячи слов.",
    "会议决定从下个月起所有接口都必须通过网关访问。",
    "検索の結果は新しい順ではなく関連度の順に並べることにした。",
    "고객 데이터는 유럽 지역을 벗어나서는 안 된다고 합의했습니다.",
    "قرر الفريق تأجيل الإصدار أسبوعين بسبب مشكلة في الدفع.",
    "ग्राहक ने कहा कि रिपोर्ट हर सोमवार की सुबह आठ बजे चाहिए।",
    "Toplantı perşembe gününe alındı çünkü müdür seyahatte olacak.",
    "Spotkanie w sprawie budżetu przeniesiono na przyszły tydzień.",
    "ทีมตกลงกันว่าจะเขียนทดสอบก่อนเขียนโค้ดเสมอ",
    "def area(radius: float) -> float:\n    return math.pi * radius ** 2",
    "SELECT id, total FROM invoices WHERE paid_at IS NULL ORDER BY due_at LIMIT 50",
    "docker compose up -d --build && docker compose logs -f web",
]

FRESH = """
import sys, time
from pathlib import Path
import minutebook.model
def resident():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    return int(lines["VmRSS"].split()[0]) / 1024
before = resident()
started, cpu = time.perf_counter(), time.process_time()
from minutebook.features.models.built_in import builtin
embedder = builtin.open_model()
loaded, used = time.perf_counter() - started, time.process_time() - cpu
embedder.embed_query("which day is the meeting?")
first = time.perf_counter() - started
opened = resident()
for _ in range(5):
    embedder.embed_passages(sys.argv[1:])
print(loaded, used, first, before, opened, resident())
"""


def texts_of(tokenizer: Tokenizer, tokens: int, count: int) -> list[str]:
    """Cut texts of `tokens` tokens, prefix and special tokens included."""
    room = tokens - 2 - len(tokenizer.ids(builtin.PASSAGE_PREFIX))
    words = " ".join(SENTENCES * (tokens // 10 + 2)).split()
    texts = []
    for number in range(count):
        start, stop = number * 7 % 150, number * 7 % 150 + 1
        while len(tokenizer.ids(" ".join(words[start : stop + 1]))) <= room:
            stop += 1
        text = " ".join(words[start:stop])
        texts.append(text + " ," * (room - len(tokenizer.ids(text))))
    return texts


QUESTION = "which day was the budget meeting moved to"


def speeds(tokenizer: Tokenizer, share: int) -> dict[str, Timing]:
    """Measure one question, a hundred passages, one full passage; full rounds divided by `share`."""
    embedder = builtin.open_model()
    sixty, full = texts_of(tokenizer, 60, 100), texts_of(tokenizer, builtin.POSITIONS, 1)
    assert all(len(made.rows) == 1 for made in embedder.embed_passages([*sixty, *full]))
    rounds = 100 // share
    return {
        "query of 12 tokens": timed(lambda _: embedder.embed_query(QUESTION), rounds),
        "100 texts of 60 tokens": timed(
            lambda _: embedder.embed_passages(sixty), 8 // share, warm=1
        ),
        "text of 512 tokens": timed(lambda _: embedder.embed_passages(full), 16 // share, warm=1),
    }


def starts(texts: Sequence[str], rounds: int) -> dict[str, float]:
    """Measure a fresh process: load, first answer, memory before and after work; medians."""
    rows = []
    for _ in range(rounds):
        command = [sys.executable, "-c", FRESH, *texts]
        told = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append([float(value) for value in told.stdout.split()])
    medians = [statistics.median(column) for column in zip(*rows, strict=True)]
    names = ["load s", "its CPU s", "first query s", "RSS before MB", "RSS open MB", "RSS MB"]
    return dict(zip(names, medians, strict=True))


def fidelity(embedder: BuiltInEmbedder, tokenizer: Tokenizer) -> dict[str, float]:
    """Compare with the full computation in float32 over the same 4-bit weights."""
    oracle = Oracle(MULTILINGUAL.open())
    texts = [*SENTENCES, *texts_of(tokenizer, 60, 20), *texts_of(tokenizer, 512, 2)]
    found, full = [], []
    for prefix, embed in (
        ("query:", lambda text: embedder.embed_query(text).others[builtin.E5_ALONE.digest]),
        ("passage:", lambda text: embedder.embed_code([text])[0].vector),
    ):
        for text in texts:
            ids = tokenizer.ids(f"{prefix} {text}", builtin.POSITIONS - 2)
            found.append(embed(text))
            full.append(oracle.embed([tokenizer.begin, *ids, tokenizer.end]))
    ours, theirs = np.array(found), np.array(full)
    cosines = (ours * theirs).sum(axis=1)
    return {
        "cosine, median": float(np.median(cosines)),
        "cosine, least": float(cosines.min()),
        "error of a similarity, mean": float(np.abs(ours @ ours.T - theirs @ theirs.T).mean()),
    }


def main() -> None:
    """Measure everything, and publish."""
    given = asked("Measure the built-in model.").parse_args()
    share = 8 if given.quick else 1
    started, used = time.perf_counter(), time.process_time()
    assert model_files.damage() is None
    checked = (time.perf_counter() - started) * 1e3, (time.process_time() - used) * 1e3
    tokenizer = Tokenizer(model_files.FILES / model_files.TOKENIZER)
    timings = speeds(tokenizer, share)
    fresh = starts(texts_of(tokenizer, 60, 20), max(1, 5 // share))
    files = {
        f"{path.name} MB": path.stat().st_size / 1e6 for path in sorted(model_files.FILES.iterdir())
    }
    near = {} if given.quick else fidelity(builtin.open_model(), tokenizer)
    method = {
        **machine(),
        "times": "milliseconds unless said; CPU of all threads, mean a call",
        "fidelity": "cosine with a float32 computation over the same 4-bit weights",
    }
    tables = [
        Table(
            "embedding",
            ("what", "rounds", "p50", "p99", "CPU"),
            [
                *((name, len(t.wall), t.p50, t.p99, t.cpu) for name, t in timings.items()),
                ("check of the files", 1, checked[0], None, checked[1]),
            ],
        ),
        *(
            Table(title, ("what", "figure"), list(figures.items()))
            for title, figures in (("fresh process", fresh), ("fidelity", near), ("files", files))
            if figures
        ),
    ]
    publish("embedding", method, tables, quick=given.quick)


if __name__ == "__main__":
    main()
