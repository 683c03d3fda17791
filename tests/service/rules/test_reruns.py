"""Which doubts reruns can end; test_run_plan tests the reruns in a plan."""

from service.rules.reruns import DriftEnd, find_series_in_doubt


def test_only_a_doubt_about_the_newest_level_is_ended_by_reruns() -> None:
    doubt, later, elsewhere = DriftEnd(1, "glibc", 5, True), DriftEnd(1, "glibc", 9, False), DriftEnd(1, "je", 9, False)
    assert find_series_in_doubt([doubt]) == find_series_in_doubt([elsewhere, doubt]) == [doubt]
    assert (
        find_series_in_doubt([doubt, later])
        == find_series_in_doubt([later, doubt])
        == find_series_in_doubt([later])
        == []
    )
