import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.adoption.size_arguments import find_size_arguments


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Usage:\nMode 1: ./test_HPCCG nx ny nz\n     where nx, ny and nz are the dimensions\n", "64 64 64"),
        ("Usage: bin/heat <rows> <cols> <iterations>\n", "512 512 10"),
        ("usage: ./nbody n_steps\n", "10"),
        ("usage: ./sort [size]\n", "10000"),
        ("usage: ./convert input output\n", ""),
        ("usage: ./solve n matrix\n", ""),
        ("Set size n\n", ""),
        ("Usage: see the manual of n\n", ""),
        ("", ""),
    ],
)
def test_sizes_are_chosen_only_if_every_argument_is_one(text: str, arguments: str) -> None:
    assert find_size_arguments(text) == arguments


@given(st.text())
def test_any_text_gives_numbers_or_nothing(text: str) -> None:
    assert all(word.isdigit() for word in find_size_arguments(f"usage: {text}").split())
