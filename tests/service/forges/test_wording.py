"""How comments spell names."""

import pytest

from runner.contract.comparison import MetricVerdict, Verdict
from service.forges.wording import metric_name


@pytest.mark.parametrize(
    ("metric", "spelt"),
    [("minor-faults", "minor faults"), ("cpu-migrations", "CPU migrations"), ("own-count", "<own-count>")],
)
def test_a_metric_is_spelt_as_within_a_sentence(metric: str, spelt: str) -> None:
    verdict = MetricVerdict.model_construct(metric=metric, verdict=Verdict.SAME)
    assert metric_name(verdict, "<{}>".format) == spelt
