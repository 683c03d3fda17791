import pytest

from service.text.numbers import amount, difference, number, percent, quantity, signed, span


def plain(text: str) -> str:
    return text.replace("\xa0", " ").replace("\u202f", " ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (1, "1"),
        (513707, "513,707"),
        (2**70, "1,180,591,620,717,411,303,424"),
        (-4096, "−4,096"),
        (3.398, "3.398"),
        (0.039214, "0.039214"),
        (290.984375, "290.984"),
        (10412.5, "10,412.5"),
        (11_714_287.33, "11,714,287"),
        (2239.0, "2,239"),
        (0.0000001234567, "1.23457e−07"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(1, "1 byte"), (512, "512 bytes"), (12_288, "12 KiB"), (45_200, "44.1 KiB"), (16_881_664, "16.1 MiB")],
)
def test_an_amount_of_memory_is_never_nothing_that_is_there(size: int, text: str) -> None:
    assert plain(amount(size)) == text


@pytest.mark.parametrize(("value", "text"), [(1, "+1"), (-38897, "−38,897"), (0, "0"), (0.25, "+0.25")])
def test_differences_have_a_sign(value: float, text: str) -> None:
    assert signed(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (22844.2, "+22,844 %"),
        (-94.4, "−94 %"),
        (9.96, "+10 %"),
        (4.51, "+4.5 %"),
        (0.0001947, "+0.00019 %"),
        (0, "0 %"),
    ],
)
def test_percents(value: float, text: str) -> None:
    assert plain(percent(value)) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1, "faults", "1 fault"),
        (2, "faults", "2 faults"),
        (0, "faults", "0 faults"),
        (1, "switches", "1 switch"),
        (38.25, "%", "38.25 %"),
        (1, "s", "1 s"),
    ],
)
def test_a_number_has_its_unit(value: float, unit: str, text: str) -> None:
    assert plain(quantity(value, unit)) == text


def test_one_fault_less_is_one_fault() -> None:
    assert plain(difference(-1, "faults")) == "−1 fault"


def test_both_ends_of_a_range_are_written_alike() -> None:
    assert plain(span(19.99913, 41.66667, "%")) == "20 – 41.67 %"
