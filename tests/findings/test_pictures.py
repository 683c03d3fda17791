from __future__ import annotations

import pytest

from findings.pictures import file_name


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
