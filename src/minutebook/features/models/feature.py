"""The register of this feature."""

from minutebook.feature import Feature, ModelOpeners

FEATURE = Feature(
    name="models",
    settings=".settings:ModelSettings",
    models=ModelOpeners(
        embedders={
            "built-in": ".opening:built_in",
            "endpoint": ".opening:of_endpoint",
            "": ".opening:of_folder",
        },
        chat=".opening:chat_service",
    ),
)
