from service.web.charts.chart_points import MAX_COLUMNS, Window
from service.web.charts.trend import build_chart
from tests.service import made_series


def test_each_run_of_the_path_has_a_slot_and_so_has_a_failure() -> None:
    drawn = build_chart(made_series.faults(), str)
    assert [dot["x"] for dot in drawn["path"]] == [*range(11), 12, 13, 14]
    assert [gap["x"] for gap in drawn["gaps"]] == [11]
    assert drawn["slots"] == 15
    assert drawn["path"][9]["commit"] == drawn["path"][10]["commit"] == made_series.commit(made_series.ANCHOR)[:10]


def test_a_failure_has_the_time_of_the_commit_before_it_also_where_the_path_goes_back() -> None:
    points = [made_series.point(number, 5) for number in (0, 10, 20, 1, 2, 3, 21)]
    failure = made_series.faults().failures[0].model_copy(update={"position": 15})
    series = made_series.faults().model_copy(
        update={"points": points, "failures": [failure], "drifts": [], "changes": []}
    )
    drawn = build_chart(series, str)
    assert drawn["gaps"][0]["t"] == drawn["path"][1]["t"]


def test_a_failure_has_the_time_of_the_commit_before_it_also_if_no_run_is_on_the_path() -> None:
    points = [made_series.point(number, 5).model_copy(update={"on_path": False}) for number in (0, 10, 20)]
    failure = made_series.faults().failures[0].model_copy(update={"position": 15})
    series = made_series.faults().model_copy(
        update={"points": points, "failures": [failure], "drifts": [], "changes": []}
    )
    drawn = build_chart(series, str)
    assert drawn["gaps"][0]["t"] == drawn["beside"][1]["t"]


def test_a_configuration_change_lies_between_two_slots() -> None:
    drawn = build_chart(made_series.faults(), str)
    (line,) = drawn["lines"]
    first_run = next(dot for dot in drawn["path"] if dot["x"] > line["x"])
    assert line["t"] == first_run["t"], "not between two runs that may lie weeks apart"
    assert line["x"] == 9.5
    assert line["label"].endswith(" and 1 more")
    assert "LD_PRELOAD empty → …ux-gnu/libjemalloc.so.2" in line["settings"]


def test_levels_reach_from_drift_to_drift() -> None:
    levels = build_chart(made_series.faults(), str)["levels"]
    assert [(level["x"], level["y"]) for level in levels] == [
        ([0, 3], 2239),
        ([4, 6], 18623),
        ([7, 9], 18624),
        ([10, 10], 41201),
        ([12, 14], 2304),
    ]


def test_a_level_lies_on_its_runs_though_those_next_to_the_drift_are_higher() -> None:
    series = made_series.long(200)
    step = next(index for index, point in enumerate(series.points) if point.run_id == series.drifts[0].run_after)
    points = [
        point.model_copy(update={"value": 2236}) if index > step + 32 else point
        for index, point in enumerate(series.points)
    ]
    levels = build_chart(series.model_copy(update={"points": points}), str)["levels"]
    assert [level["y"] for level in levels] == [2239, 2236]


def test_a_series_without_drifts_is_one_level() -> None:
    series = made_series.faults().model_copy(
        update={"drifts": [], "points": [made_series.point(0, 5), made_series.point(1, 5)]}
    )
    assert [(level["x"], level["y"]) for level in build_chart(series, str)["levels"]] == [([0, 1], 5)]


def test_a_series_that_is_not_judged_claims_no_level() -> None:
    assert build_chart(made_series.throughput(), str)["levels"] == []


def test_a_point_beside_the_path_stands_at_its_own_commit() -> None:
    (dot,) = build_chart(made_series.faults(), str)["beside"]
    assert dot["x"] == 8


def test_runs_beside_the_path_and_of_other_series_are_seen_by_a_closer_look_too() -> None:
    few, many = made_series.faults(), made_series.long(5_000)
    assert not build_chart(few, str)["thinned"]
    assert build_chart(few, str, overlaid_series=[many])["thinned"]
    beside = [point.model_copy(update={"on_path": False}) for point in many.points]
    assert build_chart(few.model_copy(update={"points": [*few.points, *beside]}), str)["thinned"]


def test_zero_rules_out_a_logarithmic_axis() -> None:
    assert not build_chart(made_series.majors(), str)["logarithmic"]
    assert build_chart(made_series.faults(), str)["logarithmic"]


