import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.adoption.size_arguments import fill_in_sizes, list_size_arguments


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Usage:\nMode 1: ./test_HPCCG nx ny nz\n     where nx, ny and nz are the dimensions\n", "64 64 64"),
        ("Usage: bin/heat <rows> <cols> <iterations>\n", "512 512 10"),
        ("usage: ./nbody n_steps\n", "10"),
        ("usage: ./sort [size]\n", "10000"),
        ("Usage: amg [<options>]\n\n  -P <Px> <Py> <Pz>   : topology\n  -n <nx> <ny> <nz>  : size\n", "-n 64 64 64"),
        ("usage: ./convert input output\n", ""),
        ("Usage: amg\n  -n <nx> <ny> <nz>: problem size per process (default: nx=ny=nz=10)\n", "-n 64 64 64"),
        ("  -s <size> <seed>   how many\n", ""),
        ("usage: ./solve n matrix\n", ""),
        ("Set size n\n", ""),
        ("Usage: see the manual of n\n", ""),
        ("", ""),
    ],
)
def test_sizes_are_chosen_only_if_every_argument_is_one(text: str, arguments: str) -> None:
    assert next(iter(list_size_arguments(text)), "") == arguments


def test_a_program_that_takes_too_long_gets_smaller_sizes() -> None:
    assert list_size_arguments("Usage: ./heat nx ny steps\n") == ["512 512 10", "256 256 10", "128 128 10"]
    assert list_size_arguments("Usage: ./heat steps\n") == ["10"]


@pytest.mark.parametrize(
    ("command", "filled"),
    [
        ("./fe.x -nx <X prob> -ny <Y prob> -v", ["./fe.x -nx 512 -ny 512 -v", "./fe.x -nx 256 -ny 256 -v"]),
        ("./fe.x --n=<size>", ["./fe.x --n=10000", "./fe.x --n=5000"]),
        ("./fe.x -n <size> --mesh <file>", []),
        ("./fe.x < in.txt > out.txt", ["./fe.x < in.txt > out.txt"]),
    ],
)
def test_placeholders_of_sizes_in_a_command_are_filled_in(command: str, filled: list[str]) -> None:
    assert fill_in_sizes(command)[:2] == filled


@given(st.text())
def test_any_text_gives_numbers_or_nothing(text: str) -> None:
    for arguments in list_size_arguments(f"usage: {text}"):
        assert all(word.isdigit() or word.startswith("-") for word in arguments.split())
