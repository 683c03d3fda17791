"""The list of drifts at the end of a history."""

import io
from typing import Any

from rich.console import Console

from runner.cli.history_tables import show_drifts


def shown(**changes: Any) -> str:
    drift = {
        "metric": "minor-faults",
        "before": 176,
        "after": 226,
        "direction": "regression",
        "case": "plant",
        "cause": "commit",
        "revision": "c" * 40,
        "previous_revision": "a" * 40,
        "title": "Merge a branch",
        "candidates": [{"commit": "c" * 40, "title": "Merge a branch"}],
        "knobs": [],
    }
    out = io.StringIO()
    show_drifts(Console(file=out, width=200), [drift | changes])
    return out.getvalue()


def test_a_drift_names_its_only_candidate() -> None:
    assert "commit  cccccccccc Merge a branch" in shown()


def test_a_drift_with_several_candidates_names_none_and_says_how_to_find_it() -> None:
    text = shown(candidates=[{"commit": "b" * 40}, {"commit": "c" * 40}])
    assert "one of 2 commits, bbbbbbbbbb…cccccccccc" in text
    assert "`faultwatch bisect aaaaaaaaaa..cccccccccc` says which" in text
    assert "Merge a branch" not in text


def test_where_the_position_is_uncertain_the_bisect_contains_all_candidates() -> None:
    commits = [{"commit": digit * 40} for digit in "bcd"]
    text = shown(candidates=commits, last_good="0" * 40, first_bad="d" * 40)
    assert "one of 3 commits, bbbbbbbbbb…dddddddddd" in text
    assert "`faultwatch bisect 0000000000..dddddddddd` says which" in text


def test_a_drift_between_unknown_commits_names_none() -> None:
    text = shown(candidates_known=False)
    assert "one of the commits up to cccccccccc" in text
    assert "Merge a branch" not in text


def test_a_suspicion_is_called_one() -> None:
    assert "not confirmed yet" in shown(evidence={"wants_rerun": True})
    assert "confirmed" not in shown(evidence={"wants_rerun": False})
