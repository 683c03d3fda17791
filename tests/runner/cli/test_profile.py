"""Which commits ``faultwatch profile`` is about, and how two of them are told."""

import pytest

from runner.cli.profile import _sides
from runner.cli.profile_difference_tables import show_difference
from runner.errors import FaultwatchError
from tests.runner.contract.test_profile_difference import faulting


@pytest.mark.parametrize(
    ("revision", "before", "sides"),
    [
        ("HEAD", None, (None, "HEAD")),
        ("HEAD", "v1", ("v1", "HEAD")),
        ("v1..v2", None, ("v1", "v2")),
        ("v1...v2", None, ("v1", "v2")),
        ("v1..", None, ("v1", "HEAD")),
    ],
)
def test_the_commits_that_are_profiled(revision: str, before: str | None, sides: tuple[str | None, str]) -> None:
    assert _sides(revision, before) == sides


def test_a_range_says_what_was_before() -> None:
    with pytest.raises(FaultwatchError, match="name the base twice"):
        _sides("v1..v2", "v0")


def test_the_line_that_grew_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    before = faulting({("main:9", "copy:20"): 100, ("main:9", "other:40"): 50})
    after = faulting({("main:9", "copy:20"): 700, ("main:9", "other:40"): 90})
    show_difference(before, after)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines.index("+600 100 700 copy src/main.c:20") < lines.index("+40 50 90 other src/main.c:40")
    assert "+600 (100 → 700) copy ← main" in lines
