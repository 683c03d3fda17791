from __future__ import annotations

from pathlib import Path

import pytest

from findings.pictures import file_name, save


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("pages", "pages"),
        ("lua[work=tables]", "lua-tables"),
        ("zlib[level=9,work=text file]", "zlib-9-text-file"),
        ("copy[path=../../x]", "copy-..-..-x"),
    ],
)
def test_a_picture_is_named_after_its_case(case: str, name: str) -> None:
    assert file_name(case) == name


def test_two_cases_never_share_a_picture(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as refused:
        save(tmp_path, ["a[x=1-2]", "b", "a[x=1 2]"], tmp_path / "charts")
    assert str(refused.value) == "a[x=1 2] and a[x=1-2] would have one picture, a-1-2.png: rename a value"
    assert not (tmp_path / "charts").exists()
