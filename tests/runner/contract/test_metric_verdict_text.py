"""What is said of metrics that are not judged and changed all the same."""

import pytest

from runner.contract.comparison import MetricVerdict, Side, Verdict
from runner.contract.metric_verdict_text import describe_clear_moves, describe_verdict, has_clearly_moved


def moved(name: str, base: tuple[float, float], head: tuple[float, float], n: int = 20) -> MetricVerdict:
    """Return the verdict on a metric that is not judged, with the lowest and highest sample of both sides."""
    levels = [sum(side) / 2 for side in (base, head)]
    return MetricVerdict(
        metric=name,
        verdict=Verdict.SAME,
        counts=False,
        rule="apart",
        base=Side(level=levels[0], low=base[0], high=base[1], n=n, n_at_level=1),
        head=Side(level=levels[1], low=head[0], high=head[1], n=n, n_at_level=1),
        change=levels[1] - levels[0],
        percent=100 * (levels[1] - levels[0]) / levels[0],
        direction=None,
        bounds=None,
        threshold=None,
        sentence="",
    )


SLOWER = moved("elapsed", (0.062, 0.064), (0.160, 0.170))


def test_a_time_that_more_than_doubled_is_said_though_nobody_judges_it() -> None:
    assert describe_verdict(SLOWER) == "not judged, clearly worse"
    text = describe_clear_moves([moved("throughput", (90, 100), (900, 910)), SLOWER])
    assert text.index("elapsed is worse, 63") < text.index("throughput is better")
    assert 'judge = ["elapsed", "throughput"]' in text


@pytest.mark.parametrize(
    "verdict",
    [
        moved("elapsed", (0.062, 0.161), (0.160, 0.170)),  # one sample among those of the other side
        moved("elapsed", (0.0620, 0.0621), (0.0640, 0.0641)),  # 3 %
        moved("page-faults", (3_000, 3_001), (9_000, 9_001)),  # the sum of two counts that are judged
        moved("elapsed", (0.062, 0.064), (0.160, 0.170), n=7),  # chance: one order in 3,432
        SLOWER.model_copy(update={"counts": True}),
    ],
)
def test_what_may_be_chance_or_is_judged_anyway_is_not_pointed_out(verdict: MetricVerdict) -> None:
    assert not has_clearly_moved(verdict)
    assert describe_clear_moves([verdict]) == ""
