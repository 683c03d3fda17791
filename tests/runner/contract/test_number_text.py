import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.number_text import (
    capitalize_first_letter,
    format_amount,
    format_difference,
    format_duration,
    format_level_difference,
    format_levels,
    format_number,
    format_percent,
    format_quantity,
    format_range,
    format_sigmas,
    format_signed_number,
    replace_no_break_spaces,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)
UNITS = st.sampled_from(["faults", "bytes", "s", "ns", "%", "operations/s", "MB/s", ""])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (1, "1"),
        (513707, "513,707"),
        (2**70, "1,180,591,620,717,411,303,424"),
        (-4096, "−4,096"),
        (3.398, "3.4"),
        (0.0392104, "0.0392"),
        (290.984375, "291"),
        (10412.5, "10,400"),
        (11_714_287.33, "11,700,000"),
        (2239.0, "2,239"),
        (0.0000001234567, "0.000000123"),
        (5e-12, "≈0"),
    ],
)
def test_a_count_is_written_in_full_and_everything_else_with_three_digits(value: float, text: str) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("before", "after", "unit", "text"),
    [
        (900.4, 400.8, "operations/s", "−499 operations/s"),
        (0.0635, 0.1638, "s", "+100.5 ms"),
        (0.0016, 0.00204, "s", "+0.44 ms"),
        (99.5, 99.5, "faults/operation", "0 faults/operation"),
        (12, 13, "faults", "+1 fault"),
        (5.5, 1, "operations/s", "−4.5 operations/s"),
        (2_097_152, 1_048_576, "bytes", "−1 MiB"),
        (0, 0.5, "s", "+500 ms"),
        (-1.5, 1.25, "operations/s", "+2.75 operations/s"),
    ],
)
def test_a_difference_is_that_of_the_levels_beside_it(before: float, after: float, unit: str, text: str) -> None:
    assert format_level_difference(before, after, unit).replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize(("before", "after"), [(309.5, 296), (332, 409.5), (2270.5, 2169), (12.5, 112), (0.5, 1000.5)])
def test_two_levels_and_their_difference_agree_as_they_are_written(before: float, after: float) -> None:
    first, last, difference = (
        float(text.split("\N{NO-BREAK SPACE}")[0].replace(",", "").replace("−", "-"))
        for text in (
            format_quantity(before, "faults", after),
            format_quantity(after, "faults", before),
            format_difference(after - before, "faults"),
        )
    )
    assert last - first == difference


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1, "faults", "1 fault"),
        (1, "pages", "1 page"),
        (1, "misses", "1 miss"),
        (2, "faults", "2 faults"),
        (0, "faults", "0 faults"),
        (53_338.5, "faults", "53,338.5 faults"),
        (53_338.4, "faults", "53,338 faults"),
        (1, "switches", "1 switch"),
        (38.254, "%", "38.3 %"),
        (1, "s", "1 s"),
        (0.0392104, "s", "39.2 ms"),
        (2.5e-7, "s", "250 ns"),
        (0.00126, "s", "1.26 ms"),
        (72.123, "s", "72.1 s"),
        (1_234_567, "ns", "1.23 ms"),
        (0, "s", "0 s"),
        (17_985_536, "bytes", "17.2 MiB"),
        (4_096.25, "bytes/fault", "4,100 bytes/fault"),
        (4_096.0, "bytes/fault", "4,096 bytes/fault"),
    ],
)
def test_a_number_has_the_unit_in_which_it_is_short(value: float, unit: str, text: str) -> None:
    assert replace_no_break_spaces(format_quantity(value, unit)) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(1, "1 byte"), (512, "512 bytes"), (12_288, "12 KiB"), (45_200, "44.1 KiB"), (3 * 2**30, "3 GiB")],
)
def test_an_amount_of_memory_is_never_nothing_that_is_there(size: int, text: str) -> None:
    assert replace_no_break_spaces(format_amount(size)) == text


def test_two_values_that_are_compared_differ_on_the_page() -> None:
    assert replace_no_break_spaces(format_quantity(0.161849, "s", 0.162034)) == "161.8 ms"
    assert replace_no_break_spaces(format_quantity(0.162034, "s", 0.161849)) == "162 ms"
    assert format_levels(0.161849, 0.162034) == "0.1618 → 0.162"
    assert format_levels(108_603.5, 108_619) == "108,603.5 → 108,619"
    assert format_levels(1000.25, 1000.4) == "1,000.2 → 1,000.4"


@pytest.mark.parametrize(("value", "text"), [(1, "+1"), (-38897, "−38,897"), (0, "0"), (0.25, "+0.25")])
def test_differences_have_a_sign(value: float, text: str) -> None:
    assert format_signed_number(value) == text


def test_one_fault_less_is_one_fault() -> None:
    assert replace_no_break_spaces(format_difference(-1, "faults")) == "−1 fault"
    assert replace_no_break_spaces(format_difference(4096, "bytes")) == "+4 KiB"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (22844.2, "+22,844 %"),
        (-94.4, "−94.4 %"),
        (-8.25, "−8.25 %"),
        (9.96, "+9.96 %"),
        (0.0001947, "+0.0002 %"),
        (0, "0 %"),
    ],
)
def test_percents_have_one_format(value: float, text: str) -> None:
    assert replace_no_break_spaces(format_percent(value)) == text


def test_both_ends_of_a_range_are_written_alike() -> None:
    assert replace_no_break_spaces(format_range(19.99913, 41.66667, "%")) == "20 – 41.7 %"
    assert replace_no_break_spaces(format_range(0.161849, 1.5, "s")) == "0.162 – 1.5 s"
    assert replace_no_break_spaces(format_range(7229, 7230, "faults")) == "7,229 – 7,230 faults"


def test_what_is_certain_has_no_number_of_sigmas() -> None:
    assert [format_sigmas(size) for size in (4.26, 10.0, 5226.9)] == ["4.3 sigma", "10.0 sigma", "more than 10 sigma"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (40, "40 s"), (59.6, "1 min"), (180, "3 min"), (7800, "2 h 10 min"), (93600, "1 d 2 h")],
)
def test_durations_have_two_units_at_most(seconds: float, text: str) -> None:
    assert replace_no_break_spaces(format_duration(seconds)) == text


@given(FINITE, UNITS)
def test_no_number_has_an_exponent(value: float, unit: str) -> None:
    written = replace_no_break_spaces(format_quantity(value, unit)).partition(" ")[0]
    assert set(written) <= set("0123456789,.−≈")


@given(FINITE, FINITE, st.sampled_from(["bytes", "s", "%"]))
def test_different_values_of_one_comparison_are_never_written_the_same(one: float, other: float, unit: str) -> None:
    if one != other and max(abs(one), abs(other)) > 1e-3 and abs(one - other) > 1e-6 * max(abs(one), abs(other)):
        assert format_quantity(one, unit, other) != format_quantity(other, unit, one)


def test_a_sentence_begins_with_a_capital_and_keeps_the_names_in_it() -> None:
    assert capitalize_first_letter("job 3 is for the host Lab-A.") == "Job 3 is for the host Lab-A."
    assert not capitalize_first_letter("")


@given(FINITE, FINITE, UNITS)
def test_the_difference_of_any_two_levels_can_be_written(one: float, other: float, unit: str) -> None:
    assert "e" not in format_level_difference(one, other, unit).partition("\N{NO-BREAK SPACE}")[0].partition(" ")[0]
