"""Processes, memory limits and huge pages as workload files say them."""

import pytest

from runner.errors import FaultwatchError
from runner.workload import Workload, cases
from runner.workload.pressure import huge_pages, memory_limit, process_count


def workload(**run: object) -> Workload:
    return Workload.model_validate(
        {
            "workload": {"name": "w"},
            "run": {"command": "./w", **run},
            "matrix": {"n": [2], "limit": ["64M"], "thp": ["always"]},
        }
    )


@pytest.mark.parametrize(("said", "count"), [(1, 1), (8, 8), ("{n}", 2), ("4", 4)])
def test_processes(said: object, count: int) -> None:
    made = workload(processes=said)
    assert process_count(made, cases(made)[0]) == count


@pytest.mark.parametrize("said", [0, -1, "many", "1e3", 1025, "²"])
def test_what_is_no_number_of_processes_is_refused(said: object) -> None:
    made = workload(processes=said)
    with pytest.raises(FaultwatchError, match="processes"):
        process_count(made, cases(made)[0])


@pytest.mark.parametrize(
    ("said", "size"), [("none", None), ("4096", 4096), ("3K", 3 << 10), ("{limit}", 64 << 20), ("2G", 2 << 30)]
)
def test_memory_limits(said: str, size: int | None) -> None:
    made = workload(memory_limit=said)
    assert memory_limit(made, cases(made)[0]) == size


@pytest.mark.parametrize("said", ["", "0", "64 M", "64m", "-1", "lots"])
def test_what_is_no_size_is_refused(said: str) -> None:
    made = workload(memory_limit=said)
    with pytest.raises(FaultwatchError, match="memory_limit"):
        memory_limit(made, cases(made)[0])


@pytest.mark.parametrize(("said", "policy"), [("host", "host"), ("madvise", "madvise"), ("{thp}", "always")])
def test_huge_pages(said: str, policy: str) -> None:
    made = workload(huge_pages=said)
    assert huge_pages(made, cases(made)[0]) == policy


def test_what_is_no_policy_is_refused() -> None:
    made = workload(huge_pages="{limit}")
    with pytest.raises(FaultwatchError, match="huge_pages: '64M' is none of host, never, madvise, always"):
        huge_pages(made, cases(made)[0])
