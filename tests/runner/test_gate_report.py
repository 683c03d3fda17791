import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.compare import Compared
from runner.contract.comparison import Comparison, MetricVerdict, Side, Verdict
from runner.contract.report import Failure, Outcome, Stage
from runner.gate import GateVerdict, gate, of_case
from tests.runner.made import report

SIDE = Side(level=1, low=1, high=1, n=2, agree=2)


def told(
    verdict: Verdict = Verdict.SAME, direction: str | None = None, *, counts: bool = True, over: bool = False
) -> MetricVerdict:
    return MetricVerdict.model_validate(
        {
            "metric": "minor-faults",
            "verdict": verdict,
            "counts": counts,
            "rule": "exact",
            "base": SIDE,
            "head": SIDE,
            "change": 0,
            "percent": 0.0,
            "direction": direction,
            "bounds": None,
            "threshold": None,
            "sentence": "",
            "over": over,
        }
    )


SAME = told()
BETTER = told(Verdict.CHANGED, "improvement")
WORSE = told(Verdict.CHANGED, "regression")
OVER = told(Verdict.CHANGED, "regression", over=True)
OPEN = told(Verdict.NEEDS_MORE_RUNS)
UNIMPORTANT = told(Verdict.CHANGED, "regression", counts=False)


def case(*metrics: MetricVerdict) -> Compared:
    made = Comparison(verdict=Verdict.SAME, more=0, metrics=metrics, knobs=())
    return Compared(report(), report(), made)


def broken(side: str, outcome: Outcome) -> Compared:
    failure = Failure(stage=Stage.BUILD, message="make: error", log="")
    bad = report().model_copy(update={"outcome": outcome, "samples": (), "failure": failure})
    other = bad.model_copy(update={"outcome": Outcome.SKIPPED})
    return Compared(bad, other, None) if side == "base" else Compared(other, bad, None)


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (case(SAME, UNIMPORTANT), GateVerdict.SAME),
        (case(SAME, BETTER), GateVerdict.IMPROVED),
        (case(WORSE, BETTER), GateVerdict.CHANGED),
        (case(OPEN, BETTER), GateVerdict.UNDECIDED),
        (case(OVER, OPEN, BETTER), GateVerdict.REGRESSED),
        (broken("head", Outcome.FAILED), GateVerdict.FAILED),
        (broken("base", Outcome.FAILED), GateVerdict.UNDECIDED),
        (broken("head", Outcome.SKIPPED), GateVerdict.UNDECIDED),
    ],
)
def test_a_case_in_one_word(result: Compared, verdict: GateVerdict) -> None:
    assert of_case(result) is verdict


def test_a_base_that_does_not_build_keeps_no_fix_out() -> None:
    assert gate([broken("base", Outcome.FAILED)]).passes
    assert not gate([broken("head", Outcome.FAILED)]).passes


def test_without_cases_nothing_is_decided() -> None:
    assert gate([]) is GateVerdict.UNDECIDED


@given(st.lists(st.sampled_from([SAME, BETTER, WORSE, OPEN, UNIMPORTANT]), max_size=4))
def test_one_case_over_its_budget_is_enough(metrics: list[MetricVerdict]) -> None:
    assert gate([case(*metrics), case(OVER), case(*metrics)]) is GateVerdict.REGRESSED
    assert gate([case(*metrics)]).passes
