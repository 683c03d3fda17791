from pathlib import Path

import pytest

from runner.contract.gate import JudgeChange
from runner.workload import load_workload
from runner.workload.gate_cases import WorkloadFiles
from runner.workload.workload_file_changes import list_workload_file_changes
from tests.runner.workload.workload_texts import GENERAL, MATRIX, RUN, SERVER, files


def test_a_branch_that_is_behind_changes_nothing(tmp_path: Path) -> None:
    old, new = GENERAL + RUN + MATRIX, GENERAL + "samples = 5\n" + RUN + MATRIX.replace("9", "5")
    assert list_workload_file_changes(files(tmp_path, new, old, old)) == ()
    assert list_workload_file_changes(files(tmp_path, new, old, new)) == ()


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (
            "max_samples = 40\n",
            "max_samples = 2\n",
            JudgeChange(key="workload.max_samples", before=("40",), after=("2",)),
        ),
        ("", "max_samples = 2\n", JudgeChange(key="workload.max_samples", before=("default",), after=("2",))),
        ("", 'unmeasured = "pass"\n', JudgeChange(key="workload.unmeasured", before=("fail",), after=("pass",))),
        ("", "timeout = 0.5\n", JudgeChange(key="workload.timeout", before=("60",), after=("0.5",))),
        ("samples = 9\n", "", JudgeChange(key="workload.samples", before=("9",), after=("2",))),
        ("", 'description = "x"\n', None),
    ],
)
def test_a_key_that_judges_is_named_with_what_it_was(
    tmp_path: Path, before: str, after: str, change: JudgeChange | None
) -> None:
    base, head = (GENERAL + keys + RUN + MATRIX for keys in (before, after))
    assert list_workload_file_changes(files(tmp_path, base, base, head)) == ((change,) if change else ())


def test_every_table_is_compared(tmp_path: Path) -> None:
    judged = '[metrics]\nevents = ["cycles"]\njudge = ["cycles"]\n[metrics.budget]\nminor-faults = 1\n'
    base = GENERAL + RUN + MATRIX + judged
    head = (
        f'{GENERAL}[build]\ncommand = "make"\nneeds = ["cc"]\n[run]\ncommand = ["true"]\nhuge_pages = "never"\n'
        '[run.environment]\nA = "1"\n[metrics.budget]\nminor-faults = "2 %"\n[metrics.precision]\nminor-faults = 50\n'
    )
    found = {
        change.key: (change.before, change.after)
        for change in list_workload_file_changes(files(tmp_path, base, base, head))
    }
    assert found == {
        "metrics.events": (("cycles",), ()),
        "metrics.judge": (("cycles",), ()),
        "metrics.budget.minor-faults": (("1",), ("2 %",)),
        "metrics.precision.minor-faults": ((), ("50 %",)),
        "matrix": (("n=1", "n=9"), ("the only case",)),
        "run.command": (("./prog '{n}'",), ("true",)),
        "run.huge_pages": (("host",), ("never",)),
        "run.environment.A": ((), ("1",)),
        "build.command": (("",), ("make",)),
    }


def test_the_tables_of_a_server_are_compared(tmp_path: Path) -> None:
    base = GENERAL + SERVER + MATRIX
    head = GENERAL + SERVER.replace("./load {port}", "./idle {port}").replace("[load]", "[load]\nwindows = 1") + MATRIX
    head = head.replace("[server]", '[server]\nready_timeout = 9\nready_command = "test -e up"')
    found = {
        change.key: (change.before, change.after)
        for change in list_workload_file_changes(files(tmp_path, base, base, head))
    }
    assert found == {
        "server.ready_command": (("",), ("test -e up",)),
        "load.command": (("./load '{port}' '{n}'",), ("./idle '{port}' '{n}'",)),
        "load.windows": (("3",), ("1",)),
    }


def test_a_program_that_becomes_a_server_is_told(tmp_path: Path) -> None:
    base, head = GENERAL + RUN + MATRIX, GENERAL + SERVER + MATRIX
    keys = {change.key for change in list_workload_file_changes(files(tmp_path, base, base, head))}
    assert {"run.command", "server.command", "load.command", "load.fill"} <= keys


def test_other_files_of_the_folder_count_where_they_are_used(tmp_path: Path) -> None:
    text = f'{GENERAL}[build]\ndirectory = "workload"\ncommand = "true"\n[run]\ncommand = ["./prog"]\n'
    sides = []
    for number, source in enumerate(("one", "one", "two")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "workload.toml").write_text(text)
        (folder / "prog.c").write_text(source)
        sides.append(load_workload(folder))
    assert [change.key for change in list_workload_file_changes(WorkloadFiles(*sides))] == ["folder"]
    assert list_workload_file_changes(WorkloadFiles(sides[0], sides[0], sides[1])) == ()
