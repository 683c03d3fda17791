"""What the windows of one start of a server come to together."""

import pytest

from runner.contract.report import Reading, Status, Window
from runner.servers.window_readings import combine_windows

COUNT = Reading(value=5)
ESTIMATES = [Reading(status=Status.MULTIPLEXED, value=7, running_percent=percent) for percent in (80, 20)]


@pytest.mark.parametrize("readings", [[COUNT, *ESTIMATES], [*ESTIMATES, COUNT], [ESTIMATES[1], COUNT, ESTIMATES[0]]])
def test_an_estimate_in_any_window_makes_the_total_an_estimate(readings: list[Reading]) -> None:
    windows = [Window(is_warm_up=False, readings={"cycles": reading}, operations=1, resident=0) for reading in readings]
    total = combine_windows(windows)["cycles"]
    assert (total.status, total.value, total.running_percent) == (Status.MULTIPLEXED, 19, 20)


def test_the_same_clock_ticks_in_another_order_are_the_same_time() -> None:
    def add_up(*seconds: float) -> float | int | None:
        readings = [Reading(value=value) for value in seconds]
        windows = [Window(is_warm_up=False, readings={"sys-time": each}, operations=1, resident=0) for each in readings]
        return combine_windows(windows)["sys-time"].value

    assert add_up(0.1, 0.2, 0.3) == add_up(0.3, 0.2, 0.1) == 0.6
