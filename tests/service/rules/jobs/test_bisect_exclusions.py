"""Which drifts the service does not bisect."""

from dataclasses import replace

import pytest

from runner.contract.job import State
from service.rules.jobs.bisect_exclusions import DriftFacts, OpenEvent, may_bisect_event
from service.rules.jobs.repeated_bisects import OrderedBisect
from tests.service import made_series
from tests.service.rules.jobs.made_bisects import NOW, ended

MEASURABLE = DriftFacts(lambda _: True, lambda _: True, lambda _: False)


@pytest.mark.parametrize(
    ("bisects", "may"),
    [
        ([], True),
        ([ended(State.DONE)], False),  # it has told what measurements can tell
        ([ended(State.RUNNING)], False),
        ([ended(State.CANCELLED, hours=99)], False),
        ([ended(hours=99, by_service=False)], False),
        ([ended(hours=1)], False),  # not twice a day
        ([ended(hours=25)], True),
        ([ended(hours=25), ended(hours=50)], True),
        ([ended(hours=25), ended(hours=50), ended(hours=75)], False),
    ],
)
def test_what_failed_is_repeated_on_another_day_and_not_for_ever(bisects: list[OrderedBisect], may: bool) -> None:
    assert may_bisect_event(OpenEvent([], silenced=False, bisects=bisects), NOW) is may
    assert not may_bisect_event(OpenEvent([], silenced=True, bisects=bisects), NOW)


@pytest.mark.parametrize(
    ("facts", "offered", "ordered"),
    [
        (MEASURABLE, True, True),
        (replace(MEASURABLE, expects_runs=lambda _: False), False, False),
        (replace(MEASURABLE, is_range=lambda _: False), False, False),
        (replace(MEASURABLE, needs_unmerged_commits=lambda _: True), True, False),
    ],
)
def test_what_no_host_measures_is_not_offered_and_what_is_not_merged_is_not_ordered(
    facts: DriftFacts, offered: bool, ordered: bool
) -> None:
    drift = made_series.drift(1, made_series.point(1, 100), made_series.point(2, 200))
    assert (facts.may_be_offered(drift), facts.may_be_ordered(drift)) == (offered, ordered)
