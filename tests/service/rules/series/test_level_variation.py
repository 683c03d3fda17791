import pytest

from service.rules.series.level_variation import describe_level_variation


@pytest.mark.parametrize("values", [[], [7], [7, 7, 7], [7, 7, 8, 8], [7, 8, 9], [9, 9, 8]])
def test_what_does_not_return_needs_no_words(values: list[int]) -> None:
    assert describe_level_variation(values) == ""


def test_a_zigzag_by_one_fault_on_a_young_level_is_explained() -> None:
    said = describe_level_variation([4100, 4101, 4100, 4100, 4101])
    assert said.startswith(
        "The counts of the 5 runs at this level go back and forth: 4,100 (3 times) or 4,101 (2 times)."
    )
    assert "differ by at most 1;" in said
    assert "until it has 12 runs, a step has to last longer to be certain" in said
    assert "is new" not in describe_level_variation([4100, 4101] * 6)


def test_many_values_are_a_range() -> None:
    assert "go back and forth: 4,100 to 4,103." in describe_level_variation([4100, 4101, 4102, 4103, 4100])
