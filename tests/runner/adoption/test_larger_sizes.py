from collections.abc import Callable

import pytest

from runner.adoption.larger_sizes import increase_sizes
from runner.adoption.proposal import RunProposal
from runner.adoption.tried_command import TriedCommand


def count(command: str, faults: int, seconds: float = 0.01, spread: int = 0) -> TriedCommand:
    return TriedCommand(RunProposal(command), (faults, faults + spread), seconds=seconds)


def make_program(count_faults: Callable[[list[int]], int]) -> Callable[[RunProposal], TriedCommand]:
    """Return what tries a program whose faults depend on the numbers in its command."""
    return lambda run: count(run.command, count_faults([int(word) for word in run.command.split() if word.isdigit()]))


@pytest.mark.parametrize(
    ("command", "count_faults", "larger_command"),
    [
        ("./bfs -g 10 -n 1", lambda sizes: 300 + 2 ** (sizes[0] - 3), "./bfs -g 16 -n 1"),
        ("./solve -r 3 --nx 50", lambda sizes: 100 + sizes[1], "./solve -r 3 --nx 6400"),
        (
            "./md -t 2 --seed 3 --nx 50",
            lambda sizes: 10 * sizes[0] * sizes[2] + sizes[1],
            "./md -t 2 --seed 3 --nx 400",
        ),
        ("./pi -n 1000", lambda sizes: 90, "./pi -n 1000"),
        ("./x", lambda sizes: 90, "./x"),
        ("./x -f t/7", lambda sizes: 90 + sum(sizes), "./x -f t/7"),
    ],
)
def test_the_sizes_on_which_the_memory_depends_are_increased(
    command: str, count_faults: Callable[[list[int]], int], larger_command: str
) -> None:
    try_command = make_program(count_faults)
    assert increase_sizes(try_command(RunProposal(command)), try_command).run.command == larger_command


def test_sizes_stay_so_that_the_program_is_quick_and_its_count_repeats() -> None:
    small = count("./x -n 100", 200)
    assert increase_sizes(small, lambda run: count(run.command, 900, seconds=3.0)) is small
    assert increase_sizes(small, lambda run: count(run.command, 900, spread=90)) is small
    assert increase_sizes(count("./x -n 9", 6000), lambda run: count(run.command, 9000)).run.command == "./x -n 9"


@pytest.mark.parametrize(("seconds_per_round", "n_rounds"), [(0.002, 80), (0.05, 10), (0.0, 10)])
def test_rounds_are_added_until_the_program_computes_for_a_while(seconds_per_round: float, n_rounds: int) -> None:
    def try_command(run: RunProposal) -> TriedCommand:
        number = int(run.command.split()[-1])
        return TriedCommand(run, (300, 300), seconds=0.1, cpu_seconds=0.001 + seconds_per_round * number)

    result = increase_sizes(try_command(RunProposal("./x --rounds 10")), try_command)
    assert result.run.command == f"./x --rounds {n_rounds}"
