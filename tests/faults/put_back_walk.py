"""What becomes of the folder that machines share: it loses files, or is brought back to what it held once."""

import shutil

from tests.faults.machine_walk import ACTS, Acts, Nothing, Walk


def keep_place(w: Walk) -> None:
    """Keep what the place holds by now."""
    shutil.copytree(w.machines.folder, w.file("place"))


def put_place_back(w: Walk) -> None:
    """Bring the place back to what it held once."""
    kept = sorted(w.home.glob("*-place"))
    if not kept:
        raise Nothing
    shutil.rmtree(w.machines.folder)
    shutil.copytree(w.chance.choice(kept), w.machines.folder)


def lose_file(w: Walk) -> None:
    """Lose a file of the place, or its end."""
    found = sorted((*w.machines.folder.glob("changes/*"), *w.machines.folder.glob("snapshots/*")))
    if not found:
        raise Nothing
    lost = w.chance.choice(found)
    if w.chance.random() < 0.5:
        lost.unlink()
    else:
        lost.write_bytes(lost.read_bytes()[: w.chance.randrange(lost.stat().st_size)])


def sync_with_less(w: Walk) -> None:
    """Sync the machine with a place that may lack what a machine that did not sync since has to send again."""
    w.machines.sync(w.at, compact=w.chance.random() < 0.1)


PUT_BACK: Acts = {
    # What a machine left, and lost with the place and by a backup, is nowhere any more.
    **{name: act for name, act in ACTS.items() if name != "restore"},
    "keep the place": (2, keep_place),
    "put the place back": (2, put_place_back),
    "lose a file of the place": (1, lose_file),
    "sync": (20, sync_with_less),
}
"""The same where the place loses files, or is brought back to what it held once."""
