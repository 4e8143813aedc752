"""A server of an earlier version, which knows one format of the store less: `python -m tests.faults.older [OPTION…]`."""

import runpy
import sys
from typing import Any

from minutebook.store.sqlite import schema


def main() -> None:
    """Serve as `minutebook serve` does."""
    older: Any = schema
    older.SCRIPTS = schema.SCRIPTS[:-1]
    older.FORMAT = len(older.SCRIPTS)
    sys.argv[1:] = ["serve", "--no-daemon", *sys.argv[1:]]
    runpy.run_module("minutebook", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
