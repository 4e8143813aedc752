import subprocess
import sys

import pytest

from minutebook.features.code.chunking.languages import LANGUAGES, language_named, language_of
from tests.features.code.chunking.given import SAMPLES


def name_of(path: str, text: str = "") -> str | None:
    language = language_of(path, text)
    return language.name if language else None


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/main.rs", "rust"),
        ("a/b c/ü.py", "python"),
        ("stubs/os.pyi", "python"),
        ("index.mjs", "javascript"),
        ("App.JSX", "javascript"),
        ("app.ts", "typescript"),
        ("app.tsx", "typescript"),
        ("main.go", "go"),
        ("Main.java", "java"),
        ("list.c", "c"),
        ("list.h", "c"),
        ("shape.hpp", "cpp"),
        ("Account.m", "objectivec"),
        ("Account.mm", "objectivecpp"),
        ("Order.cs", "csharp"),
        ("worker.rb", "ruby"),
        ("lib/Rakefile", "ruby"),
        ("index.php", "php"),
        ("App.swift", "swift"),
        ("build.gradle.kts", "kotlin"),
        ("Main.scala", "scala"),
        ("run.sh", "bash"),
        ("README.md", "markdown"),
        ("package.json", "json"),
        ("ci.yaml", "yaml"),
        ("pyproject.toml", "toml"),
        ("Dockerfile", "dockerfile"),
        ("Makefile", "make"),
        ("CMakeLists.txt", "cmake"),
        ("notes.txt", "text"),
        ("page.unknown", None),
        ("LICENSE", None),
    ],
)
def test_a_language_is_known_by_the_name_of_the_file(path: str, name: str | None) -> None:
    assert name_of(path) == name


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("#!/bin/sh\n", "bash"),
        ("#!/bin/bash -eu\n", "bash"),
        ("#!/usr/bin/env python3\n", "python"),
        ("#!/usr/bin/env -S python3.12 -X dev\n", "python"),
        ("#!/usr/local/bin/ruby", "ruby"),
        ("#!/usr/bin/env node\r\n", "javascript"),
        ("#!/opt/unknown\n", None),
        ("#!\n", None),
        ("echo #!/bin/sh\n", None),
    ],
)
def test_a_script_without_suffix_is_known_by_its_first_line(line: str, name: str | None) -> None:
    assert name_of("bin/run", line) == name


def test_a_header_that_speaks_cpp_is_cpp() -> None:
    assert name_of("list.h", "struct list { int n; };\n") == "c"
    assert name_of("list.h", "#pragma once\nnamespace lists {\n}\n") == "cpp"


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("a.h", "#import <Foundation/Foundation.h>\n@class Bank;\n", "objectivec"),
        ("a.h", "@interface Account : NSObject\n@end\n", "objectivec"),
        ("a.h", "namespace app {}\n@interface Account\n@end\n", "objectivecpp"),
        ("a.h", "// an e-mail: me@interface.example\nint n;\n", "c"),
        ("a.m", '#import "Account.h"\n', "objectivec"),
        ("a.m", "int main(void) { return 0; }\n", "objectivec"),
        ("a.m", "function y = twice(x)\n  y = 2 * x;\nend\n", "matlab"),
        ("a.m", "% Fit a line.\nx = 1;\n", "matlab"),
        ("a.m", "@implementation A\n%c\n@end\n", "objectivec"),
        ("a.mm", "namespace app {}\n", "objectivecpp"),
        ("a.c", "@interface A\n@end\n", "c"),
    ],
)
def test_what_a_suffix_of_several_languages_means_is_decided_by_the_text(
    path: str, text: str, name: str
) -> None:
    assert name_of(path, text) == name


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("C++", "cpp"),
        ("c#", "csharp"),
        ("TS", "typescript"),
        ("py", "python"),
        ("rust", "rust"),
        ("Objective-C", "objectivec"),
        ("objc", "objectivec"),
        ("Objective-C++", "objectivecpp"),
    ],
)
def test_people_have_other_names_for_languages(said: str, name: str) -> None:
    language = language_named(said)
    assert language is not None
    assert language.name == name


def test_nobody_speaks_klingon() -> None:
    assert language_named("klingon") is None


def test_every_language_that_is_cut_by_structure_has_a_sample() -> None:
    sampled = {id(language_of(sample.name, sample.text)) for sample in SAMPLES}
    structured = [row for row in LANGUAGES if row.grammar or row.outline]
    assert len(structured) == 22
    assert [row.name for row in structured if id(row) not in sampled] == []


def test_no_two_languages_claim_one_suffix_or_file() -> None:
    claims = [claim for row in LANGUAGES for claim in (*row.suffixes, *row.files)]
    assert sorted(set(claims)) == sorted(claims)


@pytest.mark.cold_start
def test_importing_loads_no_grammar_and_using_one_loads_that_one() -> None:
    script = (
        "import sys\n"
        "import minutebook.features.code.chunking.files, minutebook.features.code.chunking.chunks as chunks\n"
        "from minutebook.features.code.chunking.languages import language_named\n"
        "def loaded(): return sorted(m for m in sys.modules if m.startswith('tree_sitter') and '.' not in m)\n"
        "assert loaded() == [], loaded()\n"
        "chunks.chunk('fn main() {}', language_named('rust'))\n"
        "assert loaded() == ['tree_sitter', 'tree_sitter_rust'], loaded()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
