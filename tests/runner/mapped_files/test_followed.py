"""What is seen of an execution that is followed: where its faults are, which files it opens."""

from __future__ import annotations

import py_compile
from pathlib import Path

import pytest

from runner.contract.report import Reading, Sample, Status
from runner.mapped_files.digests import digest_of_built, source_of, together
from runner.mapped_files.fault_kinds import with_fault_kinds
from runner.mapped_files.tree_watch import TreeWatch
from runner.perf.fault_places import FaultPlaces, FaultPlacesRecorder, parse_fault_places
from runner.perf.recording import Recording
from runner.perf.session import count_together
from runner.state.process import ProcessState


def followed(script: str, folder: Path) -> tuple[FaultPlaces, int]:
    recorder = FaultPlacesRecorder()
    burst = count_together(
        ["sh", "-c", script], directory=folder, state=ProcessState(), timeout=20, recording=Recording((), recorder)
    )
    found = recorder.found()
    assert found
    return found, int(burst.executions[0].sample.readings["page-faults"].value or 0)


@pytest.mark.perf
@pytest.mark.parametrize(
    "script",
    ["true", "ls | sort | uniq >out", "(ls; ls) & ls; wait", "dd if=/dev/zero of=/dev/null bs=40M count=1 2>&1"],
)
def test_each_fault_that_perf_counts_has_a_place(script: str, tmp_path: Path) -> None:
    found, counted = followed(script, tmp_path)
    assert (found.total, found.lost) == (counted, 0)
    assert 0 < found.in_files < counted
    names = {Path(file.path).name for file in found.files}
    assert "dash" in names or "bash" in names
    assert not script.startswith("dd") or {"dd"} <= names
    assert not script.startswith("dd") or counted - found.in_files > 10_000


def test_what_is_no_file_is_none_of_the_files() -> None:
    rows = [
        b"1 2 9 5",
        b"3 1 8 1 7 /lib/x y",
        b"1 1 0 0 0 //anon",
        b"1 1 0 0 0 [heap]",
        b"1 1 0 1 9 /dev/zero (deleted)",
    ]
    found = parse_fault_places(b"\0".join([*rows, b""]))
    assert (found.total, found.in_kernel, found.lost) == (9, 5, 2)
    assert [(file.path, file.inode, file.pages, file.faults) for file in found.files] == [("/lib/x y", 7, 1, 3)]
    assert parse_fault_places(b"0 0 9 0\0").in_kernel is None


@pytest.mark.parametrize("output", [b"", b"x", b"1 2 3\0", b"1 0 9 5\0one two\0"])
def test_half_an_output_is_none(output: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        parse_fault_places(output)


def sample(faults: int) -> Sample:
    return Sample(readings={"page-faults": Reading(value=faults)})


@pytest.mark.parametrize(
    ("places", "processes", "expected"),
    [
        (FaultPlaces(7, 2, 0, ()), 1, Status.COUNTED),
        (FaultPlaces(9, 2, 0, ()), 1, Status.NOT_COUNTED),
        (FaultPlaces(7, 2, 1, ()), 1, Status.NOT_COUNTED),
        (FaultPlaces(7, 2, 0, ()), 2, Status.NOT_SUPPORTED),
        (None, 1, Status.NOT_SUPPORTED),
    ],
)
def test_kinds_stand_in_a_sample_that_took_as_many(
    places: FaultPlaces | None, processes: int, expected: Status
) -> None:
    first, second = with_fault_kinds([sample(8), sample(7)], places, processes)
    holder = second if expected is Status.COUNTED else first
    reading = holder.readings["anonymous-faults"]
    assert reading.status is expected
    assert (reading.value is None) == bool(reading.reason)
    assert len(first.readings) + len(second.readings) == 5


def test_files_that_are_opened_written_and_made_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("read", "deep/read", "written", "untouched"):
        (tmp_path / name).write_text("text")
    with TreeWatch(tmp_path) as watch:
        for name in ("read", "deep/read"):
            (tmp_path / name).read_text()
        (tmp_path / "written").write_text("other")
        (tmp_path / "made").write_text("new")
        (tmp_path / "made").read_text()
        found = watch.touched()
    assert found.complete
    assert found.made == {tmp_path / "made"}
    assert found.written == {tmp_path / "written"}
    assert found.opened - found.written == {tmp_path / "read", tmp_path / "deep/read"}


def test_a_compiled_module_stands_for_its_source(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("x = 1\n")
    compiled = Path(py_compile.compile(str(source)))
    assert source_of(compiled) == source
    assert source_of(source) == source
    source.unlink()
    assert source_of(compiled) == compiled


def test_what_a_link_leads_to_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("file")
    assert digest_of_built(tmp_path / "file", tmp_path)
    assert digest_of_built(tmp_path / "link", tmp_path) == ""
    assert together([("a", "1"), ("b", "")]) == ""
    assert together([("a", "1"), ("b", "2")]) == together([("b", "2"), ("a", "1")]) != ""
