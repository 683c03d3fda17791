import os
import struct
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.contract.pyperf_export import build_suite
from runner.contract.report import Build, Environment, Host, Outcome, Report, Revision, Stage
from runner.errors import FaultwatchError
from runner.mapped_files.prepared_files import describe_page_cache
from runner.measuring.measurement import measure_case, report_failed_build
from runner.measuring.trial import Bench, Trial
from runner.process_state.process_state import ProcessState
from runner.subject.build import BuildFailure
from runner.workload import Workload, list_cases

pytestmark = pytest.mark.perf

REVISION = Revision(commit="a" * 40, committed_at=datetime(2024, 1, 1, tzinfo=UTC))


def bench() -> Bench:
    return Bench(Host(name="host"), lambda state: Environment(settings=state.read_settings()))


def report_of(
    script: str, tmp_path: Path, output: str = "json", output_file: str | None = None, **general: object
) -> Report:
    workload = Workload.model_validate(
        {
            "workload": {"name": "script", "timeout": 10, "samples": 2, **general},
            "run": {"command": ["sh", "-c", script.replace("{", "{{").replace("}", "}}")], "output": output}
            | ({"output_file": output_file} if output_file else {}),
        }
    )
    return measure_case(
        workload, list_cases(workload)[0], tmp_path, bench=bench(), subject="subject", revision=REVISION
    )


def test_work_done_becomes_throughput_and_faults_per_operation(tmp_path: Path) -> None:
    report = report_of("""echo noise; echo '{"operations": 50, "seconds": 0.5}'""", tmp_path)
    assert report.outcome is Outcome.MEASURED
    assert set(report.list_values("throughput")) == {100}
    faults = report.list_values("page-faults")
    assert report.list_values("faults-per-operation") == tuple(value / 50 for value in faults)


def test_the_first_execution_is_not_a_sample(tmp_path: Path) -> None:
    report = report_of("echo x >>runs; wc -l <runs >&2", tmp_path, output="none")
    # Two warm-ups where the first one showed files that lay in memory otherwise than they should.
    assert len((tmp_path / "runs").read_text().split()) - len(report.samples) in {1, 2}


@pytest.mark.parametrize(
    "script",
    [
        "true",
        "echo rubbish",
        "echo '[1, 2]'",
        """echo '{"operations": 5}'""",
        """echo '{"operations": 0, "seconds": 1}'""",
        """echo '{"operations": true, "seconds": 1}'""",
        """echo '{"operations": 1e999, "seconds": 1}'""",
        r"printf '\377\376\000'",
        """echo '{"operations": 5, "seconds": 1}'; echo afterword""",
    ],
)
def test_rubbish_instead_of_a_result_is_a_failure(script: str, tmp_path: Path) -> None:
    report = report_of(script, tmp_path)
    assert report.failure
    assert report.failure.stage is Stage.RUN
    assert 'a JSON object with positive "operations" and "seconds"' in report.failure.message
    assert not report.samples


@pytest.mark.parametrize("numbers", ['"operations": 1e30, "seconds": 1', '"operations": 5, "seconds": 1e-300'])
def test_numbers_that_no_metric_can_hold_are_a_failure(numbers: str, tmp_path: Path) -> None:
    report = report_of(f"echo '{{{numbers}}}'", tmp_path)
    assert report.failure
    assert report.failure.stage is Stage.RUN


