"""What somebody has to look at in a gate."""

from __future__ import annotations

from typing import Any

import pytest

from runner.contract.diagnosis import Difference, DifferencePart, FaultCause
from runner.contract.explanation import Explanation
from runner.contract.gate import GateReport, JudgeChange
from service.forges.gate_findings import list_findings
from service.rules.gate.gradual_regression import Baseline
from service.rules.gate.verdict import Acceptance, judge_gate
from tests.service.forges import made_gates

OVER = made_gates.case([100] * 30, [101] * 30, file="bench/workload.toml", lines={"minor-faults": 12})
SAME = made_gates.case([100] * 30, [100] * 30, mib=16)
WITHIN = made_gates.case([100] * 30, [101] * 30, mib=8, budgets={"minor-faults": "2 %"})
WEAKER = JudgeChange(key="workload.unmeasured", before=("fail",), after=("pass",))
MORE = JudgeChange(key="matrix", after=("n=5",))
NOTHING = ("not-measured", "failure", "", "", 1)
OPEN = made_gates.case([100, 101, 100, 103], [101, 104, 105, 100], mib=32)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (made_gates.gate(OVER, SAME), [("over-budget", "failure", "copy_service[mib=4]", "minor-faults", 12)]),
        (made_gates.gate(WITHIN), [("within-budget", "notice", "copy_service[mib=8]", "minor-faults", 1)]),
        (made_gates.gate(OPEN), [("undecided", "warning", "copy_service[mib=32]", "minor-faults", 1)]),
        (made_gates.gate(SAME), []),
        (made_gates.gate(), [("not-measured", "failure", "", "", 1)]),
        (made_gates.gate(may_be_unmeasured=True), [("not-measured", "warning", "", "", 1)]),
        (made_gates.gate(made_gates.failed("head"), SAME), [("not-measured", "failure", "copy_service[mib=4]", "", 1)]),
        (
            made_gates.gate(made_gates.failed("base", head_runs=True), SAME),
            [("not-measured", "warning", "copy_service[mib=4]", "", 1)],
        ),
        (made_gates.gate(made_gates.failed("base")), [("not-measured", "failure", "copy_service[mib=4]", "", 1)]),
        (made_gates.gate(SAME, changes=(WEAKER,)), [("judge-changed", "failure", "", "", 1)]),
        (made_gates.gate(SAME, changes=(MORE,)), [("judge-changed", "notice", "", "", 1)]),
        (made_gates.gate(changes=(WEAKER,)), [("judge-changed", "failure", "", "", 1), NOTHING]),
        (
            made_gates.gate(made_gates.failed("base", head_runs=True), SAME, target="f" * 40),
            [("not-measured", "failure", "copy_service[mib=4]", "", 1)],
        ),
        (
            made_gates.gate(made_gates.skipped_for_head(), SAME),
            [("not-measured", "failure", "copy_service[mib=4]", "", 1)],
        ),
        (
            made_gates.gate(made_gates.lacking_in_head(OPEN, "minor-faults", "no room")),
            [("undecided", "failure", "copy_service[mib=32]", "minor-faults", 1)],
        ),
        (made_gates.gate(made_gates.added(), SAME), []),
    ],
    ids=[
        *("worse", "within", "undecided", "same", "no-case", "may-be-unmeasured", "head", "base-alone", "both"),
        *("judge", "more", "judge-and-no-case", "old-base", "disturbed", "missing-in-head", "added"),
    ],
)
def test_a_gate_fails_if_and_only_if_a_finding_does(report: GateReport, expected: list[Any]) -> None:
    outcome = judge_gate(report)
    found = list_findings(outcome)
    assert [(one.rule, one.level, one.case, one.metric, one.line) for one in found] == expected
    assert outcome.passed is not any(one.level == "failure" for one in found)


def test_an_accepted_change_is_a_notice() -> None:
    (found,) = list_findings(judge_gate(made_gates.gate(OVER), Acceptance("ada", "wanted")))
    assert (found.rule, found.level) == ("over-budget", "notice")


def test_small_steps_that_are_too_many_are_a_failure() -> None:
    outcome = judge_gate(made_gates.gate(WITHIN)).with_baselines({(0, "minor-faults"): Baseline(90, "c" * 40)})
    (found,) = list_findings(outcome)
    assert (found.rule, found.level) == ("step-by-step", "failure")
    assert "since cccccccccc" in found.message


def test_the_text_of_strangers_has_no_line_break_and_nothing_invisible() -> None:
    (found,) = list_findings(
        judge_gate(made_gates.gate(made_gates.failed("head", message="a\n::error::\x1b[31m\u202e")))
    )
    assert found.title == "copy_service[mib=4]: the head does not build"
    assert found.message == "a ::error::\\u{1b}[31m\\u{202e}"


@pytest.mark.parametrize(
    ("source", "file", "line"),
    [
        ("src/sums.c", "src/sums.c", 10),
        ("./sums.c", "sums.c", 10),
        ("/usr/include/vector", "bench/workload.toml", 12),
        ("../other/sums.c", "bench/workload.toml", 12),
        ("", "bench/workload.toml", 12),
    ],
)
def test_a_finding_that_is_explained_is_at_the_line_that_does_more(source: str, file: str, line: int) -> None:
    part = DifferencePart(
        cause=FaultCause.NEW_MEMORY,
        before=5,
        after=105,
        place="sum at sums.c:10",
        source_file=source,
        source_line=10,
        sentence="touches more memory",
    )
    explanation = Explanation(difference=Difference(before=5, after=105, parts=(part,)))
    case = made_gates.case(
        [100] * 30, [200] * 30, file="bench/workload.toml", lines={"minor-faults": 12}, explanation=explanation
    )
    (finding,) = list_findings(judge_gate(made_gates.gate(case)))
    assert (finding.file, finding.line) == (file, line)
    assert "sum at sums.c:10 touches more memory: +100 faults." in finding.message
