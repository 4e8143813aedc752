"""Secrets in forms with a standard: options, tags, tables, blocks, files of passwords, codes, phrases."""

import base64
from random import Random

import pytest

from benchmarks.secret_samples import drawn, filled, token
from minutebook.memory.screening.formats import FORMATS
from minutebook.memory.screening.secrets import find, mask

FORMS = (
    "mysqladmin --password {{<A:14>}} ping",
    "app --db-password {{<A:12>}} --port 80",
    "tool --api-key {{<A:32>}} run",
    'tool --token "{{<A:32>}}" run',
    "programm --passwort {{<A:12>}} --verbose",
    "docker run x --admin-password '{{<A:14>}}'",
    "<password>{{<A:12>}}</password>",
    "<dbPassword>{{<A:12>}}</dbPassword>",
    "<Passwort>\n  {{<A:12>}}\n</Passwort>",
    "<server><username>ana</username><password>{{<A:12>}}</password></server>",
    '<password type="string">{{<A:12>}}</password>',
    "<api-key>{{<A:32>}}</api-key>",
    "<ns:clientSecret>{{<A:40>}}</ns:clientSecret>",
    '<add key="DbPassword" value="{{<A:12>}}"/>',
    '<property name="password" value="{{<A:12>}}" />',
    '<property value="{{<A:12>}}" name="password" />',
    "- name: DB_PASSWORD\n  value: {{<A:12>}}",
    'env:\n  - name: API_KEY\n    value: "{{<A:32>}}"',
    '{"name": "password", "value": "{{<A:12>}}"}',
    '{"key": "client_secret", "value": "{{<A:40>}}"}',
    "<key>password</key>\n<string>{{<A:12>}}</string>",
    "<name>db.password</name><value>{{<A:12>}}</value>",
    '<input type="password" name="pw" value="{{<A:12>}}">',
    "setx DB_PASSWORD {{<A:14>}}",
    'setx API_TOKEN "{{<A:32>}}" /M',
    "setenv DB_PASSWORD {{<A:14>}}",
    "set -gx DB_PASSWORD {{<A:14>}}",
    "ENV DB_PASSWORD {{<A:14>}}",
    "password: |\n  {{<A:14>}}",
    "db:\n  passwort: >-\n    {{<A:14>}}\n  host: x",
    "api_key: |-\n    {{<A:32>}}",
    "| Dienst | Benutzer | Passwort |\n|---|---|---|\n| Datenbank | ana | {{<A:12>}} |\n| Mail | ben | {{<A:12>}} |",
    "| user | password | url |\n| :--- | --- | --- |\n| ana | `{{<A:12>}}` | https://x.example |",
    "name | api key\n--- | ---\nshop | {{<A:32>}}",
    "user,password\nana,{{<A:12>}}\nben,{{<A:12>}}",
    "name;kennwort;url\nana;{{<A:12>}};https://x",
    '"url","username","password","note"\n"https://x","ana","{{<A:12>}}","x"',
    "user\tpassword\nana\t{{<A:12>}}",
    "db.internal:5432:shop:ana:{{<A:12>}}",
    "*:*:*:postgres:{{<A:12>}}",
    "localhost:5433:*:ana:{{<A:12>}}",
    "root:$6${{<A:16>}}${{<A:86>}}:19700:0:99999:7:::",
    "ana:$y$j9T${{<A:22>}}${{<A:43>}}:19700:0:99999:7:::",
    "Recovery codes:\n{{<H:5>}}-{{<H:5>}}\n{{<H:5>}}-{{<H:5>}}",
    "GitHub recovery codes: {{<H:5>}}-{{<H:5>}}, {{<H:5>}}-{{<H:5>}}",
    "Backup codes\n1. {{<D:4>}} {{<D:4>}}\n2. {{<D:4>}} {{<D:4>}}",
    "Meine Wiederherstellungscodes lauten:\n\n- {{<D:8>}}\n- {{<D:8>}}",
    "BitLocker-Wiederherstellungsschlüssel: {{<D:6>}}-{{<D:6>}}-{{<D:6>}}-{{<D:6>}}-{{<D:6>}}-{{<D:6>}}-{{<D:6>}}-{{<D:6>}}",
    "The recovery key is {{<U:4>}}-{{<U:4>}}-{{<U:4>}}-{{<U:4>}}",
    "Password: **{{<A:12>}}**",
    "**Password:** {{<A:12>}}",
    "**Passwort**: `{{<A:12>}}`",
    "Das Passwort ist **{{<A:12>}}**.",
    "- **API key**: **{{<A:32>}}**",
    "token: **{{<A:32>}}**",
)
"""One text each, English or German; what stands in `{{…}}` is the secret."""

WORDS = "legal winner thank year wave sausage worth useful legal winner thank yellow"
"""The phrase of a test vector of BIP-39."""


