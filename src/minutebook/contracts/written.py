"""Documents about contracts, as JSON or YAML."""

import json
from collections.abc import Mapping
from typing import Any


def written(document: Mapping[str, Any], format: str) -> str:
    """Write a document as `json` or `yaml`."""
    if format == "json":
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    # It takes 0.02 s to import, and few ask for it.
    import yaml

    # Through JSON, so that what stands in two places is written out twice, not referred to.
    plain = json.loads(json.dumps(document))
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100))
