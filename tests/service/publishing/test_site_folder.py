"""The folder of a site, wherever it is."""

from __future__ import annotations

from pathlib import Path

from service.publishing.site_folder import replace_site


def test_a_link_still_leads_to_the_folder_that_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "www").mkdir()
    link = tmp_path / "site"
    link.symlink_to("www")
    for text in ("old", "new"):
        with replace_site(link) as folder:
            (folder / "index.html").write_text(text)
    assert link.is_symlink()
    assert (tmp_path / "www" / "index.html").read_text() == "new"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["site", "www"]
