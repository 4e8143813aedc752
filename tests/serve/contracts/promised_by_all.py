"""What every contract promises, and the one policy behind them."""

from tests.serve.contracts.promises import Divergence, Requirement, promised

_COMMON = [
    *promised(
        "RESOLUTIONS §0",
        "common",
        {
            "one-store": "All contracts that are built read and write one store.",
            "one-memory": "A memory written through catalog is found by knowledge's recall.",
            "locked-for-all": "A locked memory can be changed through no contract.",
            "published-verbatim": "Names and schemas are published exactly as written, descriptions included.",
            "null-is-absent": "`null` is accepted as absent.",
            "safe-spelling": "Calls accept the safe spelling of a name; `--tool-names safe` publishes it.",
            "clash": "Contracts that share a tool's name are refused at start, with the clash and the two ways out.",
            "http-paths": "Over HTTP every contract has its own path.",
            "bad-input/named": "A missing or ill-typed argument, an unlisted enum value, a number out of range: an error that names the argument, before the core.",
            "bad-input/clamped": "Where only the prose gives a maximum, larger values are clamped to it.",
            "bad-input/unknown": "An argument that the tool does not know is left out and named in a further block where the "
            "published schema allows further properties, and refused with the nearest known one where it does not.",
            "results/first-block": "The first content block of every tool's result is the contract's answer, whole and alone; "
            "whatever else is said stands in further blocks. Under `answers = lines` the lines are the first block, and doubt their first line.",
            "arguments/as-sent": "A string that reads exactly as the declared number, boolean, array or object is taken "
            "as it (not for `confirm`); a lone surrogate in a string is read as U+FFFD.",
            "results/text-and-structured": "Results are sent as text and as structuredContent.",
            "results/output-schema": "Where an outputSchema is published the structured content validates against it.",
            "results/no-null-cursor": "Absent cursors are left out; never nextCursor: null.",
            "stdout-protocol-only": "Nothing but protocol on stdout.",
            "times": "Times on the wire: RFC 3339, UTC, Z, microseconds.",
            "ids": "Ids on the wire: 20 lower-case alphanumerics for knowledge.",
            "ids-uuid": "Ids on the wire: UUID for catalog and governance.",
            "ids-ledger": "Ids on the wire: `decision_<UTC time>_<8 hex>` for ledger, `.md` accepted on input.",
            "ids-of-all": "Every id resolves in every contract that can show that kind.",
            "ids-of-turns": "Two turns in one millisecond do not collide.",
            "one-policy": "One policy module decides, for all contracts.",
        },
    ),
    *promised(
        "RESOLUTIONS §6",
        "policy",
        {
            "read": "Everyone reads and searches inside their own scopes.",
            "write": "Everyone but a viewer writes.",
            "protected-types": "In a governed store an agent writes no business_rule and no system_constraint.",
            "locked": "Nobody changes, deletes or invalidates a locked record.",
            "lock-unlock": "Managers, architects and admins lock, and unlock what their role or a lower one locked.",
            "lock-catalog-open": "In an open store catalog's own `status` locks and unlocks.",
            "supersede-human": "An agent supersedes no decision of a human.",
            "accept-proposal": "Stewards accept a proposal with the secret.",
            "system-scope": "In a governed store system scope is written by the command line only.",
            "system-scope-catalog-only": "In an open store system scope is written through catalog.",
            "delete-own": "An agent deletes its own unlocked records, a human and above all unlocked ones, a viewer none.",
            "reset-own": "An agent resets its own unlocked records.",
            "reset-unlocked": "Managers, architects and admins reset only what is unlocked.",
            "open-by-default": "`open` is the default of a personal store on stdio.",
            "governed-with-tokens": "`governed` is the default as soon as tokens exist.",
            "repository-tokens": "A token that names repositories changes nothing that concerns its whole organization, whatever the kind and the act.",
            "folders": "Index and archive roots belong to an organization; over HTTP none by default.",
            "out-of-sight": "Ids out of a caller's sight behave as unknown ones in every answer.",
            "role-of-caller": "The role is the caller's, given by the start-up identity.",
        },
    ),
]

MANIFEST: tuple[Requirement, ...] = (*_COMMON,)

DIVERGENCES: tuple[Divergence, ...] = ()
