"""Signing in: tokens in the form and in the header, cookies, and identities of Actions jobs. None lets anybody in."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from urllib.parse import quote_plus

from service.config.trusted_jobs import TrustedJobs
from tests.fuzz.door import Attempt
from tests.fuzz.mutation import VALUES, mutated_json, mutated_text
from tests.fuzz.served import Served, by_generation
from tests.service.issuer import Issuer, running

SHARE = 20
AUDIENCE = "https://faults.example.org"


@contextmanager
def opened(folder: Path) -> Iterator[Attempt]:
    with running(Issuer(AUDIENCE)) as issuer:
        identity = issuer.sign()
        trusted = TrustedJobs(repositories=("octo-org/*",), audience=AUDIENCE, issuer=issuer.url)

        def one(served: Served, rng: Random) -> str:
            kind = rng.randrange(4)
            if kind == 0:
                return _form(served, rng)
            if kind == 1:
                return _header(served, rng)
            return _cookie(served, rng) if kind == 2 else _identity(served, identity, rng)

        with by_generation(folder, one, jobs=trusted) as attempt:
            yield attempt


def _wrong(token: str, rng: Random) -> str:
    """Return a token that is nearly right."""
    while (made := mutated_text(token, rng)).strip() == token:
        pass
    return made


def _form(served: Served, rng: Random) -> str:
    fields = {"token": _wrong(served.read, rng), "to": mutated_text("/runs?x=1", rng)}
    body = "&".join(f"{name}={quote_plus(value, errors='replace')}" for name, value in fields.items())
    if rng.random() < 0.2:
        body = mutated_text(body, rng)
    kind = "application/x-www-form-urlencoded" if rng.random() < 0.9 else "multipart/form-data; boundary=x"
    answer = served.send("POST", "/sign-in", body.encode(errors="replace"), Content_Type=kind, **_address(rng))
    assert answer.status_code in {400, 403, 413, 429}, answer.status_code
    return f"form refused with {answer.status_code}"


def _header(served: Served, rng: Random) -> str:
    text = f"Bearer {_wrong(served.read, rng)}"
    sent = text.encode(errors="replace").decode("latin-1").replace("\n", " ").replace("\r", " ")
    answer = served.send("GET", "/api/v1/runs", Authorization=sent, **_address(rng))
    assert answer.status_code in {400, 401, 429}, answer.status_code
    return f"header refused with {answer.status_code}"


def _cookie(served: Served, rng: Random) -> str:
    signed = base64.urlsafe_b64encode(mutated_json({"token": served.read.split("_")[1]}, rng)).decode().rstrip("=")
    made = mutated_text(f"{signed}.aSCBcA.{'A' * 27}", rng).replace("\n", "").replace("\r", "")
    answer = served.send("GET", "/api/v1/runs", Cookie=f"faultwatch={made.encode(errors='replace').decode('latin-1')}")
    assert answer.status_code in {400, 401, 429}, answer.status_code
    return f"cookie refused with {answer.status_code}"


def _identity(served: Served, identity: str, rng: Random) -> str:
    head, claims, signature = identity.split(".")
    part = rng.randrange(3)
    if part == 0:
        head = _encoded(json.loads(_decoded(head) or b""), rng)
    elif part == 1:
        claims = _encoded(json.loads(_decoded(claims) or b""), rng)
    else:
        signature = _wrong(signature, rng)
    token = f"{head}.{claims}.{signature}"
    if token == identity:
        return "unchanged"
    document = {"token": token if rng.random() < 0.9 else rng.choice(VALUES)}
    body = json.dumps(document).encode() if rng.random() < 0.7 else mutated_json(document, rng)
    path = "/api/v1/sign-in/actions"
    answer = served.send("POST", path, body, Content_Type="application/json", **_address(rng))
    # The last character of a signature has bits that mean nothing: with another one the identity is the same.
    same = _decoded(signature) == _decoded(identity.split(".")[2]) and (head, claims) == tuple(identity.split(".")[:2])
    assert answer.status_code in {400, 401, 413, 422, 429, 503} or same, f"{answer.status_code} {answer.text[:200]}"
    return f"identity answered with {answer.status_code}"


def _encoded(document: object, rng: Random) -> str:
    return base64.urlsafe_b64encode(mutated_json(document, rng)).decode().rstrip("=")


def _decoded(text: str) -> bytes | None:
    try:
        return base64.urlsafe_b64decode(text.encode("ascii", errors="ignore") + b"==")
    except ValueError:
        return None


def _address(rng: Random) -> dict[str, str]:
    """Return the header by which a proxy names the caller: many callers, so that few are throttled."""
    return {"X_Forwarded_For": f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)}"}
