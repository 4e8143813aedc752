"""Know the language of a file, and what counts as a definition there.

A language is one row. Where a grammar is named, the row's query says what is a definition: the
capture is the chunk's type (`function`, `class`, `struct`, `module`, `impl`, `other`), `@name` inside
it is its name (several are put together), `@within` a type that the name belongs to although the code stands elsewhere, and
`@lead` what belongs to the definition that follows. Where patterns meet in one node, the first counts.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minutebook.code.outline import Outline, headings, keys


@dataclass(frozen=True, slots=True)
class Grammar:
    """The module and function that give a tree-sitter grammar, and the query of its definitions."""

    module: str
    query: str
    function: str = "language"


@dataclass(frozen=True, slots=True)
class Language:
    """One row: how files of a language are known, and how they are cut.

    `smallest` is the number of lines from which a definition stands alone. Without a grammar and
    without an outline, files are cut by paragraphs.
    """

    name: str
    suffixes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    grammar: Grammar | None = None
    outline: Callable[[Sequence[str]], Outline] | None = None
    separator: str = "."
    smallest: int = 1


_JAVASCRIPT = """
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(method_definition name: (_) @name) @function
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression left: [(identifier) (member_expression)] @name
  right: [(arrow_function) (function_expression)]) @function
(pair key: (_) @name value: [(arrow_function) (function_expression)]) @function
(class_declaration name: (_) @name) @class
(comment) @lead
(decorator) @lead
"""

_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(type_alias_declaration name: (_) @name) @other
(internal_module name: (_) @name) @module
(module name: (identifier) @name) @module
(module name: (string (string_fragment) @name)) @module
(public_field_definition name: (_) @name value: (arrow_function)) @function
"""
)

_C = """
(function_definition declarator: [
  (function_declarator declarator: (_) @name)
  (pointer_declarator declarator: (function_declarator declarator: (_) @name))
  (pointer_declarator declarator:
    (pointer_declarator declarator: (function_declarator declarator: (_) @name)))
]) @function
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @struct
(type_definition type: (struct_specifier body: (_)) declarator: (type_identifier) @name) @struct
(type_definition type: (union_specifier body: (_)) declarator: (type_identifier) @name) @struct
(type_definition type: (enum_specifier body: (_)) declarator: (type_identifier) @name) @struct
(preproc_function_def name: (_) @name) @function
(comment) @lead
"""

_CPP = (
    _C
    + """
(function_definition declarator:
  (reference_declarator (function_declarator declarator: (_) @name))) @function
(class_specifier name: (_) @name body: (_)) @class
(concept_definition name: (_) @name) @other
(namespace_definition name: (_) @name) @module
(template_declaration (class_specifier name: (_) @name body: (_))) @class
(template_declaration (struct_specifier name: (_) @name body: (_))) @struct
(template_declaration (function_definition declarator:
  (function_declarator declarator: (_) @name))) @function
(template_declaration (function_definition declarator:
  (reference_declarator (function_declarator declarator: (_) @name)))) @function
(template_declaration (function_definition declarator:
  (pointer_declarator declarator: (function_declarator declarator: (_) @name)))) @function
"""
)

_OBJECTIVE_C = (
    _C
    + """
(method_definition [(identifier) @name (method_parameter ":" @name)]+) @function
(class_interface . (identifier) @name) @class
(protocol_declaration . (identifier) @name) @class
(class_implementation . (identifier) @name) @impl
(type_definition type: (macro_type_specifier
  type: (type_descriptor type: (type_identifier) @name))) @struct
"""
)

_RUST = """
(function_item name: (_) @name) @function
(macro_definition name: (_) @name) @function
(struct_item name: (_) @name) @struct
(enum_item name: (_) @name) @struct
(union_item name: (_) @name) @struct
(trait_item name: (_) @name) @class
(type_item name: (_) @name) @other
(mod_item name: (_) @name body: (_)) @module
(impl_item type: (generic_type type: (_) @name)) @impl
(impl_item type: [(type_identifier) (scoped_type_identifier) (primitive_type)] @name) @impl
(impl_item type: (_) @name) @impl
[(line_comment) (block_comment) (attribute_item)] @lead
"""

