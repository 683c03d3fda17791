"""How much a caller may send."""

import gzip

import pytest
from flask.testing import FlaskClient

from service.web.access.body_limits import ANONYMOUS_BYTES, choose_body_limit


@pytest.mark.parametrize(
    ("path", "has_scopes", "limit"),
    [
        ("/api/v1/sign-in/actions", False, ANONYMOUS_BYTES),
        ("/api/v1/runs", False, ANONYMOUS_BYTES),
        ("/api/v1/runs", True, 64 << 20),
        ("/github/webhook", False, 25 << 20),
    ],
)
def test_only_known_callers_send_much(path: str, has_scopes: bool, limit: int) -> None:
    assert choose_body_limit(path, has_scopes=has_scopes, max_bytes=64 << 20) == limit


def test_a_compressed_body_is_not_decompressed(client: FlaskClient) -> None:
    bomb = gzip.compress(b"[" + b"0," * 10_000_000 + b"0]")
    headers = {"Content-Encoding": "gzip"}
    answer = client.post("/api/v1/runs", data=bomb, content_type="application/json", headers=headers)
    assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")