def test_what_was_not_counted_is_a_gap_with_its_reason() -> None:
    drawn = build_chart(made_series.uncounted(), str)
    assert drawn["path"] == []
    assert [gap["text"] for gap in drawn["gaps"]] == ["not supported"] * 4
    assert [gap["x"] for gap in drawn["gaps"]] == [0, 1, 2, 3]


def test_flags_say_their_size_and_no_percent_of_zero() -> None:
    (flag,) = build_chart(made_series.majors(), str)["flags"]
    assert flag["label"] == "+12\xa0faults"
    assert flag["verdict"] == "regression: +12\xa0faults"


def test_a_flag_says_whether_its_drift_is_suspected_until_somebody_has_decided() -> None:
    series = made_series.majors()
    (drift,) = series.drifts
    suspected = drift.model_copy(update={"evidence": drift.evidence.model_copy(update={"wants_rerun": True})})
    for drifts, standings, standing, verdict in (
        ([drift], {}, "open", "regression: +12\xa0faults"),
        ([suspected], {}, "suspected", "regression, suspected: +12\xa0faults"),
        ([suspected], {drift.id: "accepted"}, "accepted", "regression, accepted: +12\xa0faults"),
    ):
        (flag,) = build_chart(series.model_copy(update={"drifts": drifts}), str, standings=standings)["flags"]
        assert (flag["standing"], flag["verdict"]) == (standing, verdict)


def test_ten_thousand_runs_are_thinned_and_no_step_of_a_single_run_is_lost() -> None:
    series = made_series.long(10_000)
    points = list(series.points)
    points[4321] = made_series.point(4321, 2241)
    drawn = build_chart(series.model_copy(update={"points": points}), str)
    assert drawn["thinned"]
    assert drawn["runs"] == drawn["slots"] == 10_000
    assert len(drawn["path"]) <= 6 * MAX_COLUMNS
    at = {dot["x"]: dot["y"] for dot in drawn["path"]}
    assert at[4321] == 2241
    assert [level["y"] for level in drawn["levels"]] == [2239, 2240]
    assert [flag["x"] for flag in drawn["flags"]] == [6666]
    assert [dot["x"] for dot in drawn["path"]] == sorted(at)


def test_a_window_shows_each_of_its_runs_and_one_beyond_each_end() -> None:
    drawn = build_chart(made_series.long(10_000), str, Window(6600, 6700))
    assert [dot["x"] for dot in drawn["path"]] == list(range(6599, 6702))
    points = made_series.long(10_000).points
    start, end = (points[number].committed_at.timestamp() * 1000 for number in (6600, 6700))
    assert build_chart(made_series.long(10_000), str, Window(start, end, by_time=True))["path"] == drawn["path"]


def test_a_series_is_laid_over_another_at_its_own_commits() -> None:
    other = made_series.throughput().model_copy(update={"points": made_series.throughput().points[5:8]})
    (over,) = build_chart(made_series.faults(), str, overlaid_series=[other])["others"]
    assert over["unit"] == "operations/s"
    assert [dot["x"] for dot in over["path"]] == [5, 6, 7]


def test_each_run_of_an_overlaid_series_has_a_slot_of_its_commit() -> None:
    series = made_series.faults()
    (over,) = build_chart(series, str, overlaid_series=[series.model_copy(update={"id": 99})])["others"]
    assert [dot["x"] for dot in over["path"]] == [dot["x"] for dot in build_chart(series, str)["path"]]


def test_an_overlaid_series_is_told_apart_by_what_differs() -> None:
    series = made_series.faults()
    others = [
        series.model_copy(update={"id": 98, "host": "elsewhere"}),
        series.model_copy(update={"id": 99, "case": "other[n=1]"}),
        made_series.throughput(),
    ]
    drawn = build_chart(series, str, overlaid_series=others)["others"]
    assert [over["label"] for over in drawn] == ["on elsewhere", "of other[n=1]", "Throughput"]


def test_a_line_crosses_a_window_between_two_runs() -> None:
    series = made_series.faults()
    path = build_chart(series, str)["path"]
    for window in (Window(4.2, 4.8), Window(path[4]["t"] + 1, path[5]["t"] - 1, by_time=True)):
        assert [dot["x"] for dot in build_chart(series, str, window)["path"]] == [4, 5]
    for window in (Window(-9, -8), Window(98, 99), Window(1, 2, by_time=True)):
        assert not build_chart(series, str, window)["path"]
