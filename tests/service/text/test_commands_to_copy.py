import shlex
import subprocess
from importlib import import_module
from pathlib import Path

import click
import pytest

from runner.cli.arguments import is_range
from runner.contract import Environment
from runner.contract.diagnosis import Remedy
from runner.contract.job import BisectQuestion
from runner.settings import Settings
from runner.subject.repository_lookup import find_workload_and_repository
from runner.workload.case_choice import choose_single_case
from service.text import commands_to_copy
from service.web.rendering.profile_view import build_try_command
from tests.service.web import extreme_reports

REPORT = extreme_reports.report(extreme_reports.MAIN, 4, extreme_reports.count(18623))


def test_a_run_is_measured_again_at_its_revision_with_its_parameters_and_variables() -> None:
    environment = Environment(settings={"variable.MALLOC_CONF": "a:1; rm -rf /", "thp": "never"})
    report = REPORT.model_copy(update={"environment": environment})
    assert shlex.split(commands_to_copy.build_measure_command(report)) == [
        *("faultwatch", "measure", "copy_service", "--repo", ".", "--revision", REPORT.revision.commit[:12]),
        *("--set", "operations=64", "--set", "threads=1", "--env", "MALLOC_CONF=a:1; rm -rf /"),
    ]


def test_one_commit_is_profiled_in_the_environments_of_both_runs() -> None:
    before, after = (
        REPORT.model_copy(update={"environment": Environment(settings=settings)})
        for settings in ({}, {"variable.LD_PRELOAD": "x.so"})
    )
    told = commands_to_copy.build_profile_commands(before, after).splitlines()
    assert told[0].startswith(
        f"faultwatch profile copy_service --repo . --revision {REPORT.revision.commit[:12]} --set"
    )
    assert told[1] == f"{told[0]} --env LD_PRELOAD=x.so"


def test_a_secret_is_not_replaced_by_the_mark_that_hides_it() -> None:
    settings = {"variable.TOKEN": "(hidden)", "variable.URL": "http://(hidden)@box", "variable.TZ": "UTC"}
    command = commands_to_copy.build_measure_command(
        REPORT.model_copy(update={"environment": Environment(settings=settings)})
    )
    assert command.endswith("--env TZ=UTC")
    assert "hidden" not in command


def test_a_truth_value_is_written_as_the_matrix_has_it() -> None:
    case = REPORT.case.model_copy(update={"parameters": {"prefault": True}})
    assert "--set prefault=true" in commands_to_copy.build_measure_command(REPORT.model_copy(update={"case": case}))


def test_two_commits_are_measured_in_turns_by_a_command_for_each_workload() -> None:
    told = commands_to_copy.build_compare_commands("a" * 40, "b" * 40, ["copy", "scan"]).splitlines()
    assert told[0] == "faultwatch compare copy aaaaaaaaaaaa..bbbbbbbbbbbb --repo ."
    assert told[1].startswith("faultwatch compare scan ")


@pytest.mark.parametrize(("least", "written"), [(1234567.8, "1234567.8"), (12345678.0, "12345678"), (0.1, "0.1")])
def test_a_bisect_is_repeated_with_the_same_smallest_difference_to_the_last_digit(least: float, written: str) -> None:
    question = BisectQuestion(
        subject="copy",
        case="copy_service",
        host="rack1",
        metric="minor-faults",
        good="a",
        bad="b",
        min_difference=least,
    )
    words = shlex.split(commands_to_copy.build_bisect_command(question, None))
    assert words[words.index("--min-difference") + 1] == written


def test_the_settings_between_two_runs_are_searched_where_the_newer_one_was_measured() -> None:
    before, after = REPORT, REPORT.model_copy(update={"run_id": extreme_reports.run_id(extreme_reports.MAIN, 9)})
    assert shlex.split(commands_to_copy.build_settings_command(before, after)) == [
        *("faultwatch", "bisect", "copy_service", "--repo", ".", "--revision", REPORT.revision.commit[:12]),
        *("--settings", f"{before.run_id}..{after.run_id}", "--set", "operations=64", "--set", "threads=1"),
    ]


WORKLOAD = """
[workload]
name = "parse_lines"
[run]
command = ["./parse"]
[matrix]
threads = [1, 2]
pinned = [true, false]
cpus = ["0,1", "2"]
"""
PARAMETERS = {"threads": 2, "pinned": True, "cpus": "0,1"}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with a workload file in a folder, in which somebody pastes commands."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "workload.toml").write_text(WORKLOAD, encoding="utf-8")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@localhost")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Parse lines")):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pasted() -> list[str]:
    """Return every kind of command that a page shows of a run of that workload."""
    case = REPORT.case.model_copy(update={"workload": "parse_lines", "parameters": PARAMETERS})
    report = REPORT.model_copy(update={"case": case, "subject": "parser"})
    question = BisectQuestion(subject="parser", case=case.name, good="a" * 40, bad="b" * 40, variables={"A": "x y"})
    remedy = Remedy(text="Another allocator", settings={"allocator": "jemalloc"})
    return [
        commands_to_copy.build_measure_command(report),
        *commands_to_copy.build_profile_commands(report, report).splitlines(),
        *commands_to_copy.build_compare_commands("a" * 40, "b" * 40, ["parse_lines"]).splitlines(),
        commands_to_copy.build_compare_case_command(report, report),
        commands_to_copy.build_bisect_command(question, None),
        commands_to_copy.build_settings_command(report, report),
        commands_to_copy.build_profile_command(case, "a" * 40, "b" * 40),
        build_try_command("a" * 40, case, remedy),
    ]


@pytest.mark.parametrize("number", range(len(pasted())))
def test_a_command_works_as_pasted_in_a_clone(number: int, clone: Path) -> None:
    name, *words = shlex.split(pasted()[number])[1:]
    command = import_module(f"runner.cli.{'try_' if name == 'try' else name}").command
    assert isinstance(command, click.Command)
    with command.make_context(name, words) as context:  # refuses options that it does not have
        given = context.params
    named = given.get("workload_name")
    assert named
    assert not is_range(named)
    workload, repository = find_workload_and_repository(Settings(clone / "home", None, "box"), named, given["repo"])
    assert (workload.path, repository.path) == (clone / "bench" / "workload.toml", clone)
    if given["parameter_choices"] or given["case_names"]:
        assert choose_single_case(workload, given["parameter_choices"], given["case_names"]).parameters == PARAMETERS
