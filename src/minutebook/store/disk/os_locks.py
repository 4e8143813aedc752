"""Advisory locks on open files, by the functions of each operating system; they end with their process."""

import random
import sys

if sys.platform == "win32":
    import msvcrt
    import os

    # A lock takes all bytes; a shared one takes one at random, which may collide with another's.
    _ALL = 1 << 30

    def try_lock(file: int) -> bool:
        """Lock an open file if it is free, until it is closed; tell whether."""
        return _try_part(file, 0, _ALL)

    def try_share(file: int) -> bool:
        """Lock an open file together with others if nobody has it alone; tell whether."""
        return _try_part(file, random.randrange(_ALL), 1)  # noqa: S311

    def _try_part(file: int, start: int, length: int) -> bool:
        os.lseek(file, start, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, length)
        except OSError:
            return False
        return True

    def unlock(file: int) -> None:
        """Unlock an open file."""
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, _ALL)

else:
    import fcntl

    def try_lock(file: int) -> bool:
        """Lock an open file if it is free, until it is closed; tell whether."""
        return _try(file, fcntl.LOCK_EX)

    def try_share(file: int) -> bool:
        """Lock an open file together with others if nobody has it alone; tell whether."""
        return _try(file, fcntl.LOCK_SH)

    def _try(file: int, operation: int) -> bool:
        try:
            fcntl.flock(file, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(file: int) -> None:
        """Unlock an open file."""
        fcntl.flock(file, fcntl.LOCK_UN)