@pytest.mark.parametrize("template", FORMS)
def test_a_secret_in_a_form_with_a_standard_is_masked(template: str) -> None:
    for seed in range(10):
        text, secrets = filled(template, Random(seed))
        hidden = mask(text, find(text))
        assert not any(secret in hidden for secret in secrets), hidden


@pytest.mark.parametrize(
    "template", ['{{"auths": {{"registry": {{"auth": "{}"}}}}}}', "//registry.example/:_auth={}"]
)
def test_credentials_of_a_registry_are_masked(template: str) -> None:
    made = base64.b64encode(f"ana:{drawn('<A:12>', Random(1))}".encode()).decode()
    text = template.format(made)
    assert made not in mask(text, find(text))


@pytest.mark.parametrize(
    "template",
    [
        "Seed phrase: {}",
        "Meine Seed-Phrase lautet: {}. Sie liegt im Safe.",
        "recovery phrase:\n{}\nkeep it",
        'mnemonic = "{}"',
        "Wiederherstellungsphrase: {}",
    ],
)
def test_a_phrase_of_words_is_masked_whole(template: str) -> None:
    for phrase in (WORDS, "\n".join(f"{n}. {each}" for n, each in enumerate(WORDS.split(), 1))):
        if "\n" in phrase and '"' in template:
            continue
        text = template.format(phrase)
        hidden = mask(text, find(text))
        assert "winner" not in hidden, hidden
        assert "yellow" not in hidden, hidden


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n    ", "\n> ", "\n# ", "=\n", "\\\n"])
@pytest.mark.parametrize(
    "kind", ["Minutebook token", "GitHub token", "npm token", "AWS access key"]
)
def test_a_token_that_is_wrapped_over_a_line_end_is_masked_whole(kind: str, end: str) -> None:
    format = next(each for each in FORMATS if each.kind == kind)
    made = token(format, format.starts[0], Random(7))
    for at in range(len(format.starts[0]) + 4, len(made) - 2, 5):
        text = f"It is {made[:at]}{end}{made[at:]} and more."
        found = find(text)
        assert [each.kind for each in found] == [kind], text
        assert mask(text, found) == f"It is [secret: {kind}] and more."


def test_a_token_that_is_whole_does_not_take_the_next_line_along() -> None:
    format = next(each for each in FORMATS if each.kind == "Minutebook token")
    made = token(format, format.starts[0], Random(7))
    text = f"It is {made}\nand more"
    assert mask(text, find(text)) == "It is [secret: Minutebook token]\nand more"


@pytest.mark.parametrize(
    "text",
    [
        "docker login --password-stdin registry1.example.org",
        "Use --token TOKEN or --password <password>; see --password-file secrets1.txt.",
        "curl --api-key $API_KEY1 and setx DB_PASSWORD %PASSWORD1%",
        "<password>required</password>",
        '<label for="password">Enter 8 signs</label>',
        '<input type="password" name="password" value="">',
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef: db1",
        "password: |\n  The password of the database, at least 8 signs.",
        "| Setting | Token | Default |\n|---|---|---|\n| x | max_tokens_2 | 4096 |",
        "| tool | password |\n|---|---|\n| ssh | required |\n| ftp | yes |",
        "user, password, and token2\nare the words that we use, every day1",
        "src/app.py:1204:7:E501:line2long",
        "root:x:0:0:root:/root:/bin/bash",
        "12:30:45:678:abc1",
        "The recovery code path is tested by test-1234 alone.",
        "backup key 550e8400-e29b-41d4-a716-446655440000",
        "seed: 42\nseed phrase: this is not a phrase but a sentence about what one would be",
        "mnemonic: each name begins with the first letter of its word in the list",
        '"auth": "oauth2client"',
        "author: bWludXRlYm9vaw==",
    ],
)
def test_what_only_has_the_form_is_left(text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize(
    "piece",
    [
        "mbk_\n",
        "-eyJ" * 90 + "\n",
        "password,x\n",
        ":5432:",
        "recovery code ",
        "seed phrase: abc ",
        "<password ",
        "password\n          ",
        "</key> ",
    ],
)
def test_lines_made_to_be_slow_are_read_to_their_end(piece: str) -> None:
    text = piece * (20_000 // len(piece)) + " glpat-" + drawn("<A:20>", Random(1))
    assert any(each.kind == "GitLab personal access token" for each in find(text))


@pytest.mark.parametrize("sign", [" ", "=", " '"])
def test_the_name_of_an_option_is_no_secret(sign: str) -> None:
    text = f"mysqldump --password{sign}Tr0ub4dor9x prod"
    assert mask(text, find(text)).startswith(f"mysqldump --password{sign}[secret: ")
    assert [text[each.start : each.end] for each in find(text)] == ["Tr0ub4dor9x"]
