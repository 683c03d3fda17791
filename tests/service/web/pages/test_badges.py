import re
from xml.etree import ElementTree

import pytest
from flask.testing import FlaskClient

from service.app import create_app
from service.config.access import Access
from service.web import app_resources
from tests.service.web.text import page


@pytest.mark.parametrize("address", ["/series/4711/badge.svg", "/subjects/nobody/badge.svg"])
def test_there_is_no_badge_of_what_does_not_exist(client: FlaskClient, address: str) -> None:
    assert client.get(address).status_code == 404


def test_the_card_of_a_series_names_it(client: FlaskClient) -> None:
    title = re.search(r'property="og:title" content="([^"]+)"', page(client, "/series/1"))
    assert title
    assert title[1] == "Minor faults of copy_service[mib=8,operations=25]"


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


def test_other_sites_show_the_badges_of_a_public_service(client: FlaskClient) -> None:
    with client.application.app_context():
        config = app_resources.get_config()
    public = create_app(config.copy_with_values(access=Access.TOKENS, anonymous_read=True))
    answers = [one.get("/series/1/badge.svg") for one in (client, public.test_client())]
    with public.app_context():
        app_resources.get_database().close()
    policies = [answer.headers["Cross-Origin-Resource-Policy"] for answer in answers]
    assert policies == ["same-origin", "cross-origin"]
