import pytest

from runner.adoption.exit_status import accept_result_status
from runner.adoption.proposal import RunProposal

SOLVE = RunProposal("build/solve test/a.cnf", input_file="test/a.cnf")


def test_the_exit_code_of_a_solver_is_its_result() -> None:
    accepted = accept_result_status(SOLVE, "`build/solve test/a.cnf` ended with exit code 20: s UNSATISFIABLE")
    assert accepted
    assert accepted.command == "sh -c 'build/solve test/a.cnf; test $? -eq 20'"
    assert (accepted.program, accepted.input_file) == ("build/solve", "test/a.cnf")


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (SOLVE, "`build/solve test/a.cnf` ended with exit code 1: error"),
        (SOLVE, "it was ended by SIGSEGV"),
        (RunProposal("build/solve"), "`build/solve` ended with exit code 10"),
        (RunProposal("./x a.json", input_file="a.json"), "`./x a.json` ended with exit code 20"),
        (RunProposal("sh -c 'exec ./x < a.cnf'", input_file="a.cnf"), "it ended with exit code 10"),
    ],
)
def test_other_exit_codes_are_failures(run: RunProposal, problem: str) -> None:
    assert accept_result_status(run, problem) is None
