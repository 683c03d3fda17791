"""How comments spell names."""

import pytest

from runner.contract.comparison import MetricVerdict, Verdict
from runner.contract.gate import JudgeChange
from runner.contract.report import Failure, Outcome, Reading, Sample, Stage
from service.forges.gate_verdict_text import describe_gate_verdict, describe_judge, format_metric_name
from service.rules.gate.verdict import judge_gate
from tests.service.forges import made_gates


@pytest.mark.parametrize(
    ("metric", "spelt"),
    [("minor-faults", "minor faults"), ("cpu-migrations", "CPU migrations"), ("own-count", "<own-count>")],
)
def test_a_metric_is_spelt_as_within_a_sentence(metric: str, spelt: str) -> None:
    verdict = MetricVerdict.model_construct(metric=metric, verdict=Verdict.SAME)
    assert format_metric_name(verdict, "<{}>".format) == spelt


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (None, "The base does not build, so"),
        (Stage.BUILD, "Neither the base nor the head builds, so"),
        (Stage.RUN, "The base does not build and the head does not run to completion, so"),
    ],
)
def test_a_head_that_fails_as_well_is_not_passed_over(head: Stage | None, said: str) -> None:
    outcome = judge_gate(made_gates.gate(made_gates.failed("base", head_stage=head)))
    assert describe_gate_verdict(outcome, str).startswith(said)


def test_a_base_that_the_host_disturbed_is_not_said_to_fail() -> None:
    repaired = made_gates.failed("base", head_runs=True)
    failure = Failure(stage=Stage.RUN, message="the environment changed during the session", temporary=True)
    base = repaired.base.model_copy(update={"outcome": Outcome.SKIPPED, "failure": failure})
    outcome = judge_gate(made_gates.gate(repaired.model_copy(update={"base": base})))
    assert describe_gate_verdict(outcome, str).startswith("The base was not measured, so there is nothing to compare:")


@pytest.mark.parametrize("key", ["metrics.![](//x).name", "metrics.name.![](//x)", "![](//x).name", "run.![](//x)"])
def test_a_key_in_a_report_cannot_become_markup(key: str) -> None:
    report = made_gates.gate(changes=(JudgeChange(key=key, before=("1",), after=("2",)),))
    assert "![](//x)" not in describe_judge(judge_gate(report), lambda text: f"<{len(text)}>")


@pytest.mark.parametrize(
    ("name", "spelt"), [("@octo-org/all **read this**", "<@octo-org/all **read this**>"), ("cycles", "CPU cycles")]
)
def test_a_metric_that_is_not_judged_is_spelt_like_any_other_if_it_clearly_moved(name: str, spelt: str) -> None:
    made = made_gates.case([100] * 10, [100] * 10)
    sides = {}
    for side, value in (("base", 1000), ("head", 5000)):
        report = getattr(made, side)
        samples = [Sample(readings=dict(one.readings) | {name: Reading(value=value)}) for one in report.samples]
        sides[side] = report.model_copy(update={"samples": tuple(samples)})
    outcome = judge_gate(made_gates.gate(made.model_copy(update=sides)))
    assert f"Not judged, but clearly worse: {spelt} 1,000 → 5,000" in describe_gate_verdict(outcome, "<{}>".format)
