"""The length of variables and arguments, and that it cannot move a count."""

from pathlib import Path

import pytest

from runner.execution.process_variables import PADDING_VARIABLE, START_BLOCK_BYTES, pad_variables
from runner.perf import counted_program
from runner.perf.perf_stat import count_faults
from runner.process_state.process_state import ProcessState


def size(variables: dict[str, str], command: list[str]) -> int:
    strings = [*command, *(f"{name}={value}" for name, value in variables.items())]
    return sum(len(text.encode()) + 9 for text in strings)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 100, 2_000, 3_700])
def test_all_together_have_a_fixed_size(length: int) -> None:
    variables = pad_variables({"A": "é" * (length // 2)}, ["./program", "x" * (length % 90)])
    assert size(variables, ["./program", "x" * (length % 90)]) == START_BLOCK_BYTES


def test_what_does_not_fit_gets_the_next_multiple() -> None:
    assert size(pad_variables({"A": "x" * 5000}, ["p"]), ["p"]) == 2 * START_BLOCK_BYTES


def test_what_fits_exactly_gets_no_more() -> None:
    rest = START_BLOCK_BYTES - size({PADDING_VARIABLE: "", "A": ""}, [])
    assert pad_variables({"A": "x" * rest}, [])[PADDING_VARIABLE] == ""


# Long enough to cross into the next page at some of these lengths, whatever the stack begins with.
LENGTHS = range(0, 3600, 400)


def agree(tmp_path: Path) -> bool:
    """Whether in one round of several all lengths cost the same.

    A file that others map, write or evict can cost a fault more, once or from then on; so what is compared is one
    round with itself, of the least of three each.
    """

    def one_round() -> set[object]:
        return {least(ProcessState(variables={"NAME": "x" * length}), tmp_path) for length in LENGTHS}

    return any(len(one_round()) == 1 for _ in range(5))


def least(state: ProcessState, directory: Path) -> object:
    """A file that others map too can cost a fault more now and then, never one less."""
    return min(
        count_faults(["true"], directory=directory, state=state, timeout=20).sample.readings["minor-faults"].value or 0
        for _ in range(3)
    )


@pytest.mark.perf
def test_the_length_of_a_variable_does_not_move_a_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert agree(tmp_path)
    monkeypatch.setattr(counted_program, "pad_variables", lambda variables, command: variables)
    assert not agree(tmp_path), "without padding it does: else this test could not fail"
