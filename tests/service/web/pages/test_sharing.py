import re
from collections.abc import Mapping
from xml.etree import ElementTree

import pytest
from flask.testing import FlaskClient

from service.app import create_app
from service.config.access import Access
from service.config.settings import Config
from service.errors import ServiceError
from service.web import current
from service.web.rendering import not_modified
from tests.service.web.text import page


def test_the_picture_of_a_series_lies_beside_its_page(client: FlaskClient) -> None:
    svg, png = client.get("/series/1.svg"), client.get("/series/1.png?width=300&height=240")
    assert (svg.mimetype, png.mimetype) == ("image/svg+xml", "image/png")
    assert "+16,384\u00a0faults" in svg.text
    assert png.data.startswith(b"\x89PNG")


def test_an_unchanged_picture_is_not_drawn_again(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(not_modified, "_SECONDS", 10**9)
    tag = client.get("/series/1.svg").headers["ETag"]
    assert client.get("/series/1.svg", headers={"If-None-Match": tag}).status_code == 304
    assert client.get("/series/1.svg?y=log", headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize(
    "query", ["width=-1", "width=99999999", "height=x", "from=nan&to=inf", "from=9&to=1", "with=1&with=x", "theme=no"]
)
def test_no_parameter_breaks_a_picture(client: FlaskClient, query: str) -> None:
    answer = client.get(f"/series/1.svg?{query}")
    assert answer.status_code == 200
    assert float(ElementTree.fromstring(answer.data).attrib["width"].removesuffix("pt")) <= 1500


@pytest.mark.parametrize("address", ["/series/4711.svg", "/series/4711/badge.svg", "/embed/series/4711"])
def test_the_picture_of_no_series_is_not_found(client: FlaskClient, address: str) -> None:
    assert client.get(address).status_code == 404


def test_a_page_has_a_card_with_its_picture(client: FlaskClient) -> None:
    source = page(client, "/series/1")
    title = re.search(r'property="og:title" content="([^"]+)"', source)
    picture = re.search(r'property="og:image" content="http://localhost(/[^"]+)"', source)
    assert title
    assert picture
    assert title[1] == "Minor faults of copy_service[mib=8,operations=25]"
    assert client.get(picture[1].replace("&amp;", "&")).mimetype == "image/png"


def test_the_card_of_a_drift_says_what_moved(client: FlaskClient) -> None:
    drifts = client.get("/api/v1/drifts").json
    assert drifts
    source = page(client, f"/drifts/{drifts['items'][0]['id']}")
    title = re.search(r'property="og:title" content="([^"]+)"', source)
    assert title
    assert "faults: " in title[1]


def test_a_badge_is_a_picture_and_a_document(client: FlaskClient) -> None:
    svg = client.get("/series/1/badge.svg")
    assert svg.mimetype == "image/svg+xml"
    assert ElementTree.fromstring(svg.data).attrib["aria-label"].startswith("minor faults: 5,240")
    document = client.get("/series/1/badge.json").json
    assert document
    assert document["schemaVersion"] == 1
    assert document["label"] == "minor faults"


def test_the_badge_of_a_subject_counts_what_is_open(client: FlaskClient) -> None:
    subjects = client.get("/api/v1/subjects").json
    assert subjects
    document = client.get(f"/subjects/{subjects['items'][0]['name']}/badge.json").json
    assert document
    assert re.fullmatch(r"\d+ open events?", document["message"])
    assert client.get("/subjects/nobody/badge.svg").status_code == 404


def test_other_sites_show_what_the_service_lets_them(client: FlaskClient) -> None:
    with client.application.app_context():
        config = current.config()
    site = "https://wiki.example.com"
    closed = client.get("/embed/series/1").headers
    named = _headers(config.replaced(embedding_sites=(site,)))
    public = _headers(config.replaced(access=Access.TOKENS, anonymous_read=True))
    assert [headers["Cross-Origin-Resource-Policy"] for headers in (closed, named, public)] == [
        "same-origin",
        "cross-origin",
        "cross-origin",
    ]
    assert [headers["Content-Security-Policy"].rpartition("frame-ancestors ")[2] for headers in (closed, named)] == [
        "'none'",
        site,
    ]


def _headers(config: Config) -> Mapping[str, str]:
    """Return the headers of a chart for frames, from a service with other settings."""
    app = create_app(config)
    answer = app.test_client().get("/embed/series/1")
    with app.app_context():
        current.database().close()
    assert answer.status_code == 200
    return answer.headers


@pytest.mark.parametrize("site", ["https://wiki.example.com; script-src *", "*", "wiki.example.com", "https://a/b"])
def test_what_is_no_origin_does_not_become_a_header(site: str) -> None:
    with pytest.raises(ServiceError, match="FAULTWATCH_EMBEDDING_SITES"):
        Config.from_environment({"FAULTWATCH_EMBEDDING_SITES": site})
