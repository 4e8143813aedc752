"""The log of a daemon is bounded, also where it cannot be put aside."""

import os
from pathlib import Path

from minutebook.serve.daemon import process
from minutebook.serve.daemon.rendezvous import LOG


def test_a_log_that_cannot_be_put_aside_is_emptied(tmp_path: Path) -> None:
    # What stands there keeps the log from being renamed, as an open file does on Windows.
    (tmp_path / f"{LOG}.1" / "taken").mkdir(parents=True)
    kept = [os.dup(number) for number in (1, 2)]
    try:
        process._open_log(tmp_path)
        os.write(2, b"x" * (process.LOG_SIZE + 1))
        process._limit_log(tmp_path)
        os.write(2, b"and on\n")
    finally:
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)
    assert (tmp_path / LOG).read_bytes() == b"and on\n"
