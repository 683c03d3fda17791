"""The plots of series, kept for the charts that are drawn next."""

from __future__ import annotations

from service.web.charts.chart_points import Plots
from tests.service import made_series


def test_a_plot_that_is_used_again_and_again_is_not_computed_again() -> None:
    plots, series = Plots(), made_series.faults()
    plot = plots.get_plot(series)
    for number in range(100, 200):
        plots.get_plot(series.model_copy(update={"id": number}))
        assert plots.get_plot(series) is plot
