"""Habits, rules and preferences are told from facts and from what happened; both lists were written before the words."""

import pytest

from minutebook.language.standing import is_standing

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


@pytest.mark.parametrize("text", STANDING)
def test_a_habit_is_told_by_its_words(text: str) -> None:
    assert is_standing(text)


@pytest.mark.parametrize("text", ONCE)
def test_a_fact_is_none(text: str) -> None:
    assert not is_standing(text)
