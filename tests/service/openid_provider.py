"""An identity provider of OpenID Connect, which signs what it says of people and can say anything wrong."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

CLIENT, SECRET = "faultwatch", "a-secret-of-the-client-that-is-long-enough"
PERSON = {
    "sub": "person-1",
    "email": "ada@example.org",
    "email_verified": True,
    "name": "Ada",
    "groups": ["perf"],
}


@cache
def make_key(kid: str, owner: str = "provider") -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


class Provider:
    """Its keys, what it says of the person who signs in, and what it does wrong."""

    def __init__(self) -> None:
        self.url = ""
        self.reset()

    def reset(self) -> None:
        """Do everything right from now on."""
        self.up = True
        self.person: dict[str, Any] = dict(PERSON)
        self.further: dict[str, Any] | None = None
        """What it says only when it is asked; None if it cannot be asked."""
        self.changes: dict[str, Any] = {}
        """Other claims of the ID token: None leaves one out, a time is that long from now."""
        self.description_changes: dict[str, Any] = {}
        self.answers: dict[str, object] = {}
        """What it answers at a path instead."""
        self._codes: dict[str, dict[str, str]] = {}
        self.rotate("one")

    def rotate(self, kid: str) -> None:
        self.key = make_key(kid)
        self.signing: tuple[RSAKey | OctKey, str] = (self.key, "RS256")

    def describe(self) -> dict[str, Any]:
        further = {} if self.further is None else {"userinfo_endpoint": f"{self.url}/userinfo"}
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "end_session_endpoint": f"{self.url}/end",
            "id_token_signing_alg_values_supported": ["RS256"],
            **further,
            **self.description_changes,
        }

    def authorize(self, address: str) -> str:
        """Let the person sign in at an address to which the service sent the browser; return where it sends it back."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(8)
        self._codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> tuple[int, object]:
        if not self.up:
            return 503, {}
        if path in self.answers:
            return 200, self.answers[path]
        if (method, path) == ("POST", "/token"):
            return self._exchange(
                headers.get("Authorization", ""), {k: v[0] for k, v in parse_qs(body.decode()).items()}
            )
        if path == "/userinfo":
            return 200, self.further or {}
        if path == "/keys":
            return 200, {"keys": [self.key.as_dict(private=False)]}
        return (200, self.describe()) if path == "/.well-known/openid-configuration" else (404, {})

    def _exchange(self, credentials: str, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """Exchange a code, once, for an ID token."""
        asked = self._codes.pop(form.get("code", ""), None)
        if asked is None:
            return 400, {"error": "invalid_grant"}
        if credentials != "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode():
            return 401, {"error": "invalid_client"}
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        now = int(datetime.now(UTC).timestamp())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **self.person}
        claims |= {
            name: now + int(value.total_seconds()) if isinstance(value, timedelta) else value
            for name, value in self.changes.items()
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        key, algorithm = self.signing
        header = {"alg": algorithm, "kid": key.kid}
        if algorithm == "none":
            identity = ".".join((*map(_encode_part, (header, claims)), ""))
        else:
            identity = jwt.encode(header, claims, key, algorithms=[algorithm])
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": identity}


def _encode_part(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


@contextmanager
def running(provider: Provider) -> Iterator[Provider]:
    """Serve it."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, answer = provider.answer(self.command, self.path, self.headers, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        do_GET = do_POST = _answer  # noqa: N815 - names of the base class

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{served.server_port}"
    thread = threading.Thread(target=served.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield provider
    finally:
        served.shutdown()
        thread.join()
        served.server_close()
