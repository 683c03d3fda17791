import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.report import Environment
from runner.environment.capture import capture_environment, find_differences
from runner.execution.process_variables import PROCESS_VARIABLES

Make = Callable[[str], Any]
SETTINGS = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("xyz"))


def settings(root: Path, **options: object) -> dict[str, str]:
    return capture_environment(**{"variables": {}, "build_tools": {}, "root": root, **options}).settings


def test_debian_laptop(machine: Make) -> None:
    found = settings(machine("debian-laptop").root)
    assert found["kernel.release"] == "6.1.0-21-amd64"
    assert found["kernel.command_line"] == 'transparent_hugepage=always dyndbg="file mm/memory.c +p" luks.key=(hidden)'
    assert found["cpu.model"] == "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz"
    assert found["cpu.microcode"] == "0xb6"
    assert (found["cpu.online"], found["cpu.allowed"]) == ("8", "8")
    assert (found["cpu.governor"], found["cpu.turbo"], found["cpu.smt"]) == ("powersave", "on", "on")
    assert found["memory.total"] == "16 GiB"
    assert found["swap.kinds"] == "partition"
    assert (found["thp.enabled"], found["thp.defrag"], found["thp.shmem_enabled"]) == ("always", "madvise", "never")
    assert found["kernel.perf_event_paranoid"] == "3"
    assert found["cgroup.version"] == "2"
    assert found["cgroup.memory.max"] == "8589934592"
    assert (found["cgroup.memory.high"], found["cgroup.cpu.max"]) == ("max", "max")
    assert found["libc.version"].startswith("glibc 2.36 (libc.so.6, sha256 ")
    assert found["allocator"] == "glibc 2.36"


def test_numa_server(machine: Make) -> None:
    found = settings(machine("numa-server").root)
    assert found["kernel.command_line"] == "isolcpus=8-63 default_hugepagesz=1G"
    assert (found["cpu.online"], found["cpu.allowed"]) == ("128", "16")
    assert (found["cpu.governor"], found["cpu.turbo"]) == ("performance schedutil", "on")
    assert found["numa.nodes"] == found["numa.allowed"] == "0-1"
    assert found["numa.topology"] == ("node0 cpus 0-31,64-95 distances 10 32; node1 cpus 32-63,96-127 distances 32 10")
    assert (found["numa.balancing"], found["ksm.run"], found["swap.kinds"]) == ("1", "1", "none")
    assert {name: found[name] for name in found if name.startswith("mthp.")} == {
        "mthp.16kB": "never",
        "mthp.64kB": "always",
        "mthp.2048kB": "inherit",
        "mthp.shmem_enabled": "inherit=2048kB never=64kB",
    }
    assert (found["hugetlb.2048kB"], found["hugetlb.1048576kB"]) == ("512", "4")
    assert found["cgroup.version"] == "1"
    assert (found["cgroup.memory.max"], found["cgroup.cpu.max"]) == ("68719476736", "800000 100000")
    assert found["libc.version"].startswith("glibc 2.39 ")


def test_container_without_sys_has_only_what_it_shows(machine: Make) -> None:
    found = settings(machine("container-without-sys").root)
    assert found["cpu.model"] == "implementer 0x41 part 0xd0c variant 0x3"
    assert found["cpu.allowed"] == "2"
    assert found["memory.total"] == "2 GiB"
    assert found["cgroup.version"] == "2"
    assert found["allocator"] == "musl"
    missing = ("thp.", "mthp.", "hugetlb.", "cpu.online", "cpu.governor", "cpu.turbo", "numa.topology", "cgroup.memory")
    assert not [name for name in found if name.startswith(missing)]


def test_an_empty_tree_is_no_error(tmp_path: Path) -> None:
    assert set(settings(tmp_path)) == {"kernel.architecture", "memory.page_size", "allocator"}


def test_garbage_is_no_error(machine: Make, tmp_path: Path) -> None:
    machine("numa-server")
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.write_bytes(b"\xff[\0:-,\n=== \n - \n:\n")
    settings(tmp_path, work_directory=Path("/srv"))


