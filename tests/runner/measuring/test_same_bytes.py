"""When a build has the bytes of one that was measured, and when its counts are certain enough to be taken over."""

from pathlib import Path
from typing import Any

import pytest

from runner.contract.files import CacheState, MappedFile, ProgramFiles, UncertainFaults
from runner.contract.report import Case, Host, Outcome, Reading, Report, Sample, Status
from runner.mapped_files.digests import combine_digests, digest_built_file
from runner.measuring.same_bytes import CHECKED, SameBytes, is_checked
from runner.measuring.trial import Bench
from runner.workload import Workload
from runner.workload.lookup import find_workload
from tests.service import reports

FILES = {"program": b"the program", "table": b"what it reads", "README": b"what it does not read"}
LIBRARY = MappedFile(path="/lib/libm.so.6", own=False, digest="1" * 16, cache=CacheState.PREPARED)


def make_workload(folder: Path, more: str = "") -> Workload:
    file = folder / "workload.toml"
    file.write_text(f'[workload]\nname = "w"\n[run]\ncommand = ["./program"]\n{more}')
    return find_workload(str(file))


def make_tree(folder: Path, **changes: bytes) -> Path:
    folder.mkdir()
    for name, content in {**FILES, **changes}.items():
        (folder / name).write_bytes(content)
    return folder


def measured(tree: Path, case: Case, **changes: Any) -> Report:
    own = combine_digests((name, digest_built_file(tree / name, tree)) for name in ("program", "table"))
    uncertain = changes.pop("uncertain_faults", UncertainFaults())
    files = ProgramFiles(own_bytes=own, system_bytes=combine_digests([]), uncertain_faults=uncertain)
    return reports.report(1, 100, 100, case=case, files=files).model_copy(update=changes)


def is_taken_over(tmp_path: Path, report_changes: dict[str, Any], more: str = "", **tree_changes: bytes) -> bool:
    workload = make_workload(tmp_path, more)
    bench = Bench(Host(name="box"), lambda _: reports.GLIBC)
    case = Case(workload="w", definition=workload.definition)
    bench.known_files.own[case.name] = ("program", "table")
    same_bytes = SameBytes(workload, bench)
    before, after = make_tree(tmp_path / "before"), make_tree(tmp_path / "after", **tree_changes)
    same_bytes.remember(measured(before, case, **report_changes), same_bytes.names_of(before))
    return same_bytes.source_of(case, after, same_bytes.names_of(after)) is not None


def with_samples(*counts: int, status: Status = Status.COUNTED) -> dict[str, Any]:
    return {
        "samples": tuple(Sample(readings={"minor-faults": Reading(value=count, status=status)}) for count in counts)
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"README": b"another text"}, True),
        ({"program": b"another program"}, False),
        ({"table": b"another table"}, False),
        ({"NEWS": b"a program can look for a file of any name"}, False),
    ],
)
def test_the_files_that_it_used_and_all_names_must_be_the_same(
    changes: dict[str, bytes], expected: bool, tmp_path: Path
) -> None:
    assert is_taken_over(tmp_path, {}, **changes) is expected


@pytest.mark.parametrize(
    "changes",
    [
        with_samples(100, 101),
        with_samples(100, 100, status=Status.MULTIPLEXED),
        {"samples": (*with_samples(100)["samples"], Sample(readings={}))},
        {"files": None},
        {"files": ProgramFiles(system_bytes="1" * 16)},
        {"files": ProgramFiles(mapped=(LIBRARY,), own_bytes="0" * 16, system_bytes="1" * 16)},
        {"uncertain_faults": UncertainFaults(most=1)},
        {"aside": True},
        {"outcome": Outcome.FAILED, "samples": ()},
    ],
)
def test_only_certain_counts_are_taken_over(changes: dict[str, Any], tmp_path: Path) -> None:
    assert not is_taken_over(tmp_path, changes)


@pytest.mark.parametrize(
    ("counts", "blamed", "said"),
    [
        ((100, 100), False, ""),
        ((100, 101, 100), False, ""),
        ((101, 101), True, ""),
        ((101, 103, 103), False, "minor-faults 100 there, 101 – 103 here"),
        ((99, 101, 101), False, "minor-faults 100 there, 99 – 101 here"),
        ((110, 112, 112), True, ""),
    ],
)
def test_a_host_is_blamed_for_counts_that_repeat_or_are_far_off_and_not_for_ones_that_vary(
    counts: tuple[int, ...], blamed: bool, said: str, tmp_path: Path
) -> None:
    workload = make_workload(tmp_path)
    case, tree = Case(workload="w", definition=workload.definition), make_tree(tmp_path / "tree")
    same_bytes = SameBytes(workload, Bench(Host(name="box"), lambda _: reports.GLIBC))
    source, again = measured(tree, case, **with_samples(100, 100)), measured(tree, case, **with_samples(*counts))
    checked = same_bytes.checked(again, source)
    assert bool(checked.quarantine) is blamed
    assert said in " ".join(checked.remarks)
    assert bool(checked.remarks) is bool(said)


@pytest.mark.parametrize("more", ["processes = 2\n", '[metrics]\njudge = ["elapsed"]\n'])
def test_what_time_decides_is_measured_always(more: str, tmp_path: Path) -> None:
    assert not is_taken_over(tmp_path, {}, more)


def test_one_in_twenty_is_checked_and_always_the_same_ones() -> None:
    case = Case(workload="w", definition="0" * 16)
    checked = [number for number in range(4000) if is_checked(f"{number:040x}", case)]
    assert 0.7 < len(checked) * CHECKED / 4000 < 1.3
    assert checked == [number for number in range(4000) if is_checked(f"{number:040x}", case)]
