"""What a measurement shows on a terminal: all of a few cases, the essence of many, and what was not measured."""

import pytest

from runner.cli.report_tables import show_reports
from runner.contract.report import Case, Failure, Outcome, Reading, Report, Sample, Stage, Status, Window
from tests.runner.sample_reports import report


def made(allocator: str, *faults: int, each: tuple[int, ...] = ()) -> Report:
    case = Case(workload="copy", definition="0" * 16, parameters={"allocator": allocator, "mib": 4})
    processes = tuple({"minor-faults": Reading(value=one)} for one in each)
    samples = tuple(
        Sample(
            readings={
                "minor-faults": Reading(value=one),
                "page-faults": Reading(value=one),
                "throughput": Reading(value=100.0 * one),
                "expected-faults": Reading(value=5000),
                "unexplained-faults": Reading(value=one - 5000),
            },
            processes=processes,
        )
        for one in faults
    )
    return report().model_copy(update={"case": case, "samples": samples})


def shown(reports: list[Report], capsys: pytest.CaptureFixture[str]) -> str:
    show_reports(reports)
    return capsys.readouterr().out


def test_a_case_shows_theory_right_below_the_count(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown([made("glibc", 5001, 5001)], capsys)
    assert text.splitlines()[0].strip().startswith("copy[allocator=glibc,mib=4], subject at aaaaaaaaaa")
    rows = [line.split()[0] for line in text.rpartition("─")[2].splitlines() if line.strip()]
    assert rows == ["minor-faults", "page-faults", "expected-faults", "unexplained-faults", "throughput"]
    assert "5,001" in text


def test_metrics_without_a_value_say_why_once_for_each_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    watched = Reading(
        status=Status.NOT_COUNTED, reason="the watched execution had 7 faults, and no sample had the same number"
    )
    more = {"file-faults": watched, "anonymous-faults": watched, "cycles": Reading(status=Status.NOT_SUPPORTED)}
    told = "perf: instructions is not supported on this machine"
    more["instructions"] = Reading(status=Status.NOT_SUPPORTED, reason=told)
    (sample,) = made("glibc", 5001).samples
    readings = {"readings": {**sample.readings, **more}}
    lines = shown([made("glibc").model_copy(update={"samples": (sample.model_copy(update=readings),)})], capsys)
    assert lines.splitlines()[-2:] == [
        f"file-faults, anonymous-faults: not counted: {watched.reason}",
        "cycles, instructions: not supported: this host has no such counter",
    ]


def test_two_cases_fit_on_a_narrow_terminal_with_their_parameters_unbroken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = shown([made("jemalloc", 5), made("mimalloc", 6)], capsys)
    assert "allocator=jemalloc   allocator=mimalloc" in text
    assert "unexplained-faults" in text


def test_many_cases_are_one_table_with_a_row_each_and_no_digit_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    many = [made(name, 1_234_567_890 + number) for number, name in enumerate(("glibc", "jemalloc", "mimalloc"))]
    text = shown(many, capsys)
    assert text.startswith("copy[mib=4], subject at")
    assert [line.split()[:2] for line in text.splitlines() if "1,234,567," in line] == [
        ["glibc", "1,234,567,890"],
        ["jemalloc", "1,234,567,891"],
        ["mimalloc", "1,234,567,892"],
    ]
    assert "…" not in text


def test_a_count_that_each_process_has_shows_as_that(capsys: pytest.CaptureFixture[str]) -> None:
    assert "2 × 2,500" in shown([made("glibc", 5000, each=(2500, 2500))], capsys)
    assert "×" not in shown([made("glibc", 5001, each=(2500, 2501))], capsys)


def test_a_case_that_was_skipped_shows_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    skipped = made("mimalloc").model_copy(
        update={
            "outcome": Outcome.SKIPPED,
            "failure": Failure(stage=Stage.RUN, message="this host does not have libmimalloc.so.2"),
        }
    )
    text = shown([made("glibc", 5), skipped], capsys).replace("\n", " ")
    assert "copy[allocator=mimalloc,mib=4]: skipped: this host does not have" in text


def test_what_a_measurement_leaves_to_be_said_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    remark = "an execution leaves dump.rdb, and the next execution would read this"
    reports = [made(allocator, 5001).model_copy(update={"remarks": (remark,)}) for allocator in ("glibc", "jemalloc")]
    assert " ".join(shown(reports, capsys).split()).count(remark) == 1


def test_starts_that_warm_up_for_different_times_are_aligned_by_their_measured_windows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def start(*faults: int, warm_up: int) -> Sample:
        windows = tuple(
            Window(is_warm_up=number < warm_up, readings={"minor-faults": Reading(value=count)}, resident=0)
            for number, count in enumerate(faults)
        )
        return Sample(readings={"minor-faults": Reading(value=7)}, windows=windows)

    server = report().model_copy(update={"samples": (start(90, 7, 5, warm_up=1), start(95, 91, 7, 6, warm_up=2))})
    lines = [line.split() for line in shown([server], capsys).splitlines()]
    table = lines[lines.index(["window", "minor-faults"]) + 2 :]
    assert table[:4] == [["1,", "warm-up", "95"], ["2,", "warm-up", "90", "–", "91"], ["3", "7"], ["4", "5", "–", "6"]]


def test_the_log_of_a_failed_build_is_printed_once_for_all_cases(capsys: pytest.CaptureFixture[str]) -> None:
    failure = Failure(stage=Stage.BUILD, message="the build failed", log="cc: error: no such file\n")
    failed = [
        made(allocator).model_copy(update={"outcome": Outcome.FAILED, "failure": failure})
        for allocator in ("glibc", "jemalloc")
    ]
    text = shown(failed, capsys)
    assert text.count("the build failed") == 2
    assert text.count("cc: error") == 1
