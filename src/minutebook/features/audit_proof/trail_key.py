"""The key of the trail: makes it, reads it and checks signatures by it. Its file is outside the data directory."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.features.audit_proof.head_signatures import public_key_bytes, public_key_text
from minutebook.record.errors import InvalidInput, StoreError
from minutebook.record.reason import cause_of, os_error_reason
from minutebook.store.disk.atomic_file import new_file, replace_file

if TYPE_CHECKING:
    # Loaded only where something is signed or checked: it takes long.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PUBLIC_SUFFIX = ".pub"
"""The suffix of the file beside a private key that holds its public half."""


def is_valid_signature(key: str, message: bytes, signature: bytes) -> bool:
    """Tell whether a signature is of a message, by the private key with this public half.

    Raises InvalidInput if `key` is no public key.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public_key_bytes(key)).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def make_key(path: Path, *, replace: bool = False) -> str:
    """Write a new private key to a file that its owner alone may read, and its public half beside it; return the half.

    Raises InvalidInput if there is a file and `replace` is not set, or no folder, StoreError if it
    cannot be written.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    content = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = public_half(key)
    if replace:
        try:
            replace_file(path, content)
        except OSError as error:
            raise StoreError(os_error_reason(path, error)) from error
    else:
        with new_file(path, str(path)) as file:
            file.write(content)
    try:
        replace_file(path_beside(path, PUBLIC_SUFFIX), f"{public}\n".encode(), 0o644)
    except OSError as error:
        raise StoreError(os_error_reason(path, error)) from error
    return public


def private_key(path: Path) -> "Ed25519PrivateKey":
    """Return the private key in a file. Raises InvalidInput if there is none, or others may read it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        content = path.read_bytes()
        mode = path.stat().st_mode
    except OSError as error:
        remedy = (
            "must be a file that can be read ({path}: {cause}); `minutebook audit key` makes one"
        )
        raise InvalidInput("audit_key", remedy, path=path, cause=cause_of(error)) from error
    if os.name == "posix" and mode & 0o077:
        raise InvalidInput(
            "audit_key", "must be its owner's alone; run `chmod 600 {path}`", path=path
        )
    try:
        key = load_pem_private_key(content, None)
    except (ValueError, TypeError) as error:
        raise InvalidInput(
            "audit_key", "must be a private key as PEM; {path} is none", path=path
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput("audit_key", "must be a key for Ed25519; {path} is another", path=path)
    return key


def public_half(key: "Ed25519PrivateKey") -> str:
    """Return the public half of a private key in its text form."""
    return public_key_text(key.public_key().public_bytes_raw())


def path_beside(path: Path, suffix: str) -> Path:
    """Return the file beside a key, with a suffix after its name."""
    return path.with_name(path.name + suffix)
