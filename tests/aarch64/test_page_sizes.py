"""The runner on aarch64, with pages of 4 and of 64 KiB: the canary, the workloads of the field reports, a profile.

The expected counts follow from the size of a page by arithmetic. Nothing is measured from outside of the machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.aarch64.guest import faultwatch, forwarded, guest
from tests.hosts.ssh import Guest, Key
from tests.runner.commands import served

pytestmark = pytest.mark.skipif("FAULTWATCH_TEST_AARCH64" not in os.environ, reason="make test-aarch64 boots machines")

FAULT_AROUND = 64 << 10
MIB = 1 << 20
STEPS = 50
SEGMENT, SCANS = 1_265_444, 640
MATRICES, MATRIX, HEADER = 3, 100**3 * 8, 16
IMAGES, TEMPORARIES_AND_RESULT, IMAGE = 20, 5, 1920 * 1080 * 4


@dataclass(frozen=True)
class Machine:
    """A booted machine and the size of its pages in bytes."""

    guest: Guest
    page: int

    def measure(self, workload: str, *words: str, **parameters: object) -> dict[str, Any]:
        """Measure one case of a workload as it is shipped; return its report."""
        chosen = [word for name, value in parameters.items() for word in ("--set", f"{name}={value}")]
        reports = json.loads(faultwatch(self.guest, "measure", workload, *chosen, "--samples", "2", "--json", *words))
        assert len(reports) == 1
        return dict(reports[0])


def pages(size: int, page: int) -> int:
    """Return how many pages hold so many bytes."""
    return -(-size // page)


@pytest.fixture(scope="module", params=[64, 4], ids=["pages64k", "pages4k"])
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with guest(request.param, Key.fresh(tmp_path_factory.mktemp("key"))) as booted:
        yield Machine(booted, request.param << 10)


def values(report: dict[str, Any], name: str = "region:minor-faults") -> set[int]:
    return {sample["readings"][name]["value"] for sample in report["samples"]}


def test_the_canary_is_exact(machine: Machine) -> None:
    checks = {check["name"]: check for check in json.loads(faultwatch(machine.guest, "doctor", "--json"))["checks"]}
    assert checks["canary"]["status"] == "ok", checks["canary"]
    kinds = ("anonymous", "file", "copy-on-write", *(["huge"] if machine.page == 4096 else []))
    assert f"exact: {', '.join(kinds)}:" in checks["canary"]["finding"]


# As the READMEs of the workloads derive them for pages of 4 KiB.
REPORTS: list[tuple[str, dict[str, object], Callable[[int], int]]] = [
    ("tensor_copy", {"allocator": "glibc", "buffer": "mapped"}, lambda page: 500 * pages(4 * MIB, page)),
    (
        "matrix_scan",
        {"access": "mmap", "order": "row", "cache": "warm", "threads": 1},
        lambda page: SCANS * pages(pages(SEGMENT, page), max(1, FAULT_AROUND // page)),
    ),
    (
        "matrix_scan",
        {"access": "read", "order": "row", "cache": "warm", "threads": 2},
        lambda page: 2 * pages(SEGMENT, page),
    ),
    (
        "fortran_init",
        {"storage": "once", "huge_pages": "never", "processes": 1},
        lambda page: MATRICES * pages(MATRIX + HEADER, page),
    ),
    (
        "image_filter",
        {"temporaries": "mapped", "width": 1920, "height": 1080},
        lambda page: IMAGES * TEMPORARIES_AND_RESULT * pages(IMAGE, page),
    ),
    (
        "gallery_search",
        {"memory": "private", "fill": "startup", "count": "load", "searches": 8, "ramp_ms": 0, "memory_limit": "none"},
        lambda page: pages(256 * MIB, page),
    ),
]


NAMES = [f"{name} {next(iter(row.values()))}" for name, row, _ in REPORTS]


@pytest.mark.parametrize(("workload", "parameters", "theory"), REPORTS, ids=NAMES)
def test_a_field_report_counts_what_the_page_size_says(
    machine: Machine, workload: str, parameters: dict[str, object], theory: Callable[[int], int]
) -> None:
    report = machine.measure(workload, **parameters)
    assert values(report) == {theory(machine.page)}
    settings = report["environment"]["settings"]
    assert (settings["memory.page_size"], settings["kernel.architecture"]) == (str(machine.page), "aarch64")
    for sample in report["samples"]:  # the program's own theory
        assert sample["readings"].get("unexplained-faults", {"value": 0})["value"] == 0
    assert all(count["counted"] == [count["expected"]] for count in report["canary"]["counts"])


def test_the_sandbox_adds_no_fault(machine: Machine) -> None:
    case = {"access": "read", "order": "row", "cache": "warm", "threads": 1}
    assert values(machine.measure("matrix_scan", "--sandbox", **case)) == {pages(SEGMENT, machine.page)}


def test_a_start_from_storage_has_major_faults_and_one_from_memory_has_none(machine: Machine) -> None:
    # Compiling the other programs takes the emulated processor half an hour.
    machine.guest.run(
        'cd /opt/faultwatch/workloads/cold_start && sed -i \'s/^command = "make"/command = "make cold_start_perl"/\' '
        "workload.toml"
    )
    reports = (machine.measure("cold_start", program="perl", page_cache=state) for state in ("cold", "host"))
    cold, warm = (values(report, "major-faults") for report in reports)
    assert min(cold) > 0
    assert warm == {0}


def test_a_profile_names_the_cause(machine: Machine, tmp_path: Path) -> None:
    # With pages of 4 KiB, reading the half million faults of the shipped case takes the emulated processor too long.
    machine.guest.run(f"sed -i 's/^steps = .*/steps = [{STEPS}]/' /opt/faultwatch/workloads/tensor_copy/workload.toml")
    case = ["--set", "allocator=jemalloc-no-decay", "--set", "buffer=fresh"]
    with served(tmp_path / "home") as service, forwarded(machine.guest, service.service) as address:
        text = faultwatch(
            machine.guest,
            *("profile", "tensor_copy", *case, "--json"),
            variables={"FAULTWATCH_URL": address},
        )
    document = json.loads(text)
    anatomy = document["profile"]["anatomy"]
    each = pages(4 * MIB, machine.page)
    assert each <= anatomy["pages"] <= 2 * each
    assert anatomy["counted"] >= (STEPS - 1) * each
    assert set(anatomy["by_access"]) == {"write"}
    assert anatomy["by_touch"]["after madvise"] >= anatomy["counted"] - anatomy["pages"]
    assert document["diagnosis"]["findings"][0]["rule"] == "returned-memory"
