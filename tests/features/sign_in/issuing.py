"""An authorization server for tests: keys of its own, tokens signed with them, a page of the keys."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

ISSUER = "https://login.example.org/"
AUDIENCE = "https://memory.example.org/mcp/knowledge"

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
WEAK_RSA = rsa.generate_private_key(public_exponent=65537, key_size=1024)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def shown(key: Any, name: str, **more: Any) -> dict[str, Any]:
    """The public half of a key as a JSON Web Key."""
    public = key.public_key()
    algorithm: Any = next(
        each
        for kind, each in (
            (rsa.RSAPublicKey, RSAAlgorithm),
            (ec.EllipticCurvePublicKey, ECAlgorithm),
            (ed25519.Ed25519PublicKey, OKPAlgorithm),
        )
        if isinstance(public, kind)
    )
    told: dict[str, Any] = json.loads(algorithm.to_jwk(public))
    told.pop("key_ops", None)
    return {**told, "kid": name, **more}


def key_set(*keys: dict[str, Any]) -> bytes:
    """A JSON Web Key Set."""
    return json.dumps({"keys": list(keys)}).encode()


KEYS = key_set(shown(RSA, "r"), shown(EC, "e"), shown(ED, "d"))


def signed(
    key: Any = RSA, algorithm: str = "RS256", name: str | None = "r", /, **claims: Any
) -> str:
    """A token that fits, but for what is said of its claims; one that is None is left out."""
    plain = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ana", "exp": int(time()) + 600}
    told = {claim: value for claim, value in (plain | claims).items() if value is not None}
    return jwt.encode(told, key, algorithm, {} if name is None else {"kid": name})


@dataclass
class Page:
    """What a server answers, and how often it was asked."""

    body: bytes = KEYS
    status: int = 200
    asked: int = 0
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@contextmanager
def served(page: Page) -> Iterator[Page]:
    """Serve a page on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page.asked += 1
            self.send_response(page.status)
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    page.url = f"http://127.0.0.1:{server.server_port}/keys"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield page
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
