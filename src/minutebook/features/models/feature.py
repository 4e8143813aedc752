"""The register of this feature."""

from minutebook.feature import Feature, ModelOpeners

FEATURE = Feature(
    name="models",
    settings=".settings:ModelSettings",
    models=ModelOpeners(embedder=".opening:embedding", chat=".opening:chat_service"),
)
