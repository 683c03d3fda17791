import pytest

from runner.adoption.exit_status import accept_result_status, contains_most_words
from runner.adoption.proposal import RunProposal

SOLVE = RunProposal("build/solve test/a.cnf", input_file="test/a.cnf")


def test_the_exit_code_of_a_solver_is_its_result() -> None:
    accepted = accept_result_status(
        SOLVE, "`build/solve test/a.cnf` ended with exit code 20: s UNSATISFIABLE", lambda: False
    )
    assert accepted
    assert accepted.command == "sh -c 'build/solve test/a.cnf; test $? -eq 20'"
    assert (accepted.program, accepted.input_file) == ("build/solve", "test/a.cnf")


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (SOLVE, "`build/solve test/a.cnf` ended with exit code 1: error"),
        (SOLVE, "it was terminated by SIGSEGV"),
        (RunProposal("build/solve"), "`build/solve` ended with exit code 10"),
        (RunProposal("./x a.json", input_file="a.json"), "`./x a.json` ended with exit code 20"),
        (RunProposal("sh -c 'exec ./x < a.cnf'", input_file="a.cnf"), "it ended with exit code 10"),
    ],
)
def test_other_exit_codes_are_failures(run: RunProposal, problem: str) -> None:
    assert accept_result_status(run, problem, lambda: False) is None


def test_a_program_that_prints_its_file_with_warnings_has_not_failed() -> None:
    run = RunProposal("build/tidy test/a.html", input_file="test/a.html")
    problem = "`build/tidy test/a.html` ended with exit code 1: see the manual"
    accepted = accept_result_status(run, problem, lambda: True)
    assert accepted
    assert accepted.command == "sh -c 'build/tidy test/a.html; test $? -eq 1'"
    assert accept_result_status(run, problem.replace("1:", "2:"), lambda: True) is None
    stand_in = RunProposal("build/tidy LICENSE", stand_in_file="LICENSE")
    assert accept_result_status(stand_in, problem, lambda: True) is None


def test_the_output_of_a_formatter_has_the_words_of_the_file() -> None:
    words = [f"word{'abcdefghijklmnopqrstuvwxyz'[number]}" for number in range(24)]
    content = "<p>".join(words)
    assert contains_most_words("\n".join(words), content)
    assert contains_most_words("\n".join(words[4:]), content)
    assert not contains_most_words("\n".join(words[6:]), content)
    assert not contains_most_words(f"a.html:3: error near {words[0]}", content)
    assert not contains_most_words("one line", "one line")
    lines = "\n\n".join(words)
    assert contains_most_words("\n".join(words), lines)
    assert not contains_most_words(f"{words} is not valid under any of the given schemas\n", lines), "it is quoted"
