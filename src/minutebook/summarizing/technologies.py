"""Which technologies a text names: by a curated list, by the suffixes of files, by packages."""

import re
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

MAX_PACKAGE = 40
"""Characters of a package's name; what is longer is none."""

SUFFIXES = {
    "py": "python", "pyi": "python", "ipynb": "jupyter", "js": "javascript", "mjs": "javascript",
    "cjs": "javascript", "jsx": "react", "ts": "typescript", "tsx": "react", "rs": "rust",
    "go": "go", "java": "java", "kt": "kotlin", "kts": "kotlin", "swift": "swift", "c": "c",
    "h": "c", "cpp": "c++", "cc": "c++", "cxx": "c++", "hpp": "c++", "cs": "c#", "fs": "f#",
    "rb": "ruby", "php": "php", "scala": "scala", "sh": "shell", "bash": "bash", "zsh": "zsh",
    "ps1": "powershell", "sql": "sql", "html": "html", "css": "css", "scss": "sass", "vue": "vue",
    "svelte": "svelte", "proto": "protobuf", "tf": "terraform", "lua": "lua", "ex": "elixir",
    "exs": "elixir", "erl": "erlang", "hs": "haskell", "ml": "ocaml", "clj": "clojure",
    "dart": "dart", "zig": "zig", "jl": "julia", "graphql": "graphql", "tex": "latex",
    "md": None, "rst": None, "txt": None, "json": None, "jsonl": None, "yaml": None, "yml": None,
    "toml": None, "ini": None, "cfg": None, "lock": None, "xml": None, "csv": None, "log": None,
    "svg": None, "env": None, "conf": None, "db": None, "patch": None, "diff": None,
}  # fmt: skip
"""What the suffix of a file says of what it is written in; None for what says nothing."""

_NAMED_FILES = {
    "Dockerfile": "docker", "Makefile": "make", "CMakeLists.txt": "cmake",
    "docker-compose.yml": "docker", "package.json": "nodejs", "Cargo.toml": "rust",
    "go.mod": "go", "pom.xml": "maven", "build.gradle": "gradle", "Gemfile": "ruby",
    "Jenkinsfile": "jenkins", "requirements.txt": "python", "pyproject.toml": "python",
}  # fmt: skip

# Each name as it is shown; after a colon, other ways in which it is written.
_CURATED = """
airflow ajax alembic android angular ansible apache:httpd argocd asp.net:aspnet astro asyncio aws
azure babel bazel bigquery blazor bootstrap c++:cpp c#:csharp caddy cassandra celery chroma:chromadb
circleci clickhouse cloudflare cmake cockroachdb couchdb cuda cypress cython databricks datadog
dbt deno django docker:dockerfile,docker-compose drizzle duckdb dynamodb elasticsearch electron elm
emscripten esbuild eslint etcd fastapi faiss ffmpeg firebase firestore flask flutter f# git
github:github actions gitlab golang:go1 gradle grafana graphql grpc hadoop haskell helm heroku
hibernate hono htmx http:http/2,http/3 httpx hugging face:huggingface influxdb ios istio jest jinja:jinja2
jpa jquery json schema:jsonschema junit jupyter jwt kafka keras keycloak kotlin kubernetes:k8s,kubectl
lancedb langchain laravel latex linux llama.cpp llamaindex lxml mariadb matplotlib maven mcp
mermaid metabase milvus mocha mongodb:mongo mongoose mqtt mypy mysql nats neo.mjs neo4j nestjs:nest.js
netlify next.js:nextjs nginx nodejs:node.js,node numba numpy nuxt:nuxt.js oauth:oauth2 ollama onnx:onnxruntime
openai openapi:swagger opencv opensearch opentelemetry oracle pandas perl pgvector php phpunit pinecone
playwright plotly pnpm poetry polars postgresql:postgres,psql powershell preact prisma prometheus
protobuf puppeteer pulumi pyarrow pydantic pygame pyside pyspark pytest python:python3,cpython pytorch:torch qdrant qt
rabbitmq rails:ruby on rails raspberry pi react:react.js,reactjs redis redux regex ripgrep rollup rxjs
safari sass:scss scikit-learn:sklearn scipy scrapy selenium sentry snowflake socket.io solidity solr spacy
spring boot sqlalchemy sqlite:sqlite3,fts5 starlette storybook streamlit stripe supabase svelte:sveltekit swiftui symfony
systemd tailwind:tailwindcss tauri tensorflow terraform three.js threejs tokio tornado tree-sitter trpc typeorm typescript
unity unicode utf-8 uvicorn vagrant valgrind vercel vite vitest vscode:vs code vue:vue.js,vuejs vuex weaviate webassembly:wasm
webgl webpack webrtc websocket:websockets wireshark wordpress xcode yarn zod zookeeper zustand npm cargo pip uv ruff
javascript java ruby scala elixir erlang clojure html css sql bash zsh make redis-cli eventlet gevent kotlinx
"""
_OF_SEVERAL_WORDS = (
    "hugging face", "json schema", "raspberry pi", "ruby on rails", "spring boot", "github actions",
    "vs code",
)  # fmt: skip

