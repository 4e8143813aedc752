"""`config/folders/remotes.py`: one name for a repository, however its URL is spelled."""

import pytest

from minutebook.config.folders.git_config import values
from minutebook.config.folders.remotes import local_path, remote_name

API = [
    "git@github.com:acme/api.git",
    "github.com:acme/api",
    "ssh://git@github.com/acme/api.git",
    "ssh://git@ssh.github.com:443/acme/api.git/",
    "git+ssh://hanna@github.com:22/acme/api",
    "https://github.com/acme/api",
    "https://github.com/acme/api.git",
    "https://github.com:443/acme/api/",
    "https://www.github.com/acme/api",
    "https://hanna:ghp_secret@github.com/Acme/API.git",
    "http://GitHub.com//acme/api",
    "git://github.com/acme/api.git",
    "  https://github.com/acme/%61pi.git?ref=x#y ",
]

OTHERS = {
    "git@gitlab.example.org:2222/group/sub/tool.git": "gitlab.example.org/2222/group/sub/tool",
    "ssh://git@gitlab.example.org:2222/group/sub/tool.git": "gitlab.example.org/group/sub/tool",
    "https://acme@dev.azure.com/acme/shop/_git/api": "dev.azure.com/acme/shop/api",
    "git@ssh.dev.azure.com:v3/acme/shop/api": "dev.azure.com/acme/shop/api",
    "https://acme.visualstudio.com/DefaultCollection/shop/_git/api": "dev.azure.com/acme/shop/api",
    "work:acme/api": "work/acme/api",
    "ssh://[2001:db8::1]:22/srv/api.git": "2001:db8::1/srv/api",
}

NO_REMOTES = [
    "",
    "/srv/git/api.git",
    "../api",
    "C:/src/api",
    "C:\\src\\api",
    "file:///srv/git/api.git",
    "https://github.com/",
    "https://github.com/acme/../secrets",
    "https://github.com/acme/a%0Ab",
    "https://[bad/acme/api",
    "ext::sh -c evil% x",
    "javascript://github.com/acme/api",
    f"https://github.com/{'a' * 400}",
]


@pytest.mark.parametrize("url", API)
def test_all_spellings_of_a_remote_have_one_name(url: str) -> None:
    assert remote_name(url) == "github.com/acme/api"


@pytest.mark.parametrize(("url", "name"), OTHERS.items())
def test_a_remote_is_named_by_host_and_path(url: str, name: str) -> None:
    assert remote_name(url) == name


@pytest.mark.parametrize("url", NO_REMOTES)
def test_what_is_no_url_of_a_repository_has_no_name(url: str) -> None:
    assert remote_name(url) is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("/srv/git/api.git", "/srv/git/api.git"),
        ("../api", "../api"),
        ("file:///srv/a%20b", "/srv/a b"),
        ("file://localhost/srv/api", "/srv/api"),
        ("C:/src/api", "C:/src/api"),
        ("git@github.com:acme/api", None),
        ("https://github.com/acme/api", None),
        ("ext::sh -c evil", None),
        ("", None),
    ],
)
def test_a_path_of_this_machine_is_told_from_a_url(url: str, path: str | None) -> None:
    assert local_path(url) == path


def test_values_are_read_as_git_reads_them() -> None:
    text = """
    ; a comment
    [core] bare = false # another
    [remote "ori\\"gin"]
        url = "https://a.example/x # no comment" ; one
        fetch = +refs/heads/*:\\
refs/remotes/*
    [remote "Origin"]
        URL = first
        url = second
    [include]
        path = /etc/passwd
    [branch.old]
        flag
    not a line = of any form [
    """
    assert values(text) == {
        "core.bare": "false",
        'remote.ori"gin.url': "https://a.example/x # no comment",
        'remote.ori"gin.fetch': "+refs/heads/*:refs/remotes/*",
        "remote.Origin.url": "second",
        "include.path": "/etc/passwd",
        "branch.old.flag": "true",
    }
