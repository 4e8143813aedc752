"""Minutebook: the memory that AI agents keep on the record."""

import os

__version__ = "0.1.0"

# numpy's OpenBLAS reads it when it is loaded. Its threads wait for one another by spinning: on a busy
# machine a product of a few rows takes 10 ms on two of them and 0.1 ms on one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def __getattr__(name: str) -> object:
    """Import the openers of a memory when they are asked for: most users of this package need none.

    Type checkers read `__init__.pyi`.
    """
    if name in ("open_memory", "open_memory_async"):
        from importlib import import_module

        return getattr(import_module("minutebook.ask"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
