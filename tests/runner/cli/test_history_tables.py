"""The list of drifts at the end of a history."""

import io
from typing import Any

import pytest
from rich.console import Console

from runner.campaigns.history_measurement import HistorySummary
from runner.campaigns.proving import ProofSummary
from runner.cli.history_tables import show_drifts, show_history
from runner.cli.next_command import TypedTarget
from runner.contract.nomination import Nomination
from runner.contract.report import Case

TARGET = TypedTarget("plant", "bench/plant.toml", "./seeds", ("LANG=de DE",))


def shown(target: TypedTarget = TARGET, **changes: Any) -> str:
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
        "settings": [],
    }
    out = io.StringIO()
    show_drifts(Console(file=out, width=400), [drift | changes], target)
    return out.getvalue()


def test_a_drift_names_its_only_candidate() -> None:
    assert "commit  cccccccccc Merge a branch" in shown()


def test_a_drift_with_several_candidates_names_none_and_says_how_to_find_it() -> None:
    text = shown(candidates=[{"commit": "b" * 40}, {"commit": "c" * 40}])
    assert "one of 2 commits, bbbbbbbbbb…cccccccccc" in text
    said = "`faultwatch bisect bench/plant.toml aaaaaaaaaa..cccccccccc --repo ./seeds --case plant --env 'LANG=de DE'`"
    assert f"{said} names the commit" in text
    assert "Merge a branch" not in text


def test_where_the_position_is_uncertain_the_bisect_contains_all_candidates() -> None:
    commits = [{"commit": digit * 40} for digit in "bcd"]
    text = shown(candidates=commits, last_good="0" * 40, first_bad="d" * 40)
    assert "one of 3 commits, bbbbbbbbbb…dddddddddd" in text
    assert "bisect bench/plant.toml 0000000000..dddddddddd --repo" in text


def test_the_bisect_that_is_suggested_is_of_the_case_and_the_metric_that_drifted() -> None:
    here = TypedTarget("plant")
    candidates = [{"commit": "b" * 40}, {"commit": "c" * 40}]
    text = shown(here, candidates=candidates, case="plant[rows=2]", metric="major-faults")
    assert "`faultwatch bisect aaaaaaaaaa..cccccccccc --case 'plant[rows=2]' --metric major-faults` names" in text
    assert "bisect weed aaaaaaaaaa..cccccccccc --case weed`" in shown(here, candidates=candidates, case="weed")


def test_commits_of_merged_branches_are_said_to_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    show_history(HistorySummary(n_revisions=3, n_left_out=2), [], TARGET)
    assert "2 commits from merged branches are left out" in (text := capsys.readouterr().out)
    assert "Use --all-parents to measure them as well" in text
    show_history(HistorySummary(n_revisions=3, n_stored=3), [], TARGET)
    assert "left out" not in capsys.readouterr().out


def test_a_history_whose_stored_runs_all_failed_does_not_end_with_no_drift(capsys: pytest.CaptureFixture[str]) -> None:
    show_history(HistorySummary(n_revisions=3, n_stored=3, n_stored_failures=3), [], TARGET)
    text = capsys.readouterr().out
    assert "3 stored before (of which 3 failed)" in text
    assert "Nothing was measured" in text
    assert "--again repeats" in text
    assert "No drift" not in text
    show_history(HistorySummary(n_revisions=3, n_stored=3, n_stored_failures=2), [], TARGET)
    assert "No drift." in capsys.readouterr().out


def test_the_addresses_of_the_charts_come_last(capsys: pytest.CaptureFixture[str]) -> None:
    show_history(HistorySummary(n_revisions=3, n_stored=3), [], TARGET, ["http://127.0.0.1:8080/series/1"])
    assert capsys.readouterr().out.endswith("No drift.\nChart: http://127.0.0.1:8080/series/1\n")


def test_where_no_service_answers_the_command_that_serves_the_chart_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_history(
        HistorySummary(n_revisions=3, n_stored=3), [], TARGET, ["http://127.0.0.1:8080/series/1"], served=False
    )
    chart, last = capsys.readouterr().out.splitlines()[-2:]
    assert chart == "Chart: http://127.0.0.1:8080/series/1"
    assert "`faultwatch-service serve`" in last
    show_history(HistorySummary(n_revisions=3, n_stored=3), [], TARGET, served=False)
    assert "serve" not in capsys.readouterr().out, "there is no chart"


def test_a_drift_between_unknown_commits_names_none() -> None:
    text = shown(candidates_known=False)
    assert "a commit up to cccccccccc" in text
    assert "Merge a branch" not in text


def test_a_suspicion_is_called_one() -> None:
    runs = {"n_before": 2, "n_after": 1}
    assert "suspected from 2 runs before and 1 after, not interleaved" in shown(evidence={"wants_rerun": True, **runs})
    assert "certain by its runs" in shown(evidence={"wants_rerun": False})
    assert "proven in 20 interleaved pairs" in shown(evidence={"wants_rerun": False, "pairs": 20})


def test_nothing_is_said_of_drifts_if_nothing_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    show_history(HistorySummary(n_revisions=2), [], TARGET)
    assert "Nothing was measured, so nothing is judged." in capsys.readouterr().out


def test_a_suspicion_says_what_decides_it() -> None:
    doubt = {"wants_rerun": True}
    where = "--repo ./seeds --case plant --env 'LANG=de DE'"
    compare = f"`faultwatch compare bench/plant.toml aaaaaaaaaa..cccccccccc {where}` proves or refutes it"
    assert compare in shown(evidence=doubt)
    assert "compare" not in shown(evidence={"wants_rerun": False})
    candidates = [{"commit": "b" * 40}, {"commit": "c" * 40}]
    assert f"aaaaaaaaaa..cccccccccc {where}` proves or refutes it, and names the commit" in shown(
        evidence=doubt, candidates=candidates
    )
    assert "refutes" not in shown(candidates=candidates)
    assert "runs of later commits will confirm or refute it" in shown(evidence=doubt, cause="config", candidates=[])


def test_what_the_service_folds_is_counted_in_one_line() -> None:
    text = shown(below_floor=True)
    assert text == (
        "No drift above the floor.\n"
        "1 drift below the floor: runs of the same program, or builds of the same commit, can differ as much.\n"
    )
    assert "below the floor" not in shown(below_floor=False)


def test_a_likely_change_that_was_not_proven_is_never_no_drift(capsys: pytest.CaptureFixture[str]) -> None:
    nominations = [
        Nomination(
            case=Case(workload="plant", definition="0" * 16),
            metric="minor-faults",
            base="a" * 40,
            head=digit * 40,
            before=563,
            after=819,
            percent=45.47,
            likely=True,
        )
        for digit in "bcdef0123456"
    ]
    summary = HistorySummary(n_revisions=6, n_measured=6, proofs=ProofSummary(open_nominations=nominations))
    show_history(summary, [], TypedTarget("plant"))
    text = capsys.readouterr().out
    assert "No drift is certain." in text
    assert "? suspected minor-faults 563 → 819 (+256, +45.5" in text
    assert "aaaaaaaaaa..bbbbbbbbbb" in text
    assert "2 more drifts are suspected." in text
    assert "12 likely changes were neither proven nor refuted: use --prove-for" in text