# Words of every day, which name a technology only as it writes itself.
_AS_WRITTEN = {
    "Go": "go", "Rust": "rust", "Swift": "swift", "React": "react", "Express": "express",
    "Flask": "flask", "Spring": "spring", "Git": "git", "Make": "make", "Unity": "unity",
    "Elm": "elm", "Helm": "helm", "Perl": "perl", "Oracle": "oracle", "Safari": "safari",
    "Sass": "sass", "Astro": "astro", "Stripe": "stripe", "Node": "nodejs",
    "Java": "java", "Python": "python", "Ruby": "ruby", "Pip": "pip", "Jest": "jest", "Mocha": "mocha",
    "Rails": "rails", "Electron": "electron", "Bootstrap": "bootstrap", "Babel": "babel",
    "Celery": "celery", "Kafka": "kafka", "Snowflake": "snowflake", "Flutter": "flutter",
    "Prometheus": "prometheus", "Cypress": "cypress", "Puppeteer": "puppeteer", "Yarn": "yarn",
    "Poetry": "poetry", "Vite": "vite", "Linux": "linux", "Unicode": "unicode", "Scala": "scala",
    "Metabase": "metabase", "Tornado": "tornado", "Heroku": "heroku", "Apache": "apache",
    "Caddy": "caddy", "Cargo": "cargo", "Cassandra": "cassandra", "Android": "android",
    "Mermaid": "mermaid", "Ajax": "ajax", "Maven": "maven", "Chroma": "chroma", "Ansible": "ansible",
}  # fmt: skip


def _table() -> dict[str, str]:
    text = _CURATED
    for name in _OF_SEVERAL_WORDS:
        text = text.replace(name, name.replace(" ", "~"))
    careful = {name.lower() for name in _AS_WRITTEN}
    table: dict[str, str] = {}
    for item in text.split():
        shown, _, others = item.partition(":")
        shown = shown.replace("~", " ")
        for name in (shown, *others.replace("~", " ").split(",")):
            if name and name not in careful:
                table[name] = shown
    return table


_TABLE = _table()
_EDGE = r"[A-Za-z0-9_]"
_NAMES = re.compile(
    rf"(?<!{_EDGE})(?<![/@.-])(?:{'|'.join(re.escape(n) for n in sorted(_TABLE, key=len, reverse=True))})"
    rf"(?!{_EDGE})(?![+#])",
    re.IGNORECASE,
)
# Not the first word of a sentence: that has a capital anyway.
_WRITTEN = re.compile(
    rf"(?:(?<=[\w,(+&] )|(?<=[(/]))(?:{'|'.join(_AS_WRITTEN)})(?!{_EDGE})(?![.']\w)"
)