_GO = """
(function_declaration name: (_) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @within
    (pointer_type (type_identifier) @within)
    (generic_type type: (_) @within)
    (pointer_type (generic_type type: (_) @within))
  ])) name: (_) @name) @function
(type_spec name: (_) @name type: (struct_type)) @struct
(type_spec name: (_) @name type: (interface_type)) @class
(type_spec name: (_) @name) @other
(type_alias name: (_) @name) @other
(comment) @lead
"""

_JAVA = """
(method_declaration name: (_) @name body: (_)) @function
(constructor_declaration name: (_) @name) @function
(compact_constructor_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(annotation_type_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
[(line_comment) (block_comment)] @lead
"""

_CSHARP = """
(method_declaration name: (_) @name body: (_)) @function
(constructor_declaration name: (_) @name) @function
(destructor_declaration name: (_) @name) @function
(local_function_statement name: (_) @name) @function
(operator_declaration operator: _ @name) @function
(property_declaration name: (_) @name
  accessors: (accessor_list (accessor_declaration body: (_)))) @function
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(struct_declaration name: (_) @name) @struct
(enum_declaration name: (_) @name) @struct
(delegate_declaration name: (_) @name) @other
(namespace_declaration name: (_) @name) @module
(comment) @lead
"""

_RUBY = """
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(class name: (_) @name) @class
(module name: (_) @name) @module
(comment) @lead
"""

_PHP = """
(function_definition name: (_) @name) @function
(method_declaration name: (_) @name body: (_)) @function
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(trait_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(namespace_definition name: (_) @name body: (_)) @module
(comment) @lead
"""

_SWIFT = """
(function_declaration name: (_) @name) @function
(init_declaration "init" @name) @function
(deinit_declaration "deinit" @name) @function
(protocol_declaration name: (_) @name) @class
(class_declaration declaration_kind: ["class" "actor"] name: (_) @name) @class
(class_declaration declaration_kind: ["struct" "enum"] name: (_) @name) @struct
(class_declaration declaration_kind: "extension" name: (_) @name) @impl
(typealias_declaration name: (_) @name) @other
[(comment) (multiline_comment)] @lead
"""

_KOTLIN = """
(function_declaration name: (_) @name (function_body)) @function
(secondary_constructor "constructor" @name) @function
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @class
(type_alias (identifier) @name) @other
[(line_comment) (block_comment)] @lead
"""

_SCALA = """
(function_definition name: (_) @name) @function
(class_definition name: (_) @name) @class
(trait_definition name: (_) @name) @class
(object_definition name: (_) @name) @class
(enum_definition name: (_) @name) @class
(given_definition name: (_) @name) @other
(type_definition name: (_) @name) @other
(package_object name: (_) @name) @module
[(comment) (block_comment)] @lead
"""

_TOML = """
(document (table . [(bare_key) (dotted_key) (quoted_key)] @name) @other)
(document (table_array_element . [(bare_key) (dotted_key) (quoted_key)] @name) @other)
(document (pair . [(bare_key) (dotted_key) (quoted_key)] @name) @other)
(comment) @lead
"""

_PYTHON = """
(function_definition name: (_) @name) @function
(class_definition name: (_) @name) @class
[(comment) (decorator)] @lead
"""