@pytest.mark.parametrize("number", [36, 63])
def test_a_program_that_a_real_time_signal_ends_is_a_failure(number: int, tmp_path: Path) -> None:
    report = report_of(f"kill -{number} $$", tmp_path)
    assert report.failure
    assert f"was terminated by SIGRTMIN+{number - 34}" in report.failure.message


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("data/input", "data/input does not exist in this revision"),
        ("loop", "/loop: Too many levels of symbolic links"),
        ("loop/input", "/loop/input: Too many levels of symbolic links"),
        ("file/input", "/file/input: Not a directory"),
    ],
)
def test_a_cold_file_that_a_revision_lacks_is_a_failure(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    workload = Workload.model_validate(
        {
            "workload": {"name": "script"},
            "run": {"command": ["true"], "page_cache": "cold", "files": [name]},
        }
    )
    case = list_cases(workload)[0]
    report = measure_case(workload, case, tmp_path, bench=bench(), subject="subject", revision=REVISION)
    assert report.failure
    assert report.failure.message.startswith("[run] files: ")
    assert said in report.failure.message


def test_a_failure_says_what_happened(tmp_path: Path) -> None:
    report = report_of("echo out of cheese >&2; exit 7", tmp_path)
    assert report.failure
    assert "ended with exit code 7" in report.failure.message
    assert "out of cheese" in report.failure.log


def test_a_report_is_a_pyperf_suite_with_one_benchmark_a_metric(tmp_path: Path) -> None:
    report = report_of("""echo '{"operations": 50, "seconds": 0.5}'""", tmp_path)
    suite = build_suite(report)
    assert suite
    benchmark = suite.get_benchmark("minor-faults")
    assert benchmark.get_values() == report.list_values("minor-faults")
    assert "major-faults" not in suite.get_benchmark_names(), "zero is not a value for pyperf"


def test_the_state_of_the_process_is_part_of_the_environment(tmp_path: Path) -> None:
    report = report_of("true", tmp_path, output="none")
    assert (
        report.environment.settings.items()
        >= ProcessState(page_cache=describe_page_cache(None)).read_settings().items()
    )
    assert "tool.python3" in report.environment.settings, "and what the build and the program find on this host"


def test_the_tools_are_those_on_the_path_of_the_workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [tmp_path / name for name in ("build", "run", "caller")]
    for folder in folders:
        folder.mkdir()
        (folder / "odd-tool").write_text("#!/bin/sh\n")
        (folder / "odd-tool").chmod(0o755)
    built, ran, caller = folders
    monkeypatch.setenv("PATH", f"{caller}:{os.environ['PATH']}")
    workload = Workload.model_validate(
        {
            "workload": {"name": "w"},
            "build": {"command": "odd-tool", "environment": {"PATH": f"{built}:/usr/bin:/bin"}},
            "run": {"command": "odd-tool", "environment": {"PATH": f"{ran}:/usr/bin:/bin"}},
        }
    )
    settings = bench().capture_environment(workload, list_cases(workload)[0]).settings
    assert settings["tool.odd-tool"].startswith(f"{built}/odd-tool, ")
    assert settings["program"].startswith(f"{ran}/odd-tool, ")


def test_a_result_file_is_read_afresh_after_each_execution(tmp_path: Path) -> None:
    script = """test ! -e result && echo '{"operations": 50, "seconds": 0.5}' >result"""
    report = report_of(script, tmp_path, output_file="result")
    assert report.failure is None
    # A third execution follows if the count has varied.
    assert len(report.list_values("throughput")) >= 2
    assert set(report.list_values("throughput")) == {100}


@pytest.mark.parametrize("name", ["../precious", "link/precious"])
def test_a_result_file_outside_of_the_build_is_neither_read_nor_removed(name: str, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text('{"operations": 1, "seconds": 1}')
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(tmp_path)
    report = report_of("true", tree, output_file=name)
    assert report.failure
    assert "is outside the build's directory" in report.failure.message
    assert (tmp_path / "precious").exists()


def test_a_result_file_that_cannot_be_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for name, said in (("file/result", "cannot be read: Not a directory"), ("loop", "a link that points to itself")):
        report = report_of("true", tmp_path, output_file=name)
        assert report.failure
        assert f"the result file {name}" in report.failure.message
        assert said in report.failure.message


@pytest.mark.parametrize(
    "error",
    [
        *(ZeroDivisionError("zero"), KeyError("key"), TypeError("type"), ValueError("value"), AttributeError("none")),
        *(RuntimeError("deep"), AssertionError("false"), struct.error("short"), IsADirectoryError(21, "a folder")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_that_nobody_foresaw_is_a_failure_of_one_revision(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meet(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Trial, "execute", meet)
    report = report_of("true", tmp_path, output="none")
    assert report.outcome is Outcome.FAILED
    assert report.failure
    shown = f"this revision reveals a bug in Faultwatch: {type(error).__name__}: {error}"
    assert (report.failure.stage, report.failure.message) == (Stage.MEASURE, shown)
    assert report.failure.temporary, "another version may not have it"
    assert "in meet" in report.failure.log


@pytest.mark.parametrize("error", [FaultwatchError("perf is forbidden"), OSError(28, "No space left on device")])
def test_an_error_of_the_host_is_no_failure_of_a_revision(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meet(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Trial, "execute", meet)
    with pytest.raises(type(error)):
        report_of("true", tmp_path, output="none")


def test_an_interruption_that_became_another_error_is_no_failure_of_a_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def make_class(*_: object, **__: object) -> None:
        type("Model", (), {"field": Interrupted()})

    monkeypatch.setattr(Trial, "execute", make_class)
    with pytest.raises((RuntimeError, KeyboardInterrupt)):
        report_of("true", tmp_path, output="none")


def test_what_theory_says_stands_beside_the_count(tmp_path: Path) -> None:
    report = report_of("""echo '{"operations": 1, "seconds": 1, "bytes": 4096, "pages": 8, "faults": 9}'""", tmp_path)
    faults = report.list_values("page-faults")
    assert set(report.list_values("expected-faults")) == {9}
    assert report.list_values("unexplained-faults") == tuple(value - 9 for value in faults)
    assert report.list_values("refault-ratio") == tuple(value / 8 for value in faults)
    assert report.list_values("bytes-per-fault") == tuple(4096 / value for value in faults)


def test_a_huge_page_policy_that_cannot_be_had_skips_the_case_and_says_what_sets_it(tmp_path: Path) -> None:
    workload = Workload.model_validate(
        {"workload": {"name": "w"}, "run": {"command": "true", "huge_pages": "{thp}"}, "matrix": {"thp": ["always"]}}
    )
    forbidding = Bench(Host(name="host"), lambda state: Environment(settings={"process.huge_pages": "madvise"}))
    report = measure_case(
        workload, list_cases(workload)[0], tmp_path, bench=forbidding, subject="subject", revision=REVISION
    )
    assert report.outcome is Outcome.SKIPPED
    assert report.failure
    refused = "the huge-page policy of this host is madvise, not always: measure as root"
    assert report.failure.message.startswith(refused)
    assert "| sudo tee /sys/kernel/mm/transparent_hugepage/" in report.failure.message


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.SKIPPED])
def test_a_compiler_that_is_missing_skips_the_case(outcome: Outcome) -> None:
    workload = Workload.model_validate({"workload": {"name": "w"}, "run": {"command": "true"}})
    lacks = "this host lacks a program that the build needs (cc)" if outcome is Outcome.SKIPPED else ""
    failure = BuildFailure(lacks or "it does not build", Build(), lacks_programs=bool(lacks))
    report = report_failed_build(
        *(workload, list_cases(workload)[0], failure),
        bench=bench(),
        subject="subject",
        revision=REVISION,
    )
    assert report.outcome is outcome
    assert report.failure
    assert ("this host lacks a program" in report.failure.message) == (outcome is Outcome.SKIPPED)


def test_a_session_during_which_the_environment_changed_is_refused_with_the_change(tmp_path: Path) -> None:
    workload = Workload.model_validate({"workload": {"name": "script"}, "run": {"command": ["true"]}})
    values = iter(["madvise", "always", "always"])
    changing = Bench(
        Host(name="host"),
        lambda state: Environment(settings={**state.read_settings(), "thp.enabled": next(values, "always")}),
    )
    for outcome in (Outcome.SKIPPED, Outcome.MEASURED):
        report = measure_case(
            workload, list_cases(workload)[0], tmp_path, bench=changing, subject="subject", revision=REVISION
        )
        assert report.outcome is outcome
        if report.failure:
            assert "thp.enabled: madvise → always" in report.failure.message
            assert report.failure.temporary
