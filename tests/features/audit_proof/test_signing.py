"""Signed ends of the trail: what the key proves, and what it refuses to sign."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from minutebook.features.audit_proof.audit_proof import prove_trail
from minutebook.features.audit_proof.signing import HeadSigning, head_signing
from minutebook.features.audit_proof.trail_key import make_key, private_key, public_half
from minutebook.features.audit_proof.trail_proof import Proof
from minutebook.memory.access.audit import Trail
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, InvalidInput
from minutebook.record.records import Entry, Head, Kind, Role
from minutebook.record.trust.trail import HEAD
from minutebook.store.protocol import Tended
from tests.store.engine import engine_named
from tests.world import NOON, Opener

CALLER = Caller(name="ana", role=Role.ADMIN)


@dataclass
class Signer:
    """A store, and a key beside it."""

    store: Tended
    key: Path
    public: str

    @property
    def trail(self) -> Trail:
        return Trail(self.store, lambda: NOON)

    @property
    def signing(self) -> HeadSigning:
        return HeadSigning(self.store, self.trail, self.key)

    def write(self, *subjects: str) -> None:
        self.trail.log(CALLER, "acme", "read", Kind.MEMORY, list(subjects))

    def sign(self, *, accept: bool = False) -> list[str]:
        return [each.organization for each in self.signing.sign(CALLER, accept=accept)]

    def proof(self, noted: tuple[Head, ...] = ()) -> Proof:
        return prove_trail(self.store, "acme", noted, self.public)

    def forge(self, *subjects: str) -> None:
        """Put another trail in the place of this one, each entry well made, as whoever can write may."""
        for entry in self.entries():
            self.store.delete(Entry, "acme", entry.id)
        self.store.delete(Head, "acme", HEAD)
        self.write(*subjects)

    def entries(self) -> list[Entry]:
        from tests.world import everything

        return self.store.find(Entry, everything("acme"), order=["number"])


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def signer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Signer]:
    key = tmp_path / "trail.key"
    with engine_named(request.param).fresh(tmp_path / "store") as store:
        yield Signer(store, key, make_key(key))


def test_a_signature_covers_every_entry_before_it(signer: Signer) -> None:
    signer.write("a", "b")
    assert signer.proof().signed.number == 0
    assert signer.sign() == []
    signer.write("c")
    proof = signer.proof()
    assert proof.is_sound
    assert (proof.signed.number, proof.signed.key) == (2, signer.public)
    assert signer.sign() == []
    assert signer.proof().signed.number == 4


def test_a_trail_that_has_not_grown_is_not_signed_again(signer: Signer) -> None:
    signer.write("a")
    for _ in range(3):
        assert signer.sign() == []
    assert [each.act for each in signer.entries()] == ["read", "sign_head"]


def test_two_servers_with_one_key_do_not_sign_one_another(signer: Signer) -> None:
    signer.write("a")
    signer.sign()
    noted = signer.key.with_name("trail.key.signed")
    for _ in range(3):
        noted.unlink()
        assert signer.sign() == []
    assert len(signer.entries()) == 2
    signer.write("b")
    assert signer.sign() == []
    assert signer.proof().signed.number == 3


def test_a_forged_trail_has_no_signature_and_gets_none(signer: Signer) -> None:
    signer.write("a", "b")
    signer.sign()
    signer.forge("a", "other", "c", "d")
    proof = signer.proof(tuple(signer.signing.last_signed().values()))
    assert proof.broken is not None
    assert proof.broken.number == 2
    assert signer.proof().signed.number == 0
    assert signer.sign() == ["acme"]
    assert signer.proof().signed.number == 0
    assert signer.sign(accept=True) == []
    assert signer.proof().signed.number == 4


def test_a_trail_that_was_cut_back_to_an_earlier_signature_is_found(signer: Signer) -> None:
    signer.write("a")
    signer.sign()
    signer.write("b")
    signer.sign()
    for entry in signer.entries()[2:]:
        signer.store.delete(Entry, "acme", entry.id)
    last = signer.entries()[-1]
    signer.store.put(Head(organization="acme", id=HEAD, number=last.number, digest=last.digest))
    assert signer.proof().broken is None
    assert signer.proof(tuple(signer.signing.last_signed().values())).broken is not None
    assert signer.sign() == ["acme"]


def test_a_signature_of_another_trail_does_not_fit(signer: Signer) -> None:
    signer.write("a")
    signer.sign()
    stolen = signer.entries()[1].reason
    signer.forge("other")
    head = signer.trail.head("acme")
    assert head is not None
    subject = f"{head.number}:{head.digest}"
    signer.trail.log(CALLER, "acme", "sign_head", Kind.HEAD, [subject], note=stolen)
    proof = signer.proof()
    assert proof.broken is None
    assert proof.signed.broken is not None
    assert not proof.is_sound


def test_another_key_signs_all_that_an_earlier_one_did(signer: Signer) -> None:
    signer.write("a")
    signer.sign()
    earlier, signer.public = signer.public, make_key(signer.key, replace=True)
    assert signer.proof().signed.number == 0
    assert signer.sign() == []
    proof = signer.proof()
    assert proof.signed.number == 2
    assert proof.signed.others == (earlier,)


def test_a_key_is_its_owners_alone_and_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "trail.key"
    public = make_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.with_name("trail.key.pub").read_text() == f"{public}\n"
    assert public_half(private_key(path)) == public
    with pytest.raises(InvalidInput, match="must be new"):
        make_key(path)
    path.chmod(0o644)
    with pytest.raises(InvalidInput, match="chmod 600"):
        private_key(path)


@pytest.mark.parametrize("content", ["", "-----BEGIN PRIVATE KEY-----\n"])
def test_a_file_that_is_no_key_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "trail.key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InvalidInput, match="as PEM"):
        private_key(path)


@pytest.mark.parametrize("content", ["{", "[1]", json.dumps({"acme": 1})])
def test_what_was_signed_last_is_not_guessed_where_it_cannot_be_read(
    signer: Signer, content: str
) -> None:
    signer.write("a")
    signer.key.with_name("trail.key.signed").write_text(content)
    with pytest.raises(Conflict, match="heads noted elsewhere"):
        signer.sign()


def test_without_a_key_nothing_is_signed(opener: Opener) -> None:
    world = opener()
    world.remember("tea")
    assert not world.app.get(head_signing).is_on
    assert world.app.get(head_signing).public_key() is None
    with pytest.raises(InvalidInput, match="audit key"):
        world.app.get(head_signing).sign(world.caller)
