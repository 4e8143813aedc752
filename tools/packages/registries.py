"""What registries are told: server.json for the registry of MCP servers, and a formula for Homebrew."""

from string import Template
from typing import Any

from tools.packages.facts import Facts

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

_FORMULA = Template("""\
class $class < Formula
  desc "$desc"
  homepage "$homepage"
  url "$wheel_url", using: :nounzip
  sha256 "$wheel_digest"
  license "$license"

  depends_on "python@$python"

  # Intel Macs, and macOS before 14, lack wheels of what is needed.
  on_macos do
    depends_on arch: :arm64
    depends_on macos: :sonoma
  end

  # Every requirement by its digests. Some are published as wheels alone, so none can be built from source.
  resource "requirements" do
    url "$lock_url", using: :nounzip
    sha256 "$lock_digest"
  end

  def install
    system "python$python", "-m", "venv", libexec
    pip = [libexec/"bin/python", "-m", "pip", "install", "--no-cache-dir", "--only-binary=:all:"]
    resource("requirements").stage do
      system(*pip, "--require-hashes", "--requirement", "$lock")
    end
    system(*pip, "--no-deps", "--no-index", "$wheel")
    bin.install_symlink libexec/"bin/$name"
    generate_completions_from_executable(bin/"$name", shells: [:bash, :zsh, :fish], shell_parameter_format: :click)
  end

  service do
    run [opt_bin/"$name", "serve", "--http", "127.0.0.1:8765", "--ui"]
    keep_alive crashed: true
    log_path var/"log/$name.log"
    error_log_path var/"log/$name.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/$name --version")
    system bin/"$name", "remember", "The kettle is blue.", "--home", testpath/"store", "--embedder", "none"
    found = shell_output("#{bin}/$name search kettle --home #{testpath}/store --embedder none")
    assert_match "The kettle is blue.", found
  end
end
""")


def server_json(facts: Facts, bundle: str, digest: str) -> dict[str, Any]:
    """Return server.json: the package and the bundle, `digest` being the bundle's SHA-256.

    The registry takes the package for ours because its page says `mcp-name:` and our name.
    """
    stdio = {"type": "stdio"}
    return {
        "$schema": SCHEMA,
        "name": facts.registry_name,
        "title": facts.title,
        "description": facts.short_description,
        "version": facts.version,
        "websiteUrl": facts.urls["Homepage"],
        "packages": [
            {
                "registryType": "pypi",
                "identifier": facts.name,
                "version": facts.version,
                "runtimeHint": "uvx",
                "transport": stdio,
                "packageArguments": [{"type": "positional", "value": "serve"}],
            },
            {
                "registryType": "mcpb",
                "identifier": facts.file_url(bundle),
                "version": facts.version,
                "fileSha256": digest,
                "transport": stdio,
            },
        ],
    }


def formula(facts: Facts, wheel: tuple[str, str], lock: tuple[str, str]) -> str:
    """Return the formula; of the wheel and of the requirements with digests it takes name and SHA-256."""
    return _FORMULA.substitute(
        {
            "class": facts.title,
            "name": facts.name,
            # Homebrew wants no article at the beginning and no full stop.
            "desc": facts.short_description.removeprefix("The ").rstrip(".").capitalize(),
            "homepage": facts.urls["Homepage"],
            "license": facts.license,
            "python": f"3.{facts.minors[-2]}",
            "wheel": wheel[0],
            "wheel_url": facts.file_url(wheel[0]),
            "wheel_digest": wheel[1],
            "lock": lock[0],
            "lock_url": facts.file_url(lock[0]),
            "lock_digest": lock[1],
        }
    )
