"""The folder of a site, wherever it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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


def test_the_former_site_stays_if_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, rename = tmp_path / "site", Path.rename
    with replace_site(site) as folder:
        (folder / "index.html").write_text("old")

    def interrupt(path: Path, target: Path) -> Path:
        if path.name.endswith(".part"):
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt), replace_site(site) as folder:
        (folder / "index.html").write_text("new")
    assert (site / "index.html").read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["site"]


def test_what_a_killed_process_with_the_same_number_left_is_replaced(tmp_path: Path) -> None:
    """In a container, each process of the command can have the same number."""
    left = tmp_path / f".site.{os.getpid()}.part"
    left.mkdir()
    (left / "old.html").touch()
    with replace_site(tmp_path / "site") as folder:
        (folder / "index.html").touch()
    assert [file.name for file in tmp_path.iterdir()] == ["site"]
    assert not (tmp_path / "site" / "old.html").exists()
