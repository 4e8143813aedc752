"""The register of this feature."""

from minutebook.feature import Feature, ModelOpeners

FEATURE = Feature(name="summarizer", models=ModelOpeners(summarizer=".extractive:summarize"))
