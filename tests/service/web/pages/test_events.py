from service.web.pages.events import events
from tests.service.web import made


def test_the_same_change_in_several_cases_is_one_event_and_the_largest_speaks() -> None:
    series = made.faults()
    one, other = series.drifts[0], series.drifts[1]
    small = one.model_copy(update={"id": "f" * 8, "case": "copy_service[threads=2]", "change": -2})
    found = events([small, other, one])
    assert [event.largest for event in found] == [one, other]
    assert found[0].drifts == (one, small)


def test_another_metric_or_cause_is_another_event() -> None:
    one = made.faults().drifts[0]
    changed = [one.model_copy(update=update) for update in ({"metric": "major-faults"}, {"cause": made.Cause.BOTH})]
    assert len(events([one, *changed])) == 3
