"""Whether a path is on a disk of this machine, by the mounts as Linux tells them."""

from pathlib import Path

import pytest

from minutebook.store.disk.network_files import network_type, network_type_in

MOUNTS = rb"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 0 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
31 27 0:40 / /home rw,relatime shared:7 master:2 - nfs4 server:/home rw,vers=4.2
32 31 0:41 / /home/ana/local rw,relatime - ext4 /dev/vdb rw
33 27 0:42 / /mnt/two\040words rw - cifs //server/share rw
34 27 0:43 / /mnt/hidden rw - nfs server:/x rw
35 27 0:44 / /mnt/hidden rw - tmpfs tmpfs rw
36 27 0:45 / /mnt/remote rw - fuse.sshfs ana@server: rw
no mount at all
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/minutebook.db", None),
        ("/home/ana/minutebook.db", "nfs4"),
        ("/home", "nfs4"),
        ("/homes/ana", None),
        ("/home/ana/local/minutebook.db", None),
        ("/mnt/two words/minutebook.db", "cifs"),
        ("/mnt/hidden/minutebook.db", None),
        ("/mnt/remote/minutebook.db", "fuse.sshfs"),
    ],
)
def test_the_innermost_mount_says_whether_a_network_is_between(path: str, kind: str | None) -> None:
    assert network_type_in(MOUNTS, path) == kind


def test_a_folder_of_tests_is_on_a_disk_of_this_machine(tmp_path: Path) -> None:
    assert network_type(tmp_path / "minutebook.db") is None
    assert network_type(Path("/proc/self")) is None
