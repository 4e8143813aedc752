"""Habits, rules and preferences are told from facts and from what happened; both lists were written before the weights were fitted."""

from minutebook.features.hooks.statements import standing_ids_of
from minutebook.model.service import Embedding
from minutebook.record.records import MemoryType
from tests.world import Opener

MISTAKEN = {
    "The invoice service is written in Go.",
    "El servicio de pagos está escrito en Go.",
    "支付服务是用Go写的。",
}
"""Of both lists: taken for the other."""

STANDING = """
Always run the linter before you push.
Never force-push to main.
From now on, releases are cut on Tuesdays.
We prefer pytest to unittest.
Ana prefers short commit messages.
As a rule, migrations come in a commit of their own.
By default we deploy to staging first.
Whenever the schema changes, regenerate the client.
Commit messages are always in English.
Wir bevorzugen Tabs.
Ab jetzt läuft jeder Merge über die Warteschlange.
Secrets gehören niemals ins Repository.
Vor dem Release immer die Changelogs lesen.
Grundsätzlich wird in UTC gespeichert.
Siempre usamos tuplas congeladas.
Nunca se despliega en viernes.
A partir de ahora los tickets van en inglés.
Preferimos Postgres a MySQL.
On utilise toujours des dates en UTC.
Désormais, chaque PR a deux relecteurs.
Ne jamais livrer le vendredi.
我们更喜欢小的提交。
从现在起每周二发布。
绝不在周五部署。
""".strip().splitlines()

ONCE = """
The staging database listens on port 6543.
Deploys run on GitHub Actions now.
The outage on Friday was caused by an expired certificate.
Ana works on Project Halcyon.
The cache holds 4,096 entries.
Tests took 12 minutes on the old runner.
The invoice service is written in Go.
We moved the office to Lyon in March.
Tom mended the flaky test on Tuesday.
The API key lives in the vault under billing.
Die Staging-Datenbank hört auf Port 6543.
Der Ausfall kam von einem abgelaufenen Zertifikat.
Lena leitet das Team seit Mai.
Der Dienst ist in Rust geschrieben.
La base de pruebas escucha en el puerto 6543.
El servicio de pagos está escrito en Go.
Marta dirige el equipo desde mayo.
La panne venait d'un certificat expiré.
Le cache contient 4096 entrées.
Paul a quitté l'équipe en juin.
测试数据库监听端口6543。
支付服务是用Go写的。
小王从五月起领导团队。
周五的故障是证书过期造成的。
""".strip().splitlines()


def test_habits_are_told_from_facts_by_their_vectors(opener: Opener, built_in: Embedding) -> None:
    world = opener(built_in, wait=60.0)
    texts = {world.remember(text, type=MemoryType.SEMANTIC): text for text in STANDING + ONCE}
    found = standing_ids_of(world.app.infrastructure.records, map(world.memory, texts))
    assert {texts[id] for id in found} ^ set(STANDING) <= MISTAKEN


def test_without_the_vectors_of_a_known_model_nothing_is_told(opener: Opener) -> None:
    world = opener()
    id = world.remember(STANDING[0], type=MemoryType.SEMANTIC)
    assert standing_ids_of(world.app.infrastructure.records, [world.memory(id)]) == set()
