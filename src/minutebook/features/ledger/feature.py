"""The register of this feature."""

from minutebook.feature import Answers, Event, Feature, Files, WebPages

FEATURE = Feature(
    name="ledger",
    needs=("pages",),
    settings=".settings:LedgerSettings",
    files=Files(beside=".places:files_beside_store"),
    commands={"Decisions": {".cli": ("decide", "decisions", "accept", "ledger")}},
    examples={"decide": "put a decision on the record"},
    operations=".operations:OPERATIONS",
    shows={
        "decision": ".operations:read_decision",
        "proposal": ".operations:read_decision",
    },
    today=".seam:decided",
    checks=".seam:checks",
    contract=".contract:ledger",
    answers=Answers(texts=".search:DecisionSearch"),
    pages=WebPages(
        own=".pages.register:PAGES",
        parts={"settings.rules": {"ledger/secret.html": ".pages.register:secret"}},
    ),
    jobs=".repositories:jobs",
    on={
        Event.MOVE: ".places:on_move",
        Event.OPEN: ".keys.approval_secret:pin_first",
        Event.CONNECT: ".keys.approval_secret:pin_secret",
    },
    undo=".seam:undoing",
)
