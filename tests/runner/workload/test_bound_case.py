"""What a workload file says of one case: processes, memory limits, huge pages, commands, files."""

import pytest

from runner.errors import FaultwatchError
from runner.workload import Workload, list_cases
from runner.workload.bound_case import BoundCase, bind_case


def workload(**run: object) -> Workload:
    return Workload.model_validate(
        {
            "workload": {"name": "w"},
            "run": {"command": "./w", **run},
            "matrix": {"n": [2], "limit": ["64M"], "thp": ["always"]},
        }
    )


def bound(made: Workload) -> BoundCase:
    return bind_case(made, list_cases(made)[0])


@pytest.mark.parametrize(("said", "count"), [(1, 1), (8, 8), ("{n}", 2), ("4", 4)])
def test_processes(said: object, count: int) -> None:
    made = workload(processes=said)
    assert bound(made).processes == count


@pytest.mark.parametrize("said", [0, -1, "many", "1e3", 1025, "²"])
def test_what_is_no_number_of_processes_is_refused(said: object) -> None:
    made = workload(processes=said)
    with pytest.raises(FaultwatchError, match="processes"):
        bound(made)


@pytest.mark.parametrize(
    ("said", "size"), [("none", None), ("4096", 4096), ("3K", 3 << 10), ("{limit}", 64 << 20), ("2G", 2 << 30)]
)
def test_memory_limits(said: str, size: int | None) -> None:
    made = workload(memory_limit=said)
    assert bound(made).memory_limit == size


@pytest.mark.parametrize("said", ["", "0", "64 M", "64m", "-1", "lots"])
def test_what_is_no_size_is_refused(said: str) -> None:
    made = workload(memory_limit=said)
    with pytest.raises(FaultwatchError, match="memory_limit"):
        bound(made)


@pytest.mark.parametrize(("said", "policy"), [("host", "host"), ("madvise", "madvise"), ("{thp}", "always")])
def test_huge_pages(said: str, policy: str) -> None:
    made = workload(huge_pages=said)
    assert bound(made).huge_pages == policy


def test_what_is_no_policy_is_refused() -> None:
    made = workload(huge_pages="{limit}")
    with pytest.raises(FaultwatchError, match="huge_pages: '64M' is not one of host, never, madvise, always"):
        bound(made)


def test_every_placeholder_of_a_case_is_filled() -> None:
    made = workload(
        command=["./w{n}", "{{}}"],
        environment={"N": "{n}"},
        allocator="jemalloc",
        page_cache="cold",
        files=["data/{n}"],
    )
    case = bound(made)
    assert (case.command, case.cold_files) == (("./w2", "{}"), ("data/2",))
    assert dict(case.variables) == {"LD_PRELOAD": "libjemalloc.so.2", "N": "2"}


def test_a_cold_case_without_files_starts_with_its_program_out_of_memory() -> None:
    assert bound(workload(command=["./w{n}"], page_cache="cold")).cold_files == ("./w2",)
    assert bound(workload(files=["data"])).cold_files == ()


def test_a_program_sets_the_state_of_the_files_that_are_named_although_nothing_is_evicted() -> None:
    assert bound(workload(files=["data/{n}"])).own_state_files == ("data/2",)
    assert bound(workload(files=["data"], page_cache="cold")).own_state_files == ()
