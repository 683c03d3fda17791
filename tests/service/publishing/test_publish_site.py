"""A site shows what everybody may see, by files alone: every link leads to one, and nothing asks a service."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from runner.contract import Report, ReportList
from service.app import create_app
from service.config.settings import Config
from service.errors import ServiceError
from service.publishing.publish_site import publish_site
from tests.service.publishing.extremes_site import extremes, make_config
from tests.service.reports import CASE, JEMALLOC, commit, failed_build, proven, repeated, report, revision

__all__ = ["extremes"]


def store(folder: Path, reports: Sequence[Report]) -> Config:
    """Return the settings of a service that has some reports."""
    body = ReportList(reports=tuple(reports)).model_dump_json()
    answer = (
        create_app(make_config(folder)).test_client().post("/api/v1/runs", data=body, content_type="application/json")
    )
    assert answer.status_code == 200, answer.text
    return make_config(folder)


def publish(config: Config, site: Path, *, with_details: bool = False) -> dict[str, str]:
    """Publish a site; return the texts of its pages."""
    publish_site(config, site, lambda *_: None, with_details=with_details)
    return read_pages(site)


def read_pages(site: Path) -> dict[str, str]:
    return {str(file.relative_to(site)): file.read_text(encoding="utf-8") for file in site.rglob("*.html")}


class Elements(HTMLParser):
    """Collects the start tags of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def list_links(file: str, page: str) -> Iterator[str]:
    for _, values in Elements(page).found:
        yield from (value for name in ("href", "src") if (value := values.get(name)))


def test_every_link_leads_to_a_file_of_the_site(extremes: Path) -> None:
    pages = read_pages(extremes)
    assert {"index.html", "events.html", "map.html", "workloads.html", "subjects/copyd.html"} <= pages.keys()
    for file, page in pages.items():
        ids = {values.get("id") for _, values in Elements(page).found}
        for link in list_links(file, page):
            parts = urlsplit(link)
            assert (parts.scheme, parts.netloc, parts.path[:1] == "/") == ("", "", False), (file, link)
            target = (extremes / file).parent / unquote(parts.path) if parts.path else extremes / file
            assert target.resolve().is_file(), (file, link)
            assert parts.path or parts.fragment in ids, (file, link)


def test_nothing_asks_a_service(extremes: Path) -> None:
    for file, page in read_pages(extremes).items():
        for tag, values in Elements(page).found:
            assert tag != "form", file
            assert not any(name.startswith("hx-") for name in values), file
            assert values.get("type") != "module", f"{file}: browsers load no modules from a disk"
        assert "htmx" not in page, file
    assert "fetch(" not in (extremes / "static/page.js").read_text()


def test_text_of_strangers_stays_text(extremes: Path) -> None:
    pages = read_pages(extremes)
    for file, page in pages.items():
        for tag, values in Elements(page).found:
            assert not any(name.startswith("on") for name in values), file
            assert tag != "script" or "src" in values or values.get("type") == "application/json", file
    assert any("&lt;script&gt;alert(1)" in page for page in pages.values()), "it is shown"
    assert "<" not in (extremes / "static/commits.js").read_text()


def test_a_title_that_looks_like_a_link_stays_in_its_attribute(tmp_path: Path) -> None:
    title = """x href= "/runs" 'y' ><img src=x onerror=alert(1)>"""
    runs = [
        run.model_copy(update={"revision": revision(n, title=title)})
        for n in (1, 2)
        for run in proven(5, 9)[6 * n - 6 : 6 * n]
    ]
    for page in publish(store(tmp_path, runs), tmp_path / "site").values():
        assert all(tag != "img" for tag, _ in Elements(page).found)
        assert all(
            values["title"] in (title, title[:200])
            for _, values in Elements(page).found
            if "href=" in (values.get("title") or "")
        )


def test_values_of_settings_and_messages_of_builds_are_shown_only_with_details(tmp_path: Path) -> None:
    runs = [
        *proven(5, 5),
        *(run.model_copy(update={"environment": JEMALLOC}) for run in proven(5, 5, 9, 9)[12:]),
        failed_build(9),
    ]
    config = store(tmp_path, runs)
    public = "".join(publish(config, tmp_path / "public").values())
    details = "".join(publish(config, tmp_path / "details", with_details=True).values())
    for secret in ("jemalloc", "cc: error"):
        assert secret not in public
        assert secret in details
    for page in (public, details):
        assert "<form" not in page
        assert 'class="top"' in page, "nobody is signed in"
        assert "signed" not in page
        assert "Decide" not in page


