"""Minutebook: the memory that AI agents keep on the record."""

import os

__version__ = "0.1.0"

# numpy's OpenBLAS reads it when it is loaded. Its threads wait for one another by spinning: on a busy
# machine a product of a few rows takes 10 ms on two of them and 0.1 ms on one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
