import xml.etree.ElementTree as ET
from pathlib import Path

from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.service.reports import repeated, revision
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import page, read

SVG = "{http://www.w3.org/2000/svg}"


def drawn(client: FlaskClient, address: str = "/map.svg") -> ET.Element:
    answer = client.get(address)
    assert (answer.status_code, answer.mimetype) == (200, "image/svg+xml")
    return ET.fromstring(answer.text)


def test_the_first_page_begins_with_the_map_of_all_subjects(client: FlaskClient) -> None:
    source = page(client, "/")
    assert 0 < source.index('class="map"') < source.index("open events")
    assert 'href="/map"' in source


def test_an_empty_service_has_no_map(empty: FlaskClient) -> None:
    assert 'class="map"' not in page(empty, "/")
    assert "Nothing has moved" in read(empty, "/map")
    assert "Nothing has moved" in "".join(drawn(empty).itertext())


def test_a_cell_leads_to_its_event_and_says_what_where_and_who(client: FlaskClient) -> None:
    events = {entry["id"]: entry for entry in client.get("/events.json?state=all&since=all").json["items"]}
    links = {link.get("href"): link for link in drawn(client).iter(f"{SVG}a") if link.get("tabindex") == "-1"}
    assert {f"/events/{name}" for name, entry in events.items() if entry["still_detected"]} >= set(links)
    link = next(link for link in links.values() if "Keep a page of statistics" in (link.findtext(f"{SVG}title") or ""))
    title = link.findtext(f"{SVG}title") or ""
    assert history.CASE.name in title
    assert history.commit(history.ONE_PAGE)[:10] in title
    assert "Ada Writer" in title


def test_the_setting_that_moved_the_counts_is_called_out(client: FlaskClient) -> None:
    texts = ["".join(text.itertext()) for text in drawn(client).iter(f"{SVG}text")]
    assert any("MALLOC_CONF not set → dirty_decay_ms:0" in text for text in texts)


def test_the_key_counts_the_changes_of_settings_that_moved_nothing(tmp_path: Path) -> None:
    calm = history.NEW.model_copy(update={"settings": {**history.NEW.settings, "kernel.release": "6.12.10"}})
    with application(tmp_path, history.send) as app:
        client = app.test_client()
        assert "moved nothing" not in read(client, "/map")
        run = history.report(len(history.TITLES) - 1, history.NEW, again=True)
        history.send(client, [run.model_copy(update={"environment": calm, "run_id": history.run_id(300)})])
        assert "dashed: setting that moved something; 1 other change of settings moved nothing" in read(client, "/map")


def test_the_map_of_a_subject_and_of_none(client: FlaskClient) -> None:
    assert f"All events of {history.SUBJECT}" in read(client, f"/subjects/{history.SUBJECT}")
    answer = client.get("/subjects/nobody", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "There is no subject nobody" in answer.text
    assert client.get("/subjects/nobody/map.svg").status_code == 404


def test_titles_that_xml_does_not_allow_do_not_break_the_picture(tmp_path: Path) -> None:
    changed = revision(2, title="\x1b[31mred\x08 \uffff")
    runs = [run.model_copy(update={"revision": changed}) for run in repeated(2, 9, 9, times=6)]
    body = {"reports": [run.model_dump(mode="json") for run in (*repeated(1, 5, 5, times=6), *runs)]}
    with application(tmp_path) as app:
        client = app.test_client()
        assert client.post("/api/v1/runs", json=body).status_code == 200
        assert "[U+001B][31mred[U+0008] [U+FFFF]" in "".join(drawn(client).itertext())


def test_the_picture_has_its_style_and_runs_no_script(client: FlaskClient) -> None:
    answer = client.get("/map.svg")
    style = drawn(client).findtext(f"{SVG}style") or ""
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert style.count("--worse:") == 2  # light and dark
    assert "--shadow" not in style


def test_hostile_names_are_text(extremes: FlaskClient) -> None:
    for address in ("/map.svg", "/map", "/"):
        source = page(extremes, address) if address != "/map.svg" else extremes.get(address).text
        assert "<script>alert" not in source
        assert "<b onclick" not in source
    drawn(extremes)


def test_programs_get_the_cells(client: FlaskClient) -> None:
    cells = client.get("/map.json").json
    drifts = client.get("/api/v1/drifts").json["total"]
    assert sum(cell["drifts"] for cell in cells) == drifts
    largest = next(cell for cell in cells if cell["commit"] == history.commit(history.IMPROVEMENT))
    assert largest["worse"] is None or largest["better"] > 1
    assert client.get("/map.csv").text.count("\n") == len(cells) + 1


def test_a_dismissed_event_leaves_the_map(tmp_path: Path) -> None:
    with application(tmp_path, history.send) as app:
        client = app.test_client()
        event = client.get("/events.json?since=all").json["items"][0]["id"]
        assert f"/events/{event}" in client.get("/map.svg").text
        decision = {"action": "dismiss", "author": "Ada", "reason": "a broken disk"}
        assert client.post(f"/api/v1/events/{event}/decisions", json=decision).status_code in {200, 201}
        assert f"/events/{event}" not in client.get("/map.svg").text
        assert all(cell["event_id"] != event for cell in client.get("/map.json").json)


def test_a_map_is_not_drawn_twice(measured_app: APIFlask) -> None:
    client = measured_app.test_client()
    etag = client.get("/map.svg").headers["ETag"]
    assert client.get("/map.svg", headers={"If-None-Match": etag}).status_code == 304