LANGUAGES: tuple[Language, ...] = (
    Language(
        "python",
        (".py", ".pyi", ".pyw"),
        interpreters=("python", "python3", "pypy3"),
        grammar=Grammar("tree_sitter_python", _PYTHON),
    ),
    Language(
        "javascript",
        (".js", ".mjs", ".cjs", ".jsx"),
        interpreters=("node", "bun"),
        grammar=Grammar("tree_sitter_javascript", _JAVASCRIPT),
    ),
    Language(
        "typescript",
        (".ts", ".mts", ".cts"),
        interpreters=("deno", "ts-node"),
        grammar=Grammar("tree_sitter_typescript", _TYPESCRIPT, "language_typescript"),
    ),
    Language(
        "typescript",
        (".tsx",),
        grammar=Grammar("tree_sitter_typescript", _TYPESCRIPT, "language_tsx"),
    ),
    Language("rust", (".rs",), grammar=Grammar("tree_sitter_rust", _RUST), separator="::"),
    Language("go", (".go",), grammar=Grammar("tree_sitter_go", _GO)),
    Language("java", (".java",), grammar=Grammar("tree_sitter_java", _JAVA)),
    Language("c", (".c", ".h"), grammar=Grammar("tree_sitter_c", _C), separator="::"),
    Language(
        "cpp",
        (".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".cu", ".cuh"),
        grammar=Grammar("tree_sitter_cpp", _CPP),
        separator="::",
    ),
    Language(
        "objectivec",
        (".m",),
        grammar=Grammar("tree_sitter_objc", _OBJECTIVE_C),
    ),
    Language(
        "objectivecpp",
        (".mm",),
        grammar=Grammar("tree_sitter_objc", _OBJECTIVE_C),
    ),
    Language("matlab"),
    Language("csharp", (".cs", ".csx"), grammar=Grammar("tree_sitter_c_sharp", _CSHARP)),
    Language(
        "ruby",
        (".rb", ".rake", ".gemspec", ".ru"),
        ("Rakefile", "Gemfile", "Guardfile", "Vagrantfile"),
        ("ruby",),
        Grammar("tree_sitter_ruby", _RUBY),
        separator="::",
    ),
    Language(
        "php",
        (".php", ".phtml"),
        interpreters=("php",),
        grammar=Grammar("tree_sitter_php", _PHP, "language_php"),
        separator="::",
    ),
    Language("swift", (".swift",), grammar=Grammar("tree_sitter_swift", _SWIFT)),
    Language("kotlin", (".kt", ".kts"), grammar=Grammar("tree_sitter_kotlin", _KOTLIN)),
    Language("scala", (".scala", ".sc", ".sbt"), grammar=Grammar("tree_sitter_scala", _SCALA)),
    Language(
        "bash",
        (".sh", ".bash", ".zsh", ".ksh"),
        interpreters=("sh", "bash", "zsh", "ksh", "dash"),
        grammar=Grammar(
            "tree_sitter_bash", "(function_definition name: (_) @name) @function\n(comment) @lead"
        ),
    ),
    Language("markdown", (".md", ".markdown", ".mdx"), outline=headings, separator=" > "),
    Language("yaml", (".yaml", ".yml"), outline=keys, smallest=2),
    Language(
        "json",
        (".json", ".jsonc", ".json5", ".webmanifest", ".ipynb"),
        grammar=Grammar(
            "tree_sitter_json",
            "(document (object (pair key: (string (string_content) @name)) @other))\n(comment) @lead",
        ),
        smallest=2,
    ),
    Language("toml", (".toml",), grammar=Grammar("tree_sitter_toml", _TOML), smallest=2),
    Language("css", (".css", ".scss", ".sass", ".less")),
    Language("html", (".html", ".htm", ".xhtml")),
    Language("sql", (".sql",)),
    Language("lua", (".lua",), interpreters=("lua",)),
    Language("perl", (".pl", ".pm"), interpreters=("perl",)),
    Language("r", (".r",), interpreters=("Rscript",)),
    Language("dart", (".dart",)),
    Language("elixir", (".ex", ".exs"), interpreters=("elixir",)),
    Language("erlang", (".erl", ".hrl"), interpreters=("escript",)),
    Language("haskell", (".hs",)),
    Language("ocaml", (".ml", ".mli")),
    Language("clojure", (".clj", ".cljs", ".cljc", ".edn")),
    Language("zig", (".zig",)),
    Language("vue", (".vue",)),
    Language("svelte", (".svelte",)),
    Language("protobuf", (".proto",)),
    Language("graphql", (".graphql", ".gql")),
    Language("terraform", (".tf", ".hcl")),
    Language("powershell", (".ps1", ".psm1")),
    Language("xml", (".xml", ".xsd", ".xsl", ".svg")),
    Language("ini", (".ini", ".cfg", ".conf", ".properties")),
    Language("restructuredtext", (".rst",)),
    Language("make", (".mk",), ("Makefile", "GNUmakefile")),
    Language("cmake", (".cmake",), ("CMakeLists.txt",)),
    Language("dockerfile", (".dockerfile",), ("Dockerfile", "Containerfile")),
    Language("text", (".txt",)),
)
"""Every language known; the first row that has a suffix or file name wins."""

_BY_FILE = {name: row for row in reversed(LANGUAGES) for name in row.files}
_BY_SUFFIX = {suffix: row for row in reversed(LANGUAGES) for suffix in row.suffixes}
_BY_INTERPRETER = {name: row for row in reversed(LANGUAGES) for name in row.interpreters}
_BY_NAME = {row.name: row for row in reversed(LANGUAGES)}
_BY_ALIAS = {
    **{suffix[1:]: row for suffix, row in _BY_SUFFIX.items()},
    **{
        name: _BY_NAME[known]
        for name, known in (
            ("c#", "csharp"),
            ("golang", "go"),
            ("objc", "objectivec"),
            ("objective-c", "objectivec"),
            ("objc++", "objectivecpp"),
            ("objective-c++", "objectivecpp"),
        )
    },
}
_SHEBANG = re.compile(
    r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:\S*/)?([A-Za-z][\w-]*?)[\d.]*(?=\s|$)"
)
# A header is C unless it says otherwise: the grammar of C loses itself in the other two.
_CPP_SIGN = re.compile(
    r"^\s*(?:class\s+\w+|namespace\b|template\s*<|using\s+\w|public:|private:|protected:)",
    re.MULTILINE,
)
_OBJECTIVE_C_SIGN = re.compile(
    r"^\s*(?:@(?:interface|implementation|protocol|class|import|end)\b|#\s*import\b)", re.MULTILINE
)
_MATLAB_SIGN = re.compile(r"^\s*(?:%|function\b|classdef\b)", re.MULTILINE)


