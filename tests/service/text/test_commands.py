import shlex

from runner.contract import Environment
from service.text import commands
from tests.service.web import extreme_reports

REPORT = extreme_reports.report(extreme_reports.MAIN, 4, extreme_reports.count(18623))


def test_a_run_is_measured_again_at_its_revision_with_its_parameters_and_variables() -> None:
    environment = Environment(knobs={"variable.MALLOC_CONF": "a:1; rm -rf /", "thp": "never"})
    report = REPORT.model_copy(update={"environment": environment})
    assert shlex.split(commands.measure(report)) == [
        *("faultwatch", "measure", "copy_service", "--repo", "./copyd", "--revision", REPORT.revision.commit[:12]),
        *("--set", "operations=64", "--set", "threads=1", "--env", "MALLOC_CONF=a:1; rm -rf /"),
    ]


def test_one_commit_is_profiled_in_the_environments_of_both_runs() -> None:
    before, after = (
        REPORT.model_copy(update={"environment": Environment(knobs=knobs)})
        for knobs in ({}, {"variable.LD_PRELOAD": "x.so"})
    )
    told = commands.profile_each(before, after).splitlines()
    assert told[0].startswith(
        f"faultwatch profile copy_service --repo ./copyd --revision {REPORT.revision.commit[:12]} --set"
    )
    assert told[1] == f"{told[0]} --env LD_PRELOAD=x.so"


def test_a_truth_value_is_written_as_the_matrix_has_it() -> None:
    case = REPORT.case.model_copy(update={"parameters": {"prefault": True}})
    assert "--set prefault=true" in commands.measure(REPORT.model_copy(update={"case": case}))


def test_two_commits_are_measured_in_turns_by_a_command_for_each_workload() -> None:
    told = commands.compare("a" * 40, "b" * 40, "a subject", ["copy", "scan"]).splitlines()
    assert told[0] == "faultwatch compare copy aaaaaaaaaaaa..bbbbbbbbbbbb --repo './a subject'"
    assert told[1].startswith("faultwatch compare scan ")


def test_the_knobs_between_two_runs_are_searched_where_the_newer_one_was_measured() -> None:
    before, after = REPORT, REPORT.model_copy(update={"run_id": extreme_reports.run_id(extreme_reports.MAIN, 9)})
    assert shlex.split(commands.knobs(before, after)) == [
        *("faultwatch", "bisect", "copy_service", "--repo", "./copyd", "--revision", REPORT.revision.commit[:12]),
        *("--knobs", f"{before.run_id}..{after.run_id}", "--set", "operations=64", "--set", "threads=1"),
    ]
