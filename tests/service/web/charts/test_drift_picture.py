from service.web.charts.drift_picture import HEIGHT, WIDTH, draw_drift
from tests.service import made_series


def series() -> made_series.SeriesDetail:
    return made_series.faults()


def test_a_drift_is_drawn_among_its_runs_with_both_levels() -> None:
    detail = series()
    drift = detail.drifts[0]
    drawn = draw_drift(detail, drift)
    assert drawn is not None
    (start, middle, before), (again, end, after) = drawn.levels
    assert 0 <= start < middle == again < end <= WIDTH
    assert before > after if drift.after > drift.before else before < after, "more is higher"
    assert drawn.band[0] < drawn.band[1]
    assert drawn.own.worse == (drift.direction == "regression")
    assert len(drawn.others) == len([other for other in detail.drifts if other.id != drift.id])
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in drawn.dots)


def test_a_mark_says_whether_its_drift_is_suspected() -> None:
    detail = series()
    drift, *others = detail.drifts
    doubtful = drift.model_copy(update={"evidence": drift.evidence.model_copy(update={"wants_rerun": True})})
    drawn = draw_drift(detail.model_copy(update={"drifts": [doubtful, *others]}), doubtful)
    assert drawn is not None
    assert drawn.own.suspected
    assert not any(mark.suspected for mark in drawn.others)


def test_the_picture_of_a_drift_says_when_it_begins_and_ends_and_between_which_values_it_lies() -> None:
    detail = series()
    drawn = draw_drift(detail, detail.drifts[0])
    assert drawn is not None
    path = [point for point in detail.points if point.on_path]
    assert drawn.dates == (f"{path[0].committed_at:%Y-%m-%d}", f"{path[-1].committed_at:%Y-%m-%d}")
    (high, upper), (low, lower) = drawn.scale
    values = [point.value for point in path if point.value is not None]
    assert (high, low) == (max(values), min(values))
    assert 0 < upper < lower < 100


def test_a_drift_whose_run_is_not_on_the_path_has_no_picture() -> None:
    detail = series()
    elsewhere = detail.drifts[0].model_copy(update={"run_after": made_series.run_id(999)})
    assert draw_drift(detail, elsewhere) is None


def test_a_drift_at_the_beginning_of_the_path_is_drawn_inside_of_the_picture() -> None:
    detail = series()
    drift = detail.drifts[0].model_copy(update={"run_before": made_series.run_id(999)})
    first = next(index for index, point in enumerate(detail.points) if point.run_id == drift.run_after)
    drawn = draw_drift(detail.model_copy(update={"points": detail.points[first:]}), drift)
    assert drawn is not None
    assert all(0 <= start <= end <= WIDTH for start, end, _ in drawn.levels)
    assert 0 <= drawn.band[0] <= drawn.band[1] <= WIDTH