def test_what_comes_and_goes_by_itself_on_a_laptop_is_no_setting(machine: Make) -> None:
    laptop = machine("debian-laptop")
    before = settings(laptop.root)
    laptop.replace("proc/meminfo", "MemFree:         1234567", "MemFree:           34567")
    laptop.replace("proc/meminfo", "MemTotal:       16142592", "MemTotal:       16142488")  # another boot
    laptop.replace("proc/cpuinfo", "1234.567", "4700.001")
    laptop.replace("proc/swaps", "\t100000", "\t999")
    laptop.replace("proc/self/cgroup", "session-3", "session-77")  # another login
    laptop.replace("proc/cmdline", " root=UUID=0c4dd0f6", " root=UUID=11111111")
    laptop.replace("proc/cmdline", " -- single", "")
    laptop.replace("proc/self/maps", "7f00", "7f99")
    laptop.replace("sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "1234567", "4700000")
    laptop.change("sys/fs/cgroup/user.slice/user-1000.slice/session-77.scope/memory.max", "max")
    assert settings(laptop.root) == before


def test_what_comes_and_goes_by_itself_on_a_server_is_no_setting(machine: Make) -> None:
    server = machine("numa-server")
    before = settings(server.root)
    # Programs took huge pages beyond the pool; the container manager gave us other processors.
    server.change("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "600")
    server.change("sys/kernel/mm/hugepages/hugepages-2048kB/surplus_hugepages", "88")
    server.replace("proc/self/status", "0-7,64-71", "8-15,72-79")
    server.replace("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance", "schedutil")
    assert settings(server.root) == before


@pytest.mark.parametrize(
    ("path", "text", "setting"),
    [
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never", "thp.enabled"),
        ("sys/kernel/mm/transparent_hugepage/enabled", None, "thp.enabled"),
        ("proc/sys/vm/overcommit_memory", "2", "vm.overcommit_memory"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1", "cpu.turbo"),
        ("sys/kernel/debug/fault_around_bytes", "4096", "memory.fault_around_bytes"),
        ("sys/fs/cgroup/user.slice/memory.max", "1073741824", "cgroup.memory.max"),
        ("sys/fs/cgroup/user.slice/cpu.max", "150000 100000", "cgroup.cpu.max"),
        ("proc/swaps", "Filename Type\n/dev/zram0 partition 1 0 100", "swap.kinds"),
        (
            "usr/lib/x86_64-linux-gnu/libc.so.6",
            "GNU C Library (Debian) stable release version 2.36.\npatched",
            "libc.version",
        ),
    ],
)
def test_one_change_is_one_setting(path: str, text: str | None, setting: str, machine: Make) -> None:
    laptop = machine("debian-laptop")
    before = capture_environment(variables={}, build_tools={}, root=laptop.root)
    laptop.change(path, text)
    after = capture_environment(variables={}, build_tools={}, root=laptop.root)
    assert [name for name, _, _ in find_differences(before, after)] == [setting]
    assert before.hash != after.hash


def test_the_default_that_only_root_can_read_is_left_out(machine: Make) -> None:
    laptop = machine("debian-laptop")
    before = settings(laptop.root)
    laptop.change("sys/kernel/debug/fault_around_bytes", "65536")
    assert settings(laptop.root) == before


@pytest.mark.parametrize(
    ("name", "directory", "filesystem"),
    [
        ("debian-laptop", "/srv/faultwatch", "ext4"),
        ("debian-laptop", "/home/somebody", "btrfs"),
        ("debian-laptop", "/homeless", "ext4"),
        ("debian-laptop", "/mnt/fast disk/builds", "tmpfs huge=always"),
        ("numa-server", "/pmem", "xfs dax=always"),
        ("container-without-sys", "/builds", "overlay"),
    ],
)
def test_file_system_of_the_work_directory(machine: Make, name: str, directory: str, filesystem: str) -> None:
    found = settings(machine(name).root, work_directory=Path(directory))
    assert found["filesystem.type"] == filesystem
    assert found.get("filesystem.read_ahead_kb") == ("128" if filesystem == "ext4" else None)


def test_variables_are_settings_except_the_fixed_ones() -> None:
    variables = {**PROCESS_VARIABLES, "MALLOC_CONF": "dirty_decay_ms:0", "LC_ALL": "de_DE.UTF-8"}
    found = capture_environment(variables=variables, build_tools={}).settings
    assert {name: found[name] for name in found if name.startswith("variable.")} == {
        "variable.LC_ALL": "de_DE.UTF-8",
        "variable.MALLOC_CONF": "dirty_decay_ms:0",
    }


def test_values_and_names_of_any_length_fit_the_contract() -> None:
    variables = {"A" * 5000: "x", "LONG": "y" * 100_000}
    found = capture_environment(variables=variables, build_tools={}).settings
    assert "100000 characters, sha256" in found["variable.LONG"]


def test_the_callers_own_settings_come_along() -> None:
    assert (
        capture_environment(variables={}, build_tools={}, own_settings={"process.aslr": "off"}).settings["process.aslr"]
        == "off"
    )


def test_this_machine_twice_is_the_same() -> None:
    first = capture_environment(variables={"MALLOC_CONF": "x"}, work_directory=Path.cwd())
    started = time.perf_counter()
    again = capture_environment(variables={"MALLOC_CONF": "x"}, work_directory=Path.cwd())
    assert time.perf_counter() - started < 1  # in milliseconds; the machine may be busy
    assert (first, first.hash) == (again, again.hash)
    assert {"kernel.release", "cpu.model", "memory.page_size", "memory.total", "allocator"} <= set(first.settings)


def test_another_process_sees_the_same() -> None:
    program = (
        "from runner.environment.capture import capture_environment\n"
        "print(capture_environment(variables={}, build_tools={}).hash)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == capture_environment(variables={}, build_tools={}).hash


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_sees_the_same_as_root() -> None:
    as_root = capture_environment(variables={}, build_tools={})
    os.seteuid(65534)
    try:
        as_user = capture_environment(variables={}, build_tools={})
    finally:
        os.seteuid(0)
    assert find_differences(as_root, as_user) == []


@given(SETTINGS, SETTINGS)
def test_difference(old: dict[str, str], new: dict[str, str]) -> None:
    before, after = Environment(settings=old), Environment(settings=new)
    found = find_differences(before, after)
    assert find_differences(after, before) == [(name, there, here) for name, here, there in found]
    assert (found == []) == (before.hash == after.hash)
    patched = dict(old)
    for name, here, there in found:
        assert old.get(name) == here
        patched.pop(name, None)
        if there is not None:
            patched[name] = there
    assert patched == new