_URL = re.compile(r"\b(?:https?|ftp|file|git|ssh|wss?)://\S+", re.IGNORECASE)
_TOKEN = re.compile(r"[\w.~@+/\\:-]{3,300}")
_INSTALL = re.compile(
    r"(?P<start>^[ \t]*(?:[$>#%][ \t]*)?|`|)(?<![\w-])(?:sudo )?(?:python3? -m )?(?:pip3? install|uv add|uv pip install"
    r"|poetry add|pipx install|npm (?:install|i|add)|yarn add|pnpm add|bun add|cargo add|cargo install|gem install"
    r"|go get|go install|brew install|apt(?:-get)? install)[ \t]+(?P<what>[^\n`;&|\"]+)",
    re.MULTILINE,
)
_PACKAGE = re.compile(r"(?:@[a-z0-9][\w.-]*/)?[A-Za-z][\w.-]*[A-Za-z0-9]|[a-z]")
_IMPORTS = (
    re.compile(r"^[ \t]*from ([A-Za-z_]\w*)(?:\.\w+)* import \w", re.MULTILINE),
    re.compile(r"^[ \t]*import ([a-z_]\w*)(?:\.\w+)*(?: as \w+)?[ \t]*$", re.MULTILINE),
    re.compile(r"""\brequire\(['"]((?:@[\w-]+/)?[a-z][\w.-]*)['"/)]"""),
    re.compile(r"""\bfrom ['"]((?:@[\w-]+/)?[a-z][\w.-]*)['"/]"""),
)
_NO_PACKAGES = frozenset(
    {
        "and",
        "the",
        "it",
        "that",
        "then",
        "a",
        "an",
        "all",
        "to",
        "with",
        "from",
        "for",
        "this",
        "src",
    }
) | frozenset({"fs", "path", "os", "http", "https", "util", "crypto", "assert", "events", "stream"})


def without_urls(text: str) -> str:
    """Leave out every URL: what stands in one is neither a file nor a technology in use."""
    return _URL.sub(" ", text)


def files_in(text: str) -> Iterator[str]:
    """Yield each path to a file, by known suffix or name, as often as it occurs."""
    for token in _TOKEN.findall(text):
        path = token.replace("\\", "/").rstrip("/.:-").partition(":")[0].removeprefix("./")
        name = PurePosixPath(path).name
        stem, _, suffix = name.rpartition(".")
        is_file = stem and suffix in SUFFIXES and name.lower() not in _TABLE
        if (is_file or name in _NAMED_FILES) and not path.startswith("@"):
            yield path


def technology_of(path: str) -> str | None:
    """Tell by its name what a file is written in, None where that says nothing."""
    file = PurePosixPath(path)
    return _NAMED_FILES.get(file.name) or SUFFIXES.get(file.suffix.removeprefix("."))


def technologies_in(text: str) -> Iterator[str]:
    """Yield each technology that is named without doubt, as often as it occurs."""
    for match in _NAMES.finditer(text):
        yield _TABLE[match[0].lower()]


def doubtful_technologies_in(text: str) -> Iterator[str]:
    """Yield each ambiguous name of a technology, capitalized inside a sentence: Go, Swift."""
    for match in _WRITTEN.finditer(text):
        yield _AS_WRITTEN[match[0]]


def packages_in(text: str) -> Iterator[str]:
    """Yield each package that is installed or imported, apart from the standard library.

    Of an installation inside a sentence only the first package counts: what follows may
    be the sentence.
    """
    for match in _INSTALL.finditer(text):
        named = [word for word in match["what"].split() if not word.startswith("-")]
        is_command = bool(match["start"])
        for word in named if is_command else named[:1]:
            name = re.split(r"[\[=<>~!^,;()]|(?<=.)@", word)[0].rstrip(".:")
            if _is_package(name):
                yield name.lower()
    for pattern in _IMPORTS:
        for match in pattern.finditer(text):
            if _is_package(match[1]):
                yield match[1].lower()


def _is_package(name: str) -> bool:
    return (
        _PACKAGE.fullmatch(name) is not None
        and 1 < len(name) <= MAX_PACKAGE
        and name.lower() not in _NO_PACKAGES
        and name not in sys.stdlib_module_names
        and PurePosixPath(name).suffix.removeprefix(".") not in SUFFIXES.keys() - {"js"}
    )
