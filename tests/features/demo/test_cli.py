import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
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


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_fills_a_store_of_its_own_and_shows_it_until_it_is_ended(
    tmp_path: Path, end: signal.Signals
) -> None:
    elsewhere = tmp_path / "my-ledger"
    variables = {
        **os.environ,
        "TMPDIR": str(tmp_path),
        "MINUTEBOOK_EMBEDDER": "none",
        "MINUTEBOOK_LEDGER": str(elsewhere),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "minutebook", "demo", "--ui", "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
        env=variables,
    )
    try:
        assert process.stdout is not None
        link = next(line.strip() for line in process.stdout if line.startswith("http"))
        (home,) = tmp_path.glob("minutebook-demo-*")
        with httpx2.Client(follow_redirects=True, timeout=60) as browser:
            base = link.partition("/enter")[0]
            assert "Learned" in (today := browser.get(link).text)
            assert "Nothing was kept on this day" not in today
            assert "Card numbers stay out" in today
            assert "Put a queue in PostgreSQL" in browser.get(f"{base}/decisions").text
            assert "Put a queue in Redis" in browser.get(f"{base}/decisions").text
            assert "pool_size" in browser.get(f"{base}/session?name=checkout-fails").text
            assert ">Hofmann GmbH<" in browser.get(f"{base}/graph").text
            assert "Locked" in browser.get(f"{base}/activity?act=delete").text
    finally:
        process.send_signal(end)
        process.wait(60)
    assert not home.exists()
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(base, timeout=60)
    assert not elsewhere.exists()
