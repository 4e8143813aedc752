import subprocess
import sys

import pytest


@pytest.mark.thorough
def test_the_demo_gets_every_answer_that_it_expects() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "minutebook", "demo"],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Every answer was the expected one." in done.stdout
