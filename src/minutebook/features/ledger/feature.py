"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="ledger",
    needs=("pages",),
    settings=".settings:LedgerSettings",
    beside=".places:beside",
    contract=".contract:ledger",
    operations=".operations:OPERATIONS",
    on_move=".places:on_move",
    on_open=".keys.approval_secret:pin_first",
    on_connect=".keys.approval_secret:pin_secret",
    shows={
        "decision": ".operations:read_decision",
        "proposal": ".operations:read_decision",
    },
    jobs=".repositories:jobs",
    checks=".seam:checks",
    texts=".search:DecisionSearch",
    examples={"decide": "put a decision on the record"},
    undo=".seam:undoing",
    commands={"Decisions": {".cli": ("decide", "decisions", "accept", "ledger")}},
    pages=".pages.register:PAGES",
    today=".seam:decided",
    page_parts={"settings.rules": {"ledger/secret.html": ".pages.register:secret"}},
)
