"""What a pull request changes of the workload file, and whether somebody has to accept that."""

from __future__ import annotations

import pytest

from runner.contract.gate import JudgeChange
from service.rules.gate.verdict import Acceptance, GateState, judge_gate
from service.rules.gate.workload_file_acceptance import needs_acceptance
from tests.service.forges import made_gates

SAME = made_gates.case([100] * 30, [100] * 30)
WEAKER = JudgeChange(key="workload.max_samples", before=("400",), after=("2",))


@pytest.mark.parametrize(
    ("key", "before", "after", "needed"),
    [
        ("metrics.budget.minor-faults", ("10",), ("2000",), True),
        ("metrics.budget.minor-faults", (), ("1",), True),
        ("metrics.budget.minor-faults", (), ("none",), True),
        ("metrics.budget.minor-faults", ("10",), ("2 %",), True),
        ("metrics.budget.minor-faults", ("2 %",), ("10",), True),
        ("metrics.budget.minor-faults", ("2 %",), ("3 %",), True),
        ("metrics.budget.minor-faults", ("2 %",), ("1 %",), False),
        ("metrics.budget.minor-faults", ("10",), (), False),
        ("metrics.budget.minor-faults", ("none",), ("2000",), False),
        ("metrics.precision.minor-faults", (), ("50 %",), True),
        ("metrics.judge", ("throughput",), (), True),
        ("metrics.judge", (), ("throughput",), False),
        ("metrics.events", ("cycles",), ("instructions",), True),
        ("metrics.events", ("cycles",), ("cycles", "instructions"), False),
        ("workload.max_samples", ("default",), ("2",), True),
        ("workload.max_samples", ("400",), ("default",), True),
        ("workload.max_samples", ("40",), ("400",), False),
        ("workload.samples", ("10",), ("2",), True),
        ("workload.unmeasured", ("fail",), ("pass",), True),
        ("workload.timeout", ("60",), ("0.1",), True),
        ("matrix", ("n=9",), ("n=5",), True),
        ("matrix", (), ("n=5",), False),
        ("run.command", ("./prog",), ("true",), True),
        ("build.command", ("make",), ("true",), True),
        ("folder", (), (), True),
        ("file", ("it is not TOML",), (), True),
    ],
)
def test_what_may_weaken_the_judge_needs_acceptance(
    key: str, before: tuple[str, ...], after: tuple[str, ...], needed: bool
) -> None:
    assert needs_acceptance(JudgeChange(key=key, before=before, after=after)) is needed


def test_a_change_of_the_judge_does_not_pass_until_it_is_accepted() -> None:
    report = made_gates.gate(SAME, changes=(WEAKER,))
    assert (judge_gate(report).verdict, judge_gate(report).passed) == ("undecided", False)
    accepted = judge_gate(report, Acceptance("ada", "wanted"))
    assert (accepted.verdict, accepted.passed) == ("same", True)


def test_a_change_of_the_judge_does_not_hide_what_was_measured() -> None:
    report = made_gates.gate(made_gates.case([100] * 30, [101] * 30), changes=(WEAKER,))
    assert (judge_gate(report).verdict, judge_gate(report).passed) == ("regressed", False)
    report = made_gates.gate(made_gates.failed("head"), changes=(WEAKER,))
    assert not judge_gate(report, Acceptance("ada", "wanted")).passed


def test_a_broken_base_only_lets_head_pass_where_it_is_to_be_merged() -> None:
    case = made_gates.failed("base", head_runs=True)
    at_tip, before = (judge_gate(made_gates.gate(case, target=tip)) for tip in (made_gates.BASE, "f" * 40))
    assert (at_tip.state, at_tip.passed) == (GateState.BASE_FAILED, True)
    assert (before.state, before.passed) == (GateState.OLD_BASE_FAILED, False)
    both = made_gates.failed("base", head_stage=made_gates.Stage.BUILD)
    at_tip, before = (judge_gate(made_gates.gate(both, SAME, target=tip)) for tip in (made_gates.BASE, "f" * 40))
    assert (at_tip.state, before.state) == (GateState.UNMEASURED, GateState.HEAD_FAILED)


def test_a_case_that_only_head_cannot_be_measured_in_fails() -> None:
    outcome = judge_gate(made_gates.gate(made_gates.skipped_for_head(), SAME, may_be_unmeasured=True))
    assert (outcome.state, outcome.passed) == (GateState.DISTURBED, False)
    assert outcome.cases[0].first_failure == ("head", outcome.cases[0].case.head.failure)


def test_an_accepted_regression_does_not_let_a_case_pass_that_could_not_be_measured() -> None:
    over = made_gates.case([100] * 30, [101] * 30)
    report = made_gates.gate(over, made_gates.skipped_for_head(mib=8))
    before, after = judge_gate(report), judge_gate(report, Acceptance("ada", "wanted"))
    assert (before.state, before.passed) == (GateState.OVER, False)
    assert (after.state, after.verdict, after.passed) == (GateState.DISTURBED, "failed", False)
    assert judge_gate(made_gates.gate(over), Acceptance("ada", "wanted")).passed


def test_a_metric_that_some_executions_of_head_lack_does_not_pass() -> None:
    made = made_gates.case([100] * 30, [100] * 30, speeds=([1000.0] * 30, [900.0] * 30), judge=("throughput",))
    samples = tuple(
        one.model_copy(update={"readings": {key: one.readings[key] for key in one.readings if key != "throughput"}})
        for one in made.head.samples[2:]
    )
    some = made.model_copy(
        update={"head": made.head.model_copy(update={"samples": (*made.head.samples[:2], *samples)})}
    )
    outcome = judge_gate(made_gates.gate(some))
    assert (outcome.state, outcome.passed) == (GateState.HEAD_LACKS, False)
    assert judge_gate(made_gates.gate(some), Acceptance("ada", "")).passed


def test_a_case_that_head_adds_does_not_stand_in_for_one_that_could_not_be_measured() -> None:
    both_fail = made_gates.failed("base", head_stage=made_gates.Stage.BUILD)
    added = made_gates.case([100] * 30, [100] * 30, mib=64, added=True)
    for extra in (made_gates.added(), added):
        outcome = judge_gate(made_gates.gate(both_fail, extra))
        assert (outcome.state, outcome.passed) == (GateState.NOTHING, False)
    assert judge_gate(made_gates.gate(made_gates.added())).state is GateState.ADDED
