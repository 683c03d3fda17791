"""Each check, on made-up machines."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from runner.canary.count import CanaryOutcome
from runner.contract import Canary, CanaryCount
from runner.doctor.checks import CHECKS, is_measurable, run_checks
from runner.doctor.probe import NOT_EXECUTABLE_STATUS, NOT_FOUND_STATUS, HostProbe, ProgramOutput, get_free_bytes
from runner.doctor.result import CheckStatus
from runner.errors import FaultwatchError
from runner.system.tree import Tree

Make = Callable[[str], Any]
RECORDED = Path(__file__).parent / "perf"
COUNTED = (RECORDED / "everything.txt").read_text()


def made_up(root: Path, **options: Any) -> HostProbe:
    """A host where perf works and everything is installed."""
    standing = {
        "tree": Tree(root),
        "home": Path("/srv/faultwatch"),
        "is_root": False,
        "run": lambda command: ProgramOutput(0, COUNTED if command[1] == "stat" else "perf version 6.1.90\n"),
        "read_version": lambda command: f"{command} 12.2.0",
        "can_fix_layout": lambda: True,
        "can_refuse_huge_pages": lambda: True,
        "free_bytes": lambda folder: 100 << 30,
        "count_canary": lambda home: CanaryOutcome(
            Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1, counted=(1,)),))
        ),
    }
    return HostProbe(**{**standing, **options})


def statuses(host: HostProbe) -> dict[str, str]:
    return {check.name: check.status.value for check in run_checks(host) if check.status is not CheckStatus.OK}


def found(host: HostProbe, name: str) -> tuple[str, str, str]:
    status, finding, remedy = CHECKS[name](host)
    return status.value, finding, remedy


@pytest.mark.parametrize(
    ("name", "findings"),
    [
        (
            "debian-laptop",
            {"limits", "memory", "allocators", "huge pages", "governor", "turbo", "watchdog", "timers"},
        ),
        (
            "numa-server",
            {
                *("limits", "allocators", "huge pages", "same-page merging", "NUMA balancing", "idle memory"),
                *("governor", "turbo", "clock"),
            },
        ),
        ("container-without-sys", {"limits", "memory", "allocators", "clock"}),
    ],
)
def test_made_up_machines(name: str, findings: set[str], machine: Make) -> None:
    host = made_up(machine(name).root)
    seen = statuses(host)
    assert set(seen) == findings
    assert [check.name for check in run_checks(host)] == list(CHECKS)


def test_whatever_is_not_fine_says_what_to_do(machine: Make) -> None:
    for name in ("debian-laptop", "numa-server"):
        for check in run_checks(made_up(machine(name).root)):
            assert check.finding
            assert check.remedy or check.status in {CheckStatus.OK, CheckStatus.UNKNOWN}


def test_a_count_that_cannot_be_read_is_a_finding_and_no_end(tmp_path: Path) -> None:
    def fail(_: Path) -> CanaryOutcome:
        raise FaultwatchError("perf printed what cannot be parsed", "report it")

    checks = {check.name: check for check in run_checks(made_up(tmp_path, count_canary=fail))}
    assert list(checks) == list(CHECKS)
    assert checks["canary"].status is CheckStatus.UNKNOWN
    assert (checks["canary"].finding, checks["canary"].remedy) == (
        "cannot be checked: perf printed what cannot be parsed",
        "report it",
    )


def test_a_check_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    def fail(folder: Path) -> int:
        raise OSError(errno.EIO, "Input/output error")

    checks = {check.name: check for check in run_checks(made_up(tmp_path, free_bytes=fail))}
    assert checks["disk"].status is CheckStatus.UNKNOWN
    assert "Input/output error" in checks["disk"].finding
    assert list(checks) == list(CHECKS)


def canary_host(root: Path, *counted: int) -> HostProbe:
    outcome = CanaryOutcome(Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1009, counted=counted),)))
    return made_up(root, count_canary=lambda home: outcome)


def test_canary_counts_right(tmp_path: Path) -> None:
    assert found(canary_host(tmp_path, 1009), "canary")[0] == "ok"


def test_canary_counts_wrong(tmp_path: Path) -> None:
    status, finding, _ = found(canary_host(tmp_path, 1010, 1009, 1010), "canary")
    assert status == "problem"
    assert "anonymous: 1,010, then 1,009, then 1,010 faults counted, 1,009 expected" in finding


def test_a_single_fault_is_written_in_the_singular() -> None:
    canary = Canary(counts=(CanaryCount(kinds=("file",), expected=2, counted=(3, 1)),))
    assert canary.finding == "file: 3, then 1 fault counted, 2 expected"


@pytest.mark.perf
def test_canary_counts_right_beside_programs_that_start(tmp_path: Path) -> None:
    noise = subprocess.Popen(["sh", "-c", f"while :; do {sys.executable} -S -c pass; done"], start_new_session=True)
    try:
        assert {found(HostProbe(home=tmp_path), "canary")[0] for _ in range(5)} == {"ok"}
    finally:
        os.killpg(noise.pid, signal.SIGKILL)
        noise.wait()


def test_canary_where_nothing_is_counted(tmp_path: Path) -> None:
    assert found(made_up(tmp_path, run=lambda command: ProgramOutput(NOT_FOUND_STATUS, "")), "canary")[0] == "unknown"


def test_canary_that_is_silent_says_why(tmp_path: Path) -> None:
    host = made_up(tmp_path, count_canary=lambda home: CanaryOutcome(problem="there is no C compiler"))
    status, finding, remedy = found(host, "canary")
    assert (status, finding) == ("unknown", "there is no C compiler")
    assert "perf 5.10 or later" in remedy


def test_layout(machine: Make) -> None:
    laptop = machine("debian-laptop")
    host = made_up(laptop.root, can_fix_layout=lambda: False)
    assert found(host, "address layout")[0] == "warning"
    laptop.change("proc/sys/kernel/randomize_va_space", "0")
    assert found(host, "address layout")[0] == "ok"


@pytest.mark.parametrize("status", [NOT_FOUND_STATUS, NOT_EXECUTABLE_STATUS])
def test_without_perf_nothing_is_said_of_its_events(status: int, tmp_path: Path) -> None:
    host = made_up(tmp_path, run=lambda command: ProgramOutput(status, ""))
    assert found(host, "perf")[0] == "problem"
    for name in ("permission", "events"):
        status_word, finding, _ = found(host, name)
        assert (status_word, finding.startswith("cannot be checked")) == ("unknown", True)


def test_events_that_a_virtual_machine_lacks(tmp_path: Path) -> None:
    host = made_up(tmp_path, run=lambda command: ProgramOutput(0, (RECORDED / "events-virtual.txt").read_text()))
    status, finding, _ = found(host, "events")
    assert status == "warning"
    assert "missing: instructions, cycles" in finding


def test_missing_programs(tmp_path: Path) -> None:
    host = made_up(tmp_path, read_version=lambda command: None)
    assert found(host, "git")[0] == "problem"
    assert found(host, "sandbox")[2] == "sudo apt install bubblewrap"
    assert found(host, "compilers")[2] == "sudo apt install gcc g++ gfortran"
    assert "libjemalloc2 libtcmalloc-minimal4" in found(host, "allocators")[2]


@pytest.mark.parametrize(
    ("version", "status"), [("1.8.3.1", "problem"), ("2.30.2", "problem"), ("2.31.0", "ok"), ("2.39.5", "ok")]
)
def test_old_git(version: str, status: str, tmp_path: Path) -> None:
    assert found(made_up(tmp_path, read_version=lambda command: f"git version {version}"), "git")[0] == status


def test_a_host_without_user_namespaces(machine: Make) -> None:
    laptop = machine("debian-laptop")
    host = made_up(laptop.root, read_version=lambda command: "bubblewrap 0.8.0")
    assert found(host, "sandbox")[0] == "ok"
    laptop.change("proc/sys/user/max_user_namespaces", "0")
    assert "does not allow user namespaces" in found(host, "sandbox")[1]


def test_disk_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert get_free_bytes(tmp_path / "not/yet/there")
    assert get_free_bytes(tmp_path / "file/below") is None


@pytest.mark.parametrize(
    ("free", "status"), [(None, "problem"), (1 << 20, "problem"), (1 << 30, "warning"), (1 << 40, "ok")]
)
def test_disk(free: int | None, status: str, tmp_path: Path) -> None:
    assert found(made_up(tmp_path, free_bytes=lambda folder: free), "disk")[0] == status


def test_a_disk_that_allows_no_programs(noexec_folder: Path, tmp_path: Path) -> None:
    status, finding, remedy = found(made_up(tmp_path, home=noexec_folder / "home"), "disk")
    assert (status, finding) == (
        "problem",
        f"{noexec_folder}/home is on a file system that does not let programs run (noexec)",
    )
    assert "FAULTWATCH_HOME" in remedy


def test_user(tmp_path: Path) -> None:
    host = made_up(tmp_path)
    assert found(host, "user")[0] == "ok"
    assert found(replace(host, is_root=True), "user")[0] == "warning"


def test_pressure_on_memory(machine: Make) -> None:
    laptop = machine("debian-laptop")
    assert "97 MiB are swapped out" in found(made_up(laptop.root), "memory")[1]
    laptop.replace("proc/pressure/memory", "some avg10=0.00", "some avg10=3.21")
    assert "are waiting for memory" in found(made_up(laptop.root), "memory")[1]


@pytest.mark.parametrize(
    ("limits", "said", "unsaid"),
    [
        ({"cpu.max": "50000 100000"}, "at the CPU limit", "pages are dropped"),
        ({"memory.max": "1000"}, "at a memory limit, pages are dropped", "CPU"),
    ],
)
def test_a_limit_is_said_to_do_only_what_it_does(
    limits: dict[str, str], said: str, unsaid: str, tmp_path: Path
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/job\n")
    group = tmp_path / "sys/fs/cgroup/job"
    group.mkdir(parents=True)
    for name, value in limits.items():
        (group / name).write_text(f"{value}\n")
    finding = found(made_up(tmp_path), "limits")[1]
    assert said in finding
    assert unsaid not in finding


def test_limits_that_cannot_be_read_are_not_said_to_be_absent(tmp_path: Path) -> None:
    assert found(made_up(tmp_path), "limits")[:2] == ("unknown", "the limits of control groups cannot be read")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/job\n")
    assert found(made_up(tmp_path), "limits")[0] == "unknown"
    (tmp_path / "sys/fs/cgroup/job").mkdir(parents=True)
    assert found(made_up(tmp_path), "limits")[:2] == ("ok", "no control group limits memory or CPU time")


def set_huge_pages(root: Path, setting: str, **sizes: str) -> None:
    folder = root / "sys/kernel/mm/transparent_hugepage"
    for name, policy in {"": setting, **{f"hugepages-{size[1:]}kB": policy for size, policy in sizes.items()}}.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "enabled").write_text("always inherit madvise never\n".replace(policy, f"[{policy}]"))


def test_huge_pages_of_no_size_are_fine_whatever_the_common_setting_is(tmp_path: Path) -> None:
    set_huge_pages(tmp_path, "always")
    status, finding, _ = found(made_up(tmp_path), "huge pages")
    assert (status, "(all sizes)" in finding) == ("warning", True)
    set_huge_pages(tmp_path, "always", _64="never", _2048="madvise")
    assert found(made_up(tmp_path), "huge pages")[0] == "ok"
    set_huge_pages(tmp_path, "always", _64="never", _2048="inherit")
    status, finding, _ = found(made_up(tmp_path), "huge pages")
    assert (status, "(2048kB)" in finding) == ("warning", True)


def test_the_remedy_for_huge_pages_names_every_setting_that_is_to_be_changed(tmp_path: Path) -> None:
    set_huge_pages(tmp_path, "always", _64="always", _128="always", _256="never", _2048="inherit")
    _, finding, remedy = found(made_up(tmp_path), "huge pages")
    assert all(size in finding for size in ("64kB", "128kB", "2048kB"))
    folder = "/sys/kernel/mm/transparent_hugepage"
    files = remedy.partition("echo madvise | sudo tee ")[2].split()
    assert set(files) == {f"{folder}/{name}enabled" for name in ("", "hugepages-128kB/", "hugepages-64kB/")}
    set_huge_pages(tmp_path, "madvise", _64="madvise", _128="madvise")
    assert found(made_up(tmp_path), "huge pages")[0] == "ok"


def test_load(machine: Make) -> None:
    laptop = machine("debian-laptop")
    assert found(made_up(laptop.root), "load")[0] == "ok"
    laptop.change("proc/loadavg", "7.90 1.00 1.00 9/999 1")
    assert found(made_up(laptop.root), "load")[0] == "warning"


@pytest.mark.perf
def test_this_machine(tmp_path: Path) -> None:
    checks = list(run_checks(HostProbe(home=tmp_path)))
    assert [check.name for check in checks] == list(CHECKS)
    assert is_measurable([check for check in checks if check.name not in {"disk", "git"}])
    canary = next(check for check in checks if check.name == "canary")
    assert canary.status is CheckStatus.OK, canary.finding
