"""What the site adds to the pages: navigation, links that lead elsewhere, generated parts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.site.source import FROM_OUTSIDE, map_places, write_source
from tests.docs.blocks import ROOT


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages") / "source"
    write_source(folder)
    return folder


def listed(source: Path) -> set[str]:
    """Return the pages that the navigation has, with the home page."""
    found = {"index.md"}
    for index in source.rglob("index.md"):
        entries = index.read_text(encoding="utf-8").rpartition(":hidden:\n\n")[2].partition("```")[0]
        found |= {(index.parent / f"{entry}.md").relative_to(source).as_posix() for entry in entries.split()}
    return found


def test_every_page_is_in_the_navigation(source: Path) -> None:
    pages = {file.relative_to(source).as_posix() for file in source.rglob("*.md")}
    assert pages == set(map_places().values())
    assert listed(source) == pages


def test_a_link_to_a_file_that_is_a_page_elsewhere_leads_to_the_page(source: Path) -> None:
    assert "](readme.md)" in (source / "project" / "index.md").read_text(encoding="utf-8")
    assert "](../explanation/security.md" in (source / "project" / "vulnerabilities.md").read_text(encoding="utf-8")
    assert "](../images/comment.png)" in (source / "project" / "readme.md").read_text(encoding="utf-8")


def test_a_link_to_a_file_that_is_no_page_becomes_text(source: Path) -> None:
    text = (source / "how-to" / "adopting.md").read_text(encoding="utf-8")
    assert "`runner/schemas/` (`runner/schemas`)" in text


def test_links_in_code_blocks_stay_as_they_are(source: Path) -> None:
    for file, place in map_places().items():
        blocks = re.compile(r"^```(?:sh|toml|yaml|json|python)\n.*?^```$", re.DOTALL | re.MULTILINE)
        before = blocks.findall((ROOT / file).read_text(encoding="utf-8"))
        assert blocks.findall((source / place).read_text(encoding="utf-8")) == before, file


def test_every_generated_part_is_filled_in(source: Path) -> None:
    pages = [file.read_text(encoding="utf-8") for file in source.rglob("*.md")]
    assert not [text for text in pages if re.search(r"^<!-- generated", text, re.MULTILINE)]


def test_pages_outside_of_the_folder_exist() -> None:
    assert all((ROOT / name).is_file() for name in FROM_OUTSIDE)


def test_every_column_of_a_table_has_a_title(source: Path) -> None:
    for page in source.rglob("*.md"):
        heads = re.findall(r"^\|(.*)\|\n\|[-:| ]+\|$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert [head for head in heads if not all(cell.strip() for cell in head.split(" | "))] == [], page
