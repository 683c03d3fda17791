"""The check run of a head commit: its conclusion, and its annotations."""

from __future__ import annotations

import pytest

from service.forges.github import check_run
from service.rules.gate.verdict import judge_gate
from tests.service.forges import made_gates
from tests.service.forges.test_comment_text import BETTER, LINKS, OVER, REPORTS, SAME


@pytest.mark.parametrize(
    ("name", "conclusion"),
    [
        ("worse", "failure"),
        ("head-fails", "failure"),
        ("from-zero", "failure"),
        ("within", "success"),
        ("better", "success"),
        ("same", "success"),
        ("accepted", "neutral"),
        ("undecided", "neutral"),
        ("base-fails", "neutral"),
        ("nothing", "failure"),
        ("both-fail", "failure"),
        ("allowed-to-fail", "neutral"),
        ("one-unmeasured", "neutral"),
        ("noisy-undecided", "neutral"),
        ("missing", "neutral"),
        ("may-exceed", "neutral"),
        ("intermittent", "failure"),
        ("missing-in-head", "failure"),
        ("judge-changed", "failure"),
        ("judge-accepted", "neutral"),
        ("judged-by-head", "success"),
        ("old-base-fails", "failure"),
        ("disturbed", "failure"),
        ("added", "success"),
        ("merged", "failure"),
    ],
)
def test_the_check_run_fails_where_a_budget_does_or_the_head(name: str, conclusion: str) -> None:
    report, accepted, _ = REPORTS[name]
    finding = judge_gate(report, accepted)
    found = check_run.render_check_run(finding, LINKS)
    assert found.conclusion == conclusion
    assert finding.passed is (conclusion != "failure")
    assert found.title
    assert found.summary


def test_a_budget_is_marked_where_it_is_set() -> None:
    (entry,) = check_run.render_check_run(judge_gate(made_gates.gate(OVER, BETTER)), LINKS).annotations
    assert (entry["path"], entry["start_line"], entry["annotation_level"]) == ("bench/workload.toml", 12, "failure")
    assert "+1 fault (+1 %)" in entry["message"]


def test_annotations_are_sent_in_parts_that_github_takes() -> None:
    cases = [made_gates.case([9] * 30, [10] * 30, mib=number, file="w.toml") for number in range(120)]
    batches = check_run.render_check_run(judge_gate(made_gates.gate(*cases)), LINKS).split_annotations()
    assert [len(batch) for batch in batches] == [50, 50, 20]
    assert [
        len(batch) for batch in check_run.render_check_run(judge_gate(made_gates.gate(SAME)), LINKS).split_annotations()
    ] == [0]
