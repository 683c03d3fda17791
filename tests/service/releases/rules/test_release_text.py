"""The Markdown of what changed between two releases."""

from __future__ import annotations

from service.releases.rules.release_text import format_markdown_table
from service.releases.schemas import ReleaseChange, Releases, ReleaseSide


def releases(*changes: ReleaseChange, base: str = "v1.0", head: str = "v1.1") -> Releases:
    sides = (ReleaseSide(name=name, commit="c" * 40, title="", measured=None) for name in (base, head))
    base_side, head_side = sides
    return Releases(
        subject="demo",
        base=base_side,
        head=head_side,
        commits=1,
        connected=True,
        changes=list(changes),
        unchanged=0,
    )


def change(metric: str, unit: str, before: float, after: float) -> ReleaseChange:
    return ReleaseChange(
        series_id=1,
        case="copy",
        host="box",
        metric=metric,
        unit=unit,
        before=before,
        after=after,
        change=after - before,
        percent=None,
        commits=[],
        configuration=[],
        rest=after - before,
        undecided=False,
    )


def test_the_names_of_releases_and_metrics_are_no_markup() -> None:
    hostile = change("@octo-org/all | **x**", "events", 1, 2)
    written = format_markdown_table(releases(hostile, base="@octo-org/all", head="<img/src=x>"))
    assert "@octo-org" not in written
    assert "**" not in written
    assert "<img" not in written
    assert all(line.count(" | ") == 5 for line in written.splitlines() if line.startswith("| <code>"))


def test_two_levels_that_differ_are_written_differently_and_with_their_unit() -> None:
    written = format_markdown_table(releases(change("elapsed", "s", 0.1001, 0.1002)))
    assert "| 100.1 ms | 100.2 ms | +100 µs |" in written.replace("\N{NO-BREAK SPACE}", " ")
