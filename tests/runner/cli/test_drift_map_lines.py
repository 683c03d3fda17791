from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runner.cli.drift_map_lines import draw_drift_map

COMMITS = [f"{number:040x}" for number in range(12)]


def drift(case: str, commit: int, after: int = 200, **changes: object) -> dict[str, Any]:
    return {
        "case": case,
        "revision": COMMITS[commit],
        "before": 100,
        "after": after,
        "direction": "regression" if after > 100 else "improvement",
        "settings": [],
        "evidence": {"wants_rerun": False},
    } | changes


def test_each_case_has_a_line_and_each_commit_a_character() -> None:
    lines = draw_drift_map(
        [
            drift("copy[mib=1]", 2),
            drift("copy[mib=16]", 2, 300),
            drift("copy[mib=16]", 7, 40),
            drift("copy[mib=1]", 9, 120, evidence={"wants_rerun": True}),
            drift("copy[mib=1]", 11, settings=[{"name": "kernel.release", "before": "5.15", "after": "6.1"}]),
        ],
        COMMITS,
        80,
    )
    assert lines == [
        "copy[mib=16]  ..+....-....",
        "copy[mib=1]   ..+......?.+",
        "settings      ...........|",
        "+ worse  - better  * both  ? suspected  | a setting changed",
    ]


def test_one_case_needs_no_map() -> None:
    assert draw_drift_map([drift("copy", 2), drift("copy", 3)], COMMITS, 80) == []
    assert draw_drift_map([], COMMITS, 80) == []
    assert draw_drift_map([drift("copy", 2), drift("other", 3)], [], 80) == []


def test_what_is_certain_hides_what_is_suspected() -> None:
    both = [drift("a", 2), drift("a", 2, 50), drift("b", 2), drift("b", 2, 300, evidence={"wants_rerun": True})]
    assert [line.split()[1][2] for line in draw_drift_map(both, COMMITS, 80)[:2]] == ["+", "*"]


def test_many_commits_share_columns_and_many_cases_are_counted() -> None:
    commits = [f"{number:040x}" for number in range(1000)]
    drifts = [drift(f"case {number}", 0, 200 + number, revision=commits[number * 30]) for number in range(25)]
    lines = draw_drift_map(drifts, commits, 60)
    assert all(len(line) <= 60 for line in lines[:20])
    assert lines[20].endswith("; each column stands for 20 commits")
    assert lines[21] == "5 more cases moved less."
    assert "case 24" in lines[0]


@given(st.lists(st.tuples(st.text(min_size=1, max_size=60), st.integers(0, 11))), st.integers(1, 200))
def test_lines_fit_any_terminal(places: list[tuple[str, int]], width: int) -> None:
    lines = draw_drift_map([drift(case, commit) for case, commit in places], COMMITS, width)
    for line in lines[: min(20, len({case for case, _ in places}))]:
        assert len(line) <= max(width, 15)
