"""A forked process: what it is to be, and how it becomes that.

The fork server (`forkserver.py`) calls `become`, `execute` and `finish` in each process it forks.
"""

import atexit
import io
import os
import runpy
import signal
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, cast

Kind = Literal["module", "code", "script"]


@dataclass(frozen=True)
class Program:
    """A command of the interpreter: what to run, and as what."""

    kind: Kind
    target: str
    """A module's name, the code itself, or a script's path."""
    arguments: list[str]
    is_safe_path: bool = False
    """Whether the working directory is left out of `sys.path` (-P)."""


@dataclass(frozen=True)
class Request:
    """A process to fork; its stdin, stdout and stderr are sent beside it."""

    command: list[str]
    program: Program
    cwd: str
    environment: dict[str, str]
    new_session: bool


def become(request: Request, streams: list[int], import_path: list[str]) -> None:
    """Make this process what the request's would be if it had been started fresh."""
    if request.new_session:
        os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    os.chdir(request.cwd)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    tempfile.tempdir = None
    sys.dont_write_bytecode = bool(request.environment.get("PYTHONDONTWRITEBYTECODE"))
    _open_streams(is_unbuffered=bool(request.environment.get("PYTHONUNBUFFERED")))
    program = request.program
    first = {"module": request.cwd, "code": "", "script": str(Path(program.target).parent)}
    sys.path[:] = [*([] if program.is_safe_path else [first[program.kind]]), *import_path]
    name = {"module": "-m", "code": "-c", "script": program.target}[program.kind]
    sys.argv = [name, *program.arguments]
    sys.orig_argv = list(request.command)


def _open_streams(*, is_unbuffered: bool) -> None:
    def opened(number: int, errors: str) -> io.TextIOWrapper:
        mode = "r" if number == 0 else "w"
        line_buffering = number == 2 or is_unbuffered or os.isatty(number)
        binary = cast("io.BufferedWriter", open(number, mode + "b", closefd=False))  # noqa: SIM115
        return io.TextIOWrapper(
            binary, "utf-8", errors, newline=None if number == 0 else "\n",
            line_buffering=line_buffering, write_through=is_unbuffered,
        )  # fmt: skip

    sys.stdin = sys.__stdin__ = opened(0, "surrogateescape")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = opened(1, "surrogateescape")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = opened(2, "backslashreplace")  # type: ignore[misc]


def execute(program: Program) -> int:
    """Run a program as the interpreter does; its exit status, negative for a signal."""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        _runner(program, main)()
    except SystemExit as ending:
        return _status(ending)
    except BaseException as error:
        # This function's frame is none of the program's.
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _runner(program: Program, main: types.ModuleType) -> Callable[[], object]:
    match program.kind:
        case "module":
            as_main = runpy._run_module_as_main  # type: ignore[attr-defined]
            return partial(as_main, program.target)
        case "script":
            return partial(runpy.run_path, program.target, run_name="__main__")
        case "code":
            return partial(exec, compile(program.target, "<string>", "exec"), main.__dict__)


def _status(ending: SystemExit) -> int:
    if ending.code is None:
        return 0
    if isinstance(ending.code, int):
        return ending.code & 0xFF
    sys.stderr.write(f"{ending.code}\n")
    return 1


def finish(status: int) -> None:
    """End as an interpreter does, without destructors: threads, exit functions, streams."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stderr.flush()
        sys.stdout.flush()
    except OSError:
        status = status or 120
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)
