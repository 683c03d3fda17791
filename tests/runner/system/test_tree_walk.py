"""Tests for ``runner.system.tree_walk``."""

import os
from pathlib import Path
from typing import Any

import pytest

from runner.system.tree_walk import compute_fingerprint, explain_unusable_tree


def test_a_tree_with_a_folder_that_may_not_be_read_is_neither_usable_nor_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("text")
    assert explain_unusable_tree(tmp_path) == ""
    compute_fingerprint(tmp_path)
    (tmp_path / "folder").chmod(0o300)

    def may_access(path: str, mode: int, **options: Any) -> bool:
        return Path(path).stat().st_mode >> 6 & mode == mode

    monkeypatch.setattr(os, "access", may_access)  # as for an ordinary user
    assert explain_unusable_tree(tmp_path) == "cannot be inspected: Permission denied"
    with pytest.raises(PermissionError):
        compute_fingerprint(tmp_path)
