from __future__ import annotations

import pytest

from findings.documents import only_documents


@pytest.mark.parametrize(
    "paths",
    [
        ["README.md"],
        ["docs/index.rst", "CHANGELOG"],
        ["manual/manual.of"],
        [".github/workflows/ci.yml", ".travis.yml"],
        ["doc/api.html", "LICENSE-MIT"],
    ],
)
def test_documents(paths: list[str]) -> None:
    assert only_documents(paths)


@pytest.mark.parametrize(
    "paths",
    [
        [],
        ["README.md", "lapi.c"],
        ["CMakeLists.txt"],
        ["docs/requirements.txt"],
        ["testdata/alice.txt"],
        ["tests/readme.md"],
        ["news.c"],
    ],
)
def test_files_that_a_build_or_a_test_can_read(paths: list[str]) -> None:
    assert not only_documents(paths)
