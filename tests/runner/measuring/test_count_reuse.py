"""When a build has the bytes of one that was measured, and when its counts are certain enough to be reused."""

import os
from pathlib import Path
from typing import Any

import pytest

from runner.contract.mapped_files import CacheState, MappedFile, ProgramFiles
from runner.contract.report import Case, Host, Outcome, Reading, Report, Sample, Status
from runner.dependencies.digests import combine_digests
from runner.dependencies.lookup_answers import AnsweredLookups, ProgramTree, answer_lookups
from runner.dependencies.recorded_lookups import Lookups
from runner.measuring.count_reuse import CountReuse
from runner.measuring.trial import Bench
from runner.subject.checked_commits import RUNS_PER_CHECK, is_measured_anyway
from runner.workload import Workload
from runner.workload.workload_lookup import find_workload
from tests.service import reports

FILES = {"program": b"the program", "table": b"what it reads", "README": b"what it does not read"}
UNPREPARED = MappedFile(path="data", in_build=True, digest="1" * 16, cache=CacheState.UNPREPARED, reason="it is large")


def make_workload(folder: Path, more: str = "") -> Workload:
    file = folder / "workload.toml"
    file.write_text(f'[workload]\nname = "w"\n[run]\ncommand = ["./program"]\n{more}')
    return find_workload(str(file))


def make_tree(folder: Path, **changes: bytes) -> Path:
    folder.mkdir()
    for name, content in {**FILES, **changes}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
        os.utime(folder / name, (0, 1000))
    return folder


def answered_in(tree: Path) -> AnsweredLookups:
    questions = (("c", "program"), ("c", "table"), ("s", "table"), ("s", "plugins/slow"))
    lookups = Lookups(frozenset((kind, f"{tree}/{name}") for kind, name in questions))
    place = ProgramTree(tree)
    return AnsweredLookups(place, lookups, answer_lookups(place, lookups))


def measured(tree: Path, case: Case, **changes: Any) -> Report:
    mapped = changes.pop("mapped", ())
    files = ProgramFiles(mapped=mapped, own_bytes=answered_in(tree).answers.digest, system_bytes=combine_digests([]))
    return reports.report(1, 100, 100, case=case, files=files).model_copy(update=changes)


def is_reused(tmp_path: Path, report_changes: dict[str, Any], more: str = "", **tree_changes: bytes) -> bool:
    workload = make_workload(tmp_path, more)
    bench = Bench(Host(name="box"), lambda _: reports.GLIBC)
    case = Case(workload="w", definition=workload.definition)
    count_reuse = CountReuse(workload, bench)
    before, after = make_tree(tmp_path / "tree-1"), make_tree(tmp_path / "tree-2", **tree_changes)
    bench.known_files.answered[case.name] = answered_in(before)
    count_reuse.remember_source(measured(before, case, **report_changes))
    return count_reuse.find_source(case, after) is not None


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
        ({"NEWS": b"nobody asked for it"}, True),
        ({"plugins/slow": b"it was looked for and missing"}, False),
    ],
)
def test_all_that_the_program_asked_must_be_answered_the_same(
    changes: dict[str, bytes], expected: bool, tmp_path: Path
) -> None:
    assert is_reused(tmp_path, {}, **changes) is expected


@pytest.mark.parametrize(
    "changes",
    [
        with_samples(100, 101),
        with_samples(100, 100, status=Status.MULTIPLEXED),
        {"samples": (*with_samples(100)["samples"], Sample(readings={}))},
        {"files": None},
        {"files": ProgramFiles(system_bytes="1" * 16)},
        {"mapped": (UNPREPARED,)},
        {"experimental": True},
        {"outcome": Outcome.FAILED, "samples": ()},
    ],
)
def test_only_certain_counts_are_taken_over(changes: dict[str, Any], tmp_path: Path) -> None:
    assert not is_reused(tmp_path, changes)


@pytest.mark.parametrize(
    ("counts", "contradicts", "said"),
    [
        ((100, 100), False, ""),
        ((100, 101, 100), False, ""),
        ((101, 101), True, ""),
        ((101, 103, 103), False, "minor-faults 100 at that commit, 101 – 103 now"),
        ((99, 101, 101), False, "minor-faults 100 at that commit, 99 – 101 now"),
        ((110, 112, 112), True, ""),
    ],
)
def test_counts_that_repeat_or_are_far_off_contradict_a_run_and_ones_that_vary_do_not(
    counts: tuple[int, ...], contradicts: bool, said: str, tmp_path: Path
) -> None:
    workload = make_workload(tmp_path)
    case, tree = Case(workload="w", definition=workload.definition), make_tree(tmp_path / "tree")
    count_reuse = CountReuse(workload, Bench(Host(name="box"), lambda _: reports.GLIBC))
    source, again = measured(tree, case, **with_samples(100, 100)), measured(tree, case, **with_samples(*counts))
    checked = count_reuse.attach_check(again, source)
    assert bool(checked.same_bytes_check and not checked.same_bytes_check.holds) is contradicts
    assert not checked.quarantine, "what was measured is judged"
    assert said in " ".join(checked.remarks)
    assert bool(checked.remarks) is bool(said)


@pytest.mark.parametrize("more", ["processes = 2\n", '[metrics]\njudge = ["elapsed"]\n'])
def test_what_time_decides_is_measured_always(more: str, tmp_path: Path) -> None:
    assert not is_reused(tmp_path, {}, more)


def test_one_in_twenty_is_checked_and_always_the_same_ones() -> None:
    case = Case(workload="w", definition="0" * 16)
    checked = [number for number in range(4000) if is_measured_anyway(f"{number:040x}", case)]
    assert 0.7 < len(checked) * RUNS_PER_CHECK / 4000 < 1.3
    assert checked == [number for number in range(4000) if is_measured_anyway(f"{number:040x}", case)]


def test_runs_agree_only_with_runs_of_the_same_environment(tmp_path: Path) -> None:
    workload = make_workload(tmp_path)
    case, tree = Case(workload="w", definition=workload.definition), make_tree(tmp_path / "tree")
    bench = Bench(Host(name="box"), lambda _: reports.GLIBC)
    bench.known_files.answered[case.name] = answered_in(tree)
    count_reuse = CountReuse(workload, bench)
    agreeing = []
    for environment in (reports.GLIBC, reports.GLIBC, reports.JEMALLOC, reports.JEMALLOC):
        count_reuse.remember_source(measured(tree, case, environment=environment))
        agreeing.append(count_reuse._newest_runs[case.name].n_agreeing_runs)
    assert agreeing == [1, 2, 1, 2]
