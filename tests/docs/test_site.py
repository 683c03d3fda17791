"""The site in a real Chromium, without a network: it is whole, searchable, accessible, and fits a phone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Route, sync_playwright

from docs.site.source import map_places
from tests.docs.conftest import ROOT
from tests.e2e.browser import Watched, chromium, launched, watch

PAGES = ["search.html", *(place.replace(".md", ".html") for place in map_places().values())]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium is installed"),
]


@pytest.fixture(scope="module")
def context() -> Iterator[BrowserContext]:
    with sync_playwright() as playwright, launched(playwright) as browser:
        yield browser.new_context(locale="en-GB")


@pytest.fixture
def reader(context: BrowserContext, address: str) -> Iterator[Watched]:
    """A page that reaches the site and nothing else."""

    def only_the_site(route: Route) -> None:
        if route.request.url.startswith(address):
            route.continue_()
        else:
            route.abort()

    watched = watch(context, address)
    watched.page.route("**/*", only_the_site)
    yield watched
    watched.page.close()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_accessible_and_fits_a_phone_in_the_dark(page: str, reader: Watched) -> None:
    reader.sweep(f"/{page}")
    reader.assert_quiet()


def test_no_page_is_left_out(site: Path) -> None:
    assert {file.relative_to(site).as_posix() for file in site.rglob("*.html")} == set(PAGES)


def test_the_search_finds_the_page_on_flame_graphs(reader: Watched) -> None:
    page = reader.open("/index.html")
    page.locator("input[name=q]").first.fill("fault flame graph")
    page.keyboard.press("Enter")
    links = page.locator("#search-results li a")
    links.first.wait_for()
    found = links.evaluate_all("links => links.map(link => link.pathname)")
    assert "/explanation/diagnosis.html" in found[:3]
    reader.assert_quiet()


def test_the_site_is_dark_where_the_reader_prefers_that(reader: Watched) -> None:
    background = "getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).slice(0, 3).map(Number)"
    lightness = {}
    for scheme in ("light", "dark"):
        reader.page.emulate_media(color_scheme=scheme)
        lightness[scheme] = sum(reader.open("/index.html").evaluate(background))
    assert lightness["dark"] < 200 < 600 < lightness["light"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[here](#home) and [there](other.md#words)", 0),
        ("[nowhere](nowhere.md)", 1),
        ("[no such title](other.md#nothing)", 1),
        ("![no such picture](images/none.png)", 1),
    ],
)
def test_a_broken_link_fails_the_build(text: str, code: int, site: Path, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "index.md").write_text(f"# Home\n\n{text}\n\n```{{toctree}}\nother\n```\n")
    (tmp_path / "source" / "other.md").write_text("# Other\n\n## Words\n")
    command = (
        "import pathlib, sys; from docs.site.__main__ import build_html; "
        "sys.exit(build_html(pathlib.Path(sys.argv[1])))"
    )
    assert subprocess.run([sys.executable, "-c", command, str(tmp_path)], cwd=ROOT, check=False).returncode == code