def language_of(path: str, text: str = "") -> Language | None:
    """Return the language of a file, None if unknown: by its name, else its suffix, else its first line.

    The text decides what `.h` and `.m` are, which several languages share.
    """
    name = path.rsplit("/", 1)[-1]
    if name in _BY_FILE:
        return _BY_FILE[name]
    dot = name.rfind(".")
    if dot > 0:
        suffix = name[dot:].lower()
        return _BY_NAME.get(_shared_suffix(suffix, text)) or _BY_SUFFIX.get(suffix)
    shebang = _SHEBANG.match(text)
    return _BY_INTERPRETER.get(shebang[1]) if shebang else None


def _shared_suffix(suffix: str, text: str) -> str:
    """Return the name of the language that a text speaks, empty if it is that of the suffix."""
    is_cpp = suffix == ".h" and _CPP_SIGN.search(text)
    if suffix in {".h", ".m"} and _OBJECTIVE_C_SIGN.search(text):
        return "objectivecpp" if is_cpp else "objectivec"
    if suffix == ".m" and _MATLAB_SIGN.search(text):
        return "matlab"
    return "cpp" if is_cpp else ""


def language_named(name: str) -> Language | None:
    """Return the language that people call by this name, in any case; None if unknown."""
    known = _BY_NAME.get(name.lower())
    return known or _BY_ALIAS.get(name.lower())
