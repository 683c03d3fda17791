import pytest

from runner.errors import FaultwatchError
from runner.workload.assignments import parse_assignments


def test_the_last_of_equal_names_wins() -> None:
    assert parse_assignments("--env", ["A=1", "B==", "A="], r"[A-Z]+") == {"A": "", "B": "="}


@pytest.mark.parametrize("word", ["A", "=1", "A=\0"])
def test_another_form_is_refused(word: str) -> None:
    with pytest.raises(FaultwatchError, match=r"--env .* does not have the form NAME=VALUE"):
        parse_assignments("--env", [word], r"[A-Z]+")


def test_a_name_that_is_not_valid_is_refused_and_named() -> None:
    with pytest.raises(
        FaultwatchError, match=r"--env 'my-var=1': 'my-var' is not a valid name \(a name consists of letters"
    ):
        parse_assignments("--env", ["my-var=1"], r"[A-Za-z_]+")


@pytest.mark.parametrize("word", ["A=\udcff", "\udcff=1"])
def test_a_word_that_is_not_text_is_refused_because_no_report_can_contain_it(word: str) -> None:
    with pytest.raises(FaultwatchError, match="is not valid UTF-8"):
        parse_assignments("--with", [word], r".+")
