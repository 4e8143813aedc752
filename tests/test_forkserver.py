"""A forked process is to whoever starts it what a fresh one is."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import forkserver

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not forkserver.AVAILABLE, reason="starts are fresh here"),
]

WARM = "import gc, sys; sys.exit(0 if gc.get_freeze_count() else 7)"
"""Exits with 0 in a forked process, with 7 in a fresh one."""


def python(code: str, *arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    options = {"capture_output": True, "text": True, "timeout": 60} | options
    done: subprocess.CompletedProcess[str]
    done = subprocess.run([sys.executable, "-c", code, *arguments], **options)  # type: ignore[call-overload]
    return done


def is_forked(*command: str, **options: object) -> bool:
    """Whether a command that runs `WARM` was forked."""
    done = subprocess.run([*command, WARM], **options)  # type: ignore[call-overload]
    assert done.returncode in (0, 7)
    return bool(done.returncode == 0)


def test_a_process_has_arguments_environment_folder_and_path_of_its_own(tmp_path: Path) -> None:
    # Without a variable of the machine that a library reads when it is loaded, the start would be fresh.
    given = {"ONLY": "this"} | forkserver.read_once(os.environ)
    code = "import os, sys; print(sys.argv, dict(os.environ), os.getcwd(), sys.path[0], sep='\\n')"
    done = python(code, "a b", "ü", cwd=tmp_path, env=given)
    told = done.stdout.splitlines()
    assert told == ["['-c', 'a b', 'ü']", str(given), str(tmp_path), ""]
    assert done.stderr == ""


def test_a_module_and_a_script_find_what_they_would(tmp_path: Path) -> None:
    (tmp_path / "spoken.py").write_text("import sys; print(__name__, sys.argv[1:], sys.path[0])")
    command = [sys.executable, "-m", "spoken", "word"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == f"__main__ ['word'] {tmp_path}\n"
    command = [sys.executable, "-P", "-m", "spoken"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"{sys.executable}: No module named spoken\n"
    script = Path(sys.executable).with_name("minutebook")
    done = subprocess.run([script, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("code", "status", "stderr"),
    [
        ("pass", 0, ""),
        ("import sys; sys.exit(7)", 7, ""),
        ("import sys; sys.exit('out of ink')", 1, "out of ink\n"),
        ("import os; os._exit(300 & 255)", 44, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15, ""),
    ],
)
def test_the_end_of_a_process_is_known(code: str, status: int, stderr: str) -> None:
    done = python(code)
    assert (done.returncode, done.stderr) == (status, stderr)


def test_an_error_that_nobody_caught_is_shown_without_the_server(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import no_such_module")
    done = subprocess.run(
        [sys.executable, "-m", "broken"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'no_such_module'\n")
    assert "forkserver" not in done.stderr


def test_an_interrupt_ends_a_process_as_it_ends_any() -> None:
    code = "import time; print('here', flush=True); time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert told.endswith(b"KeyboardInterrupt\n")


def test_what_was_to_be_done_at_the_end_is_done() -> None:
    code = (
        "import atexit, threading\n"
        "atexit.register(lambda: print('exit function'))\n"
        "def wait(): threading.main_thread().join(); print('thread')\n"
        "threading.Thread(target=wait).start()\n"
        "print('main')"
    )
    assert python(code).stdout == "main\nthread\nexit function\n"


def test_bytes_pass_as_they_are() -> None:
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
    told = bytes(range(256)) * 1000
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, input=told, capture_output=True).stdout == told


def test_a_process_keeps_its_pid_until_it_is_waited_for() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.exit(5)"])
    deadline = time.monotonic() + 30
    while _state(process.pid) != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    # The server of the forks tells its end a moment after the system does.
    while process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert process.returncode == 5
    assert not Path(f"/proc/{process.pid}").exists()
    assert process.wait() == 5
    with pytest.raises(ChildProcessError):
        os.waitpid(process.pid, 0)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_wait_has_its_end() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.05)
    process.kill()
    assert process.wait(timeout=60) == -signal.SIGKILL


def test_asyncio_waits_for_a_process() -> None:
    async def run() -> tuple[int | None, bytes]:
        code = "import sys; print(input()); sys.exit(3)"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        told, _ = await process.communicate(b"hello\n")
        return process.returncode, told

    assert asyncio.run(run()) == (3, b"hello\n")


def test_a_session_of_its_own_is_had_where_asked_for() -> None:
    code = "import os; print(os.getsid(0) == os.getpid())"
    assert python(code).stdout == "False\n"
    assert python(code, start_new_session=True).stdout == "True\n"


def test_what_a_forked_process_starts_is_forked_and_waited_for() -> None:
    code = (
        "import subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-c', sys.argv[1]])\n"
        "sys.exit(20 + done.returncode)"
    )
    assert python(code, WARM).returncode == 20


def test_processes_do_not_share_what_they_change() -> None:
    code = "import json, random; print(hasattr(json, 'mark'), random.random()); json.mark = 1"
    one, other = python(code).stdout.split(), python(code).stdout.split()
    assert (one[0], other[0]) == ("False", "False")
    assert one[1] != other[1]


def test_many_at_once_are_told_apart() -> None:
    code = "import sys, time; time.sleep(0.05); sys.exit(int(sys.argv[1]))"
    started = [subprocess.Popen([sys.executable, "-c", code, str(each)]) for each in range(20)]
    assert [process.wait(timeout=60) for process in started] == list(range(20))


def test_whatever_could_tell_the_difference_is_started_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = (sys.executable, "-c")
    assert is_forked(*here)
    assert not is_forked(sys.executable, "-B", "-c")
    assert not is_forked(*here, env={**os.environ, "PYTHONHASHSEED": "7"})
    assert not is_forked(*here, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert not is_forked(*here, env={**os.environ, "LC_ALL": "de_DE.ISO-8859-1"})
    assert not is_forked(*here, umask=0o77)
    assert python("import sys; print('onnxruntime' in sys.modules)").stdout == "False\n"
    assert is_forked(*here, cwd=tmp_path)
    (tmp_path / "json.py").touch()
    assert not is_forked(*here, cwd=tmp_path)
    with pytest.raises(FileNotFoundError):
        is_forked(*here, cwd=tmp_path / "nowhere")


@pytest.mark.cold_start
def test_a_test_about_the_start_has_a_fresh_one() -> None:
    assert not is_forked(sys.executable, "-c")
