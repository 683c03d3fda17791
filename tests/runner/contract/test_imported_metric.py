from hypothesis import given
from hypothesis import strategies as st

from runner.contract.imported_metric import name_imported_metric
from runner.contract.judging import Judging
from runner.contract.metrics import Kind, get_metric


def test_a_name_describes_the_metric() -> None:
    entry = get_metric(name_imported_metric("requests: all", "req/s", "higher"))
    assert (entry.title, entry.unit, entry.better, entry.kind) == ("requests: all", "req/s", "higher", Kind.RATE)
    assert not entry.exact
    assert not entry.judged
    assert Judging(judge=(entry.name,)).is_judged_in_history(entry.name)


@given(st.text(max_size=300), st.text(max_size=100), st.sampled_from(["lower", "higher"]))
def test_any_title_and_unit(title: str, unit: str, better: str) -> None:
    name = name_imported_metric(title, unit, better)  # type: ignore[arg-type]
    entry = get_metric(name)
    assert len(name) <= 200
    assert name.isprintable()
    assert entry.better == better
    assert entry.title in name
    assert not entry.exact
