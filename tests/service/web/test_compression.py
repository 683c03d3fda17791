from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import brotli
import pytest
from flask.testing import FlaskClient

from tests.service.web import history
from tests.service.web.application import application


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with application(Path(tmp_path_factory.mktemp("service"))) as app:
        client = app.test_client()
        history.send(client, [history.report(number, history.OLD) for number in (0, 1)])
        yield client


@pytest.mark.parametrize(("encoding", "unpacked"), [("br", brotli.decompress), ("gzip", gzip.decompress)])
def test_pages_are_compressed_for_a_browser_that_can_unpack_them(client: FlaskClient, encoding: str, unpacked) -> None:
    plain = client.get("/bisects").data
    answer = client.get("/bisects", headers={"Accept-Encoding": encoding})
    assert answer.headers["Content-Encoding"] == encoding
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert unpacked(answer.data) == plain
    assert len(answer.data) < len(plain) / 2


def test_a_browser_that_has_a_compressed_page_is_told_so(client: FlaskClient) -> None:
    for address in ("/bisects", "/api/v1/series", "/static/app.css"):
        answer = client.get(address, headers={"Accept-Encoding": "br"})
        assert answer.headers["Content-Encoding"] == "br"
        again = client.get(address, headers={"Accept-Encoding": "br", "If-None-Match": answer.headers["ETag"]})
        assert (again.status_code, again.data) == (304, b"")


def test_a_browser_that_knows_a_files_age_is_told_so(client: FlaskClient) -> None:
    since = client.get("/static/app.css").headers["Last-Modified"]
    answer = client.get("/static/app.css", headers={"Accept-Encoding": "br", "If-Modified-Since": since})
    assert (answer.status_code, answer.data) == (304, b"")


def test_an_attackers_text_is_not_compressed_beside_what_is_stored(client: FlaskClient) -> None:
    for address in ("/search?q=guess", "/search.json?q=guess"):
        assert "Content-Encoding" not in client.get(address, headers={"Accept-Encoding": "br"}).headers
