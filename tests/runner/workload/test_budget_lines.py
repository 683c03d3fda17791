import pytest

from runner.workload.budget_lines import find_budget_lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", {}),
        ('[workload]\nname = "a"\n', {}),
        (
            "[metrics]\nprecision = 1\n\n[metrics.budget]\nminor-faults = 0\n# of peak memory\npeak = '2 %'\n",
            {"minor-faults": 5, "peak": 7},
        ),
        ("[metrics]\nbudget = { minor-faults = 0, peak = '2 %' }\n", {"minor-faults": 2, "peak": 2}),
        ("metrics.budget.minor-faults = 3\nmetrics.budget.peak = 1\n", {"minor-faults": 1, "peak": 2}),
        (
            '[run]\ncommand = """\nminor-faults = 1\n"""\n[metrics.budget]\n"region:minor-faults" = 1\n',
            {"region:minor-faults": 6},
        ),
        ("[metrics]\nbudget = 3\n", {}),
        ("# one\u2028line\n[metrics.budget]\r\nminor-faults = 1\r\n", {"minor-faults": 3}),
        ("not valid", {}),
    ],
)
def test_each_budget_is_found_however_it_is_written(text: str, lines: dict[str, int]) -> None:
    assert find_budget_lines(text) == lines


@pytest.mark.timeout(20)
@pytest.mark.parametrize("budget", ['"minor-faults" = 1\n', '"minor\\u002dfaults" = 1\n'])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_long_file_takes_no_long_time(budget: str, is_first: bool) -> None:
    points = "".join(f"[[include]]\nn = {number}\n" for number in range(4000))
    table = f"[metrics.budget]\n{budget}"
    text = f"[workload]\n{table if is_first else ''}{points}{'' if is_first else table}"
    lines = find_budget_lines(text)
    assert lines == {"minor-faults": 3 if is_first else 8003}
