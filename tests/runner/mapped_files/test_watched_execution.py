"""The results of a watched execution: its faults by file, and the files that it opens."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.contract.report import Reading, Sample, Status
from runner.mapped_files.fault_kinds import add_fault_kinds
from runner.perf.attached_recorder import Recording
from runner.perf.faults_by_file import FaultsByFile, FaultsByFileRecorder, parse_faults_by_file
from runner.perf.perf_stat import count_processes
from runner.process_state.process_state import ProcessState


def watch_script(script: str, folder: Path) -> tuple[FaultsByFile, int]:
    recorder = FaultsByFileRecorder()
    burst = count_processes(
        ["sh", "-c", script], directory=folder, state=ProcessState(), timeout=20, recording=Recording((), (recorder,))
    )
    faults = recorder.get_result()
    assert faults
    return faults, int(burst.executions[0].sample.readings["page-faults"].value or 0)


@pytest.mark.perf
@pytest.mark.parametrize(
    "script",
    ["true", "ls | sort | uniq >out", "(ls; ls) & ls; wait", "dd if=/dev/zero of=/dev/null bs=40M count=1 2>&1"],
)
def test_the_total_equals_the_count_of_perf(script: str, tmp_path: Path) -> None:
    faults, counted = watch_script(script, tmp_path)
    assert (faults.total, faults.lost) == (counted, 0)
    assert 0 < faults.in_files < counted
    names = {Path(file.path).name for file in faults.files}
    assert "dash" in names or "bash" in names
    assert not script.startswith("dd") or {"dd"} <= names
    assert not script.startswith("dd") or counted - faults.in_files > 10_000


def test_mappings_without_a_file_are_left_out() -> None:
    rows = [
        b"1 2 9 5 1",
        b"ping",
        b"3 8 1 7 /lib/x y",
        b"1 0 0 0 //anon",
        b"1 0 0 0 [heap]",
        b"1 0 1 9 /dev/zero (deleted)",
    ]
    faults = parse_faults_by_file(b"\0".join([*rows, b""]))
    assert (faults.total, faults.in_kernel, faults.lost) == (9, 5, 2)
    assert [(file.path, file.device, file.inode, file.faults) for file in faults.files] == [("/lib/x y", (8, 1), 7, 3)]
    assert faults.hidden == ("ping",)
    assert parse_faults_by_file(b"0 0 9 0 0\0").in_kernel is None


@pytest.mark.parametrize("output", [b"", b"x", b"1 2 3\0", b"1 0 9 5\0", b"1 0 9 5 0\0one two\0"])
def test_a_malformed_output_is_refused(output: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the message does not matter
        parse_faults_by_file(output)


def sample(faults: int) -> Sample:
    return Sample(readings={"page-faults": Reading(value=faults)})


@pytest.mark.parametrize(
    ("watched", "processes", "expected"),
    [
        (FaultsByFile(7, 2, 0, ()), 1, Status.COUNTED),
        (FaultsByFile(9, 2, 0, ()), 1, Status.NOT_COUNTED),
        (FaultsByFile(7, 2, 1, ()), 1, Status.NOT_COUNTED),
        (FaultsByFile(7, 2, 0, ()), 2, Status.NOT_SUPPORTED),
        (None, 1, Status.NOT_SUPPORTED),
    ],
)
def test_the_kinds_are_added_to_the_sample_with_the_same_number_of_faults(
    watched: FaultsByFile | None, processes: int, expected: Status
) -> None:
    first, second = add_fault_kinds([sample(8), sample(7)], watched, processes)
    holder = second if expected is Status.COUNTED else first
    reading = holder.readings["anonymous-faults"]
    assert reading.status is expected
    assert (reading.value is None) == bool(reading.reason)
    assert len(first.readings) + len(second.readings) == 5
