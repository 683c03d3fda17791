from service.rules.series.downsample import find_extremes, thin_series
from tests.service import made_series


def test_all_are_kept_where_there_is_room() -> None:
    assert find_extremes(5, list(range(10))) == list(range(10))
    assert thin_series(made_series.faults(), 100) == made_series.faults()


def test_a_single_odd_run_among_ten_thousand_is_kept_wherever_it_is() -> None:
    whole = made_series.long(10_000).model_copy(update={"drifts": []})
    for odd in (0, 1, 4_999, 9_998, 9_999):
        points = [point.model_copy(update={"value": 7 + (index == odd)}) for index, point in enumerate(whole.points)]
        thinned = thin_series(whole.model_copy(update={"points": points}), 100)
        assert len(thinned.points) <= 102
        assert points[odd] in thinned.points
        assert thinned.n_points == 10_000


def test_the_runs_around_each_drift_stay_and_so_does_the_order() -> None:
    whole = made_series.long(10_000)
    thinned = thin_series(whole, 10)
    runs = [point.run_id for point in thinned.points]
    assert {whole.drifts[0].run_before, whole.drifts[0].run_after} <= set(runs)
    assert runs == [point.run_id for point in whole.points if point.run_id in set(runs)]


def test_what_has_no_value_is_not_forgotten() -> None:
    whole = made_series.uncounted()
    gaps = [made_series.point(number, None) for number in range(50)]
    thinned = thin_series(whole.model_copy(update={"points": [*made_series.long(50).points, *gaps]}), 20)
    assert any(point.value is None for point in thinned.points)
    assert any(point.value is not None for point in thinned.points)