def test_a_series_has_the_same_address_whatever_was_stored_before_it(tmp_path: Path) -> None:
    one, other = proven(5, 9), [report(1, 7, case=CASE.model_copy(update={"workload": "another"}))]
    names = []
    for number, runs in enumerate(([*other, *one], [*one, *other])):
        folder = tmp_path / str(number)
        folder.mkdir()
        for part in (runs[:3], runs[3:]):
            store(folder, part)
        pages = publish(make_config(folder), folder / "site")
        names.append({file: re.findall("<h1>.*</h1>", page) for file, page in pages.items() if "series/" in file})
    assert names[0] == names[1]


def test_hostile_and_long_names_become_names_of_files(tmp_path: Path) -> None:
    parameters = {"path": "../../x", "text": "<script>alert(1)</script>", "long": "ä" * 255, "query": "?a=b#c%2e"}
    case = CASE.model_copy(update={"parameters": parameters})
    pages = publish(store(tmp_path, proven(5, 9, case=case, subject="S" * 100)), tmp_path / "site")
    assert [file.name for file in tmp_path.iterdir() if file.name == "x"] == []
    assert all(re.fullmatch(r"[a-z0-9_.-]{1,120}", part) for file in pages for part in file.split("/"))
    assert "&lt;script&gt;alert(1)" in pages["workloads.html"]


def test_names_that_end_like_pages_are_kept_apart_from_them(tmp_path: Path) -> None:
    for subject in ("foo", "foo.html"):
        config = store(tmp_path, proven(5, 5, 9, subject=subject))
    tags = [{"kind": "tag", "name": name, "commit": commit(n)} for n, name in enumerate(("v1", "v2", "v2.html/x"), 1)]
    answer = (
        create_app(config).test_client().put("/api/v1/subjects/foo/revisions", json={"revisions": [], "refs": tags})
    )
    assert answer.status_code == 200, answer.text
    pages = publish(config, tmp_path / "site")
    assert "foo.html</h1>" not in pages["subjects/foo.html"]
    for file, page in pages.items():
        for link in list_links(file, page):
            path = unquote(urlsplit(link).path)
            assert not path or (tmp_path / "site" / file).parent.joinpath(path).is_file(), (file, link)


def test_names_of_tags_that_git_does_not_allow_do_not_stop_the_publication(tmp_path: Path) -> None:
    config = store(tmp_path, proven(5, 5, 9, 9))
    tags = [{"kind": "tag", "name": name, "commit": commit(n)} for n, name in enumerate(("a...b", "v2", "v3"), 1)]
    answer = (
        create_app(config).test_client().put("/api/v1/subjects/demo/revisions", json={"revisions": [], "refs": tags})
    )
    assert answer.status_code == 200, answer.text
    pages = publish(config, tmp_path / "site")
    assert re.findall(r">since ([^<]+)<", pages["releases.html"]) == ["v2"]


def test_long_lists_continue_on_further_pages(tmp_path: Path) -> None:
    runs = [
        run
        for number in range(1, 28)
        for commit, level in ((number, 5), (number + 1, 9))
        for run in repeated(commit, level, times=6, case=CASE.model_copy(update={"workload": f"w{number}"}))
    ]
    pages = publish(store(tmp_path, runs), tmp_path / "site")
    listed = set(re.findall(r"events/\w+\.html", pages["index.html"])) | set(
        re.findall(r"events/\w+\.html", pages["index-offset-25.html"])
    )
    assert len(listed) == 27


def test_other_files_are_never_replaced(tmp_path: Path) -> None:
    config = store(tmp_path, [report(1, 7)])
    site = tmp_path / "site"
    publish(config, site)
    (site / "old.html").touch()
    publish(config, site)
    assert not (site / "old.html").exists(), "a site is replaced as a whole"
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "main.c").touch()
    with pytest.raises(ServiceError, match="The folder does not contain an earlier site"):
        publish(config, tmp_path / "project")
    assert sorted(file.name for file in tmp_path.iterdir() if file.name.startswith(".")) == []


def test_the_releases_of_a_subject_are_compared_each_with_the_one_before(tmp_path: Path) -> None:
    config = store(tmp_path, proven(5, 5, 9, 9))
    tags = [
        {"kind": "tag", "name": name, "commit": commit(number)} for number, name in enumerate(("v1", "a/v2", "v3"), 1)
    ]
    answer = (
        create_app(config).test_client().put("/api/v1/subjects/demo/revisions", json={"revisions": [], "refs": tags})
    )
    assert answer.status_code == 200, answer.text
    pages = publish(config, tmp_path / "site")
    rows = re.findall(r'<th scope="row">([^<]+)</th>(?:(?!</tr>).)*>since ([^<]+)<', pages["releases.html"])
    assert sorted(rows) == [("a/v2", "v1"), ("v3", "a/v2")]
    (release,) = (page for file, page in pages.items() if "releases/" in file and "<h1" in page and "v3" in file)
    assert "1 series changed" in release
    for file, page in pages.items():
        for link in list_links(file, page):
            assert (tmp_path / "site" / file).parent.joinpath(unquote(urlsplit(link).path)).exists(), (file, link)
