from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.workload.gate_cases import list_case_pairs
from tests.runner.workload.workload_texts import GENERAL, MATRIX, RUN, SERVER, files


def test_head_is_judged_by_the_file_of_the_target_and_runs_by_its_own(tmp_path: Path) -> None:
    judge = f'{GENERAL}max_samples = 40\ntimeout = 9\n{RUN}{MATRIX}[metrics]\nevents = ["cycles"]\n'
    weak = f'{GENERAL}max_samples = 2\ntimeout = 1\nunmeasured = "pass"\n{RUN.replace("./prog", "./other")}{MATRIX}'
    found = list_case_pairs(files(tmp_path, judge, judge, weak))
    assert [dict(one.parameters) for one in found] == [{"n": 1}, {"n": 9}]
    for one in found:
        assert one.base
        assert (one.base.run.command[0], one.head.run.command[0]) == ("./prog", "./other")
        assert one.head.workload == one.base.workload
        assert one.head.metrics == one.base.metrics
        assert not one.is_same_recipe
        assert one.base_case.is_point_of(one.head_case)


def test_a_server_is_judged_by_the_file_of_the_target_and_loaded_by_its_own(tmp_path: Path) -> None:
    judge = f"{GENERAL}{SERVER}{MATRIX}[metrics.budget]\nminor-faults = 5\n"
    head = f"{GENERAL}timeout = 9\n{SERVER.replace('./load', './other')}{MATRIX}"
    (one, _) = list_case_pairs(files(tmp_path, judge, judge, head))
    assert one.base
    assert one.head.server
    assert (one.base.load.command[0], one.head.load.command[0]) == ("./load", "./other")
    assert (one.head.workload, one.head.metrics) == (one.base.workload, one.base.metrics)


def test_a_head_that_changes_only_what_judges_has_the_definition_of_base(tmp_path: Path) -> None:
    base = GENERAL + RUN + MATRIX
    weak = base.replace('"w"', '"w"\ntimeout = 1\nmax_samples = 2') + "[metrics.budget]\nminor-faults = 2000\n"
    assert all(one.is_same_recipe for one in list_case_pairs(files(tmp_path, base, base, weak)))


def test_cases_that_head_removes_are_run_by_the_file_that_judges(tmp_path: Path) -> None:
    base = GENERAL + RUN + MATRIX
    head = GENERAL + RUN.replace("./prog", "./other") + MATRIX.replace("9", "5")
    found = list_case_pairs(files(tmp_path, base, base, head))
    assert [(one.parameters["n"], one.head.run.command[0], one.added) for one in found] == [
        (1, "./other", False),
        (9, "./prog", False),
        (5, "./other", True),
    ]
    assert all(one.base and one.base.run.command[0] == "./prog" for one in found)


def test_base_does_not_run_cases_with_parameters_that_head_adds(tmp_path: Path) -> None:
    base = GENERAL + RUN + MATRIX
    head = GENERAL + RUN.replace('"{n}"', '"{n}", "{mode}"') + MATRIX + 'mode = ["a"]\n'
    found = list_case_pairs(files(tmp_path, base, base, head))
    assert [(one.base is None, one.added) for one in found] == [(False, False)] * 2 + [(True, True)] * 2
    assert [one.head.run.command for one in found[:2]] == [("./prog", "{n}")] * 2


def test_a_branch_that_is_behind_adds_no_case(tmp_path: Path) -> None:
    old, new = GENERAL + RUN + MATRIX, GENERAL + "samples = 5\n" + RUN + MATRIX.replace("9", "5")
    behind = files(tmp_path, new, old, old)
    assert [(one.parameters["n"], one.added) for one in list_case_pairs(behind)] == [(1, False), (5, False)]


def test_cases_can_be_chosen_also_those_that_head_adds(tmp_path: Path) -> None:
    base = GENERAL + RUN + MATRIX
    both = files(tmp_path, base, base, base.replace("9]", "9, 5]"))
    assert [one.parameters["n"] for one in list_case_pairs(both, ("n=5",))] == [5]
    assert [one.parameters["n"] for one in list_case_pairs(both, ("n=1,5",))] == [1, 5]
    assert [one.parameters["n"] for one in list_case_pairs(both, (), ("w[n=9]",))] == [9]
    with pytest.raises(FaultwatchError, match=r"no case 'w\[n=7\]'"):
        list_case_pairs(both, (), ("w[n=7]",))
    with pytest.raises(FaultwatchError, match="no value '7'"):
        list_case_pairs(both, ("n=7",))


def test_more_cases_than_a_gate_may_have_are_refused(tmp_path: Path) -> None:
    base = GENERAL + RUN + MATRIX
    many = base.replace("[1, 9]", str(list(range(1200))))
    with pytest.raises(FaultwatchError, match="a gate measures at most 1,000"):
        list_case_pairs(files(tmp_path, base, base, many))
