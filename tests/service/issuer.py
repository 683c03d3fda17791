"""Signs identities of jobs as GitHub Actions does, and shows its public keys."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

BEARER = "shown-by-a-job"
"""What a job asks for its identity with."""


class Issuer:
    """Its keys, and what it says of a job."""

    def __init__(self, audience: str) -> None:
        self.url = ""
        self.up = True
        self.audience = audience
        self.keys: dict[str, rsa.RSAPrivateKey] = {}
        self.rotate("one")

    def rotate(self, kid: str) -> None:
        self.kid = kid
        self.keys = {kid: rsa.generate_private_key(public_exponent=65537, key_size=2048)}

    def jwks(self) -> dict[str, Any]:
        keys = [
            json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
            | {"kid": kid, "use": "sig", "alg": "RS256"}
            for kid, key in self.keys.items()
        ]
        return {"keys": keys}

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = datetime.now(UTC)
        told = {
            "iss": self.url,
            "aud": self.audience,
            "sub": "repo:octo-org/copies:pull_request",
            "jti": str(uuid.uuid4()),
            "iat": now,
            "nbf": now,
            "exp": now + timedelta(minutes=5),
            "repository": "Octo-Org/copies",
            "repository_owner": "Octo-Org",
            "job_workflow_ref": "octo-org/faultwatch/.github/workflows/gate.yml@refs/tags/v1",
            "runner_environment": "self-hosted",
            "run_id": "17",
        }
        return {name: value for name, value in (told | changes).items() if value is not None}

    def sign(self, kid: str | None = None, **changes: Any) -> str:
        return jwt.encode(self.claims(**changes), self.keys[self.kid], "RS256", headers={"kid": kid or self.kid})

    def answer(self, path: str, bearer: str) -> tuple[int, dict[str, Any]]:
        """Answer a service that asks for keys, or a job that asks for its identity."""
        asked = urlsplit(path)
        if asked.path == "/.well-known/jwks":
            return (200 if self.up else 503), self.jwks()
        if asked.path != "/identity" or bearer != f"Bearer {BEARER}":
            return 401, {}
        return 200, {"value": self.sign(aud=parse_qs(asked.query)["audience"][0])}


@contextmanager
def running(issuer: Issuer) -> Iterator[Issuer]:
    """Serve it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, answer = issuer.answer(self.path, self.headers.get("Authorization", ""))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.url = f"http://127.0.0.1:{served.server_port}"
    thread = threading.Thread(target=served.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield issuer
    finally:
        served.shutdown()
        thread.join()
        served.server_close()
