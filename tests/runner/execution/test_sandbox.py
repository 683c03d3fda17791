"""What strangers' code can do in a sandbox, and that the sandbox does not move a count."""

import os
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from runner.doctor.counting import require_measurable_host
from runner.errors import FaultwatchError
from runner.execution import sandbox as module
from runner.execution.execute import ProgramResult
from runner.execution.process_variables import BASE_VARIABLES
from runner.execution.sandbox import Sandbox, create_sandbox
from runner.perf.perf_stat import count_faults, count_processes
from runner.perf.program_failure import ExecutionFailure
from runner.process_state.memory_group import MemoryGroup
from runner.process_state.process_state import ProcessState
from runner.settings import HOST_LOCK
from runner.subject.confined_build import execute_confined

TOUCH = r"""
#include "faultwatch_region.h"
#include <stdlib.h>
#include <sys/mman.h>
int main(int n, char **v) {
    long pages = atol(v[1]);
    char *p = mmap(0, (pages + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    faultwatch_region_begin();
    for (long i = 0; i < pages; i++) p[i * 4096] = 1;
    faultwatch_region_end();
    return 0;
}
"""
HEADERS = Path(__file__).parents[3] / "workloads" / "region"


@pytest.fixture(scope="module")
def box() -> Sandbox:
    try:
        return create_sandbox()
    except FaultwatchError as error:
        pytest.skip(str(error))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runner's home, with what nobody in a sandbox may see."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "faultwatch.db").write_text("secret")
    monkeypatch.setenv("FAULTWATCH_HOME", str(folder))
    return folder


@pytest.fixture
def run(box: Sandbox, home: Path) -> Callable[..., ProgramResult]:
    tree = home / "tree"
    tree.mkdir()

    def execute(script: str, timeout: float = 30) -> ProgramResult:
        return execute_confined(
            ["sh", "-c", script], sandbox=box, tree=tree, environment=BASE_VARIABLES, timeout=timeout
        )

    return execute


def test_writes_its_own_tree_and_its_own_tmp(run: Callable[..., ProgramResult], home: Path) -> None:
    done = run("echo made > made && touch /tmp/mine /dev/shm/mine && pwd")
    assert (done.status, done.output.strip()) == (0, str(home / "tree"))
    assert (home / "tree" / "made").read_text() == "made\n"
    assert not Path("/tmp/mine").exists()


def test_sees_nothing_of_the_runner(run: Callable[..., ProgramResult], home: Path) -> None:
    done = run(
        f"ls -A {home}; cat {home}/faultwatch.db {home}/tree/../faultwatch.db; ls -A ~root /root /home /var /run"
    )
    assert "secret" not in done.output
    assert set(run(f"ls -A {home}").output.split()) <= {"tree", "programs"}


@pytest.mark.parametrize("place", ["/usr", "/usr/bin", "/etc", "/sys/kernel/mm/transparent_hugepage", "/", ".."])
def test_writes_nothing_else(place: str, run: Callable[..., ProgramResult]) -> None:
    assert run(f"touch {place}/mine").status != 0


def test_what_the_system_links_to_in_etc_is_there(run: Callable[..., ProgramResult]) -> None:
    links = [Path("/usr/share/locale/locale.alias"), *Path("/usr/lib").glob("python3*/sitecustomize.py")]
    present = [link for link in links if link.is_symlink() and link.exists()]
    script = "".join(f"test -e {link} || echo {link} dangles; " for link in present)
    assert run(script).output == ""


def test_a_folder_of_etc_can_be_entered_by_any_user(run: Callable[..., ProgramResult]) -> None:
    """A runner of root starts programs as another user: Node ends with 13 where it may not read the settings of TLS."""
    assert run("stat --format %a /etc/ssl").output.strip() == "755"


@pytest.mark.skipif(not Path("/etc/localtime").is_symlink(), reason="this host has no time zone")
def test_the_time_zone_has_its_name(run: Callable[..., ProgramResult]) -> None:
    zone = run("readlink /etc/localtime && test -s /etc/localtime").output.strip()
    assert zone == str(Path("/etc/localtime").readlink())


def test_does_not_see_the_lock_of_the_host_nor_the_command_line_of_the_kernel(
    run: Callable[..., ProgramResult],
) -> None:
    """A program that sees the folder could lock it, and no other command on this host would ever measure."""
    lock = HOST_LOCK.stat()
    said = run(
        f"find / -path /usr -prune -o -path /proc -prune -o -inum {lock.st_ino} -type d -printf '%D:%i %p\\n' "
        "2>/dev/null; ls /sys/kernel; "
        "cat /proc/cmdline 2>/dev/null; "
        "cat /sys/kernel/mm/transparent_hugepage/enabled; touch /sys/kernel/x 2>&1"
    ).output.splitlines()
    assert not [line for line in said if line.startswith(f"{lock.st_dev}:{lock.st_ino} ")]
    assert not [line for line in said if line == Path("/proc/cmdline").read_text().strip()]
    assert said[-3:-1] == ["mm", Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text().strip()]
    assert "Read-only" in said[-1]


def test_has_no_network(run: Callable[..., ProgramResult]) -> None:
    # Only its own loopback, and what listens on the host's is not on it.
    assert run("grep -c : /proc/net/dev").output.strip() == "1"
    assert not run("grep -vE 'Iface|^ *sl' /proc/net/route /proc/net/tcp").output.strip()


def test_lower_limits_of_the_runner_stay(run: Callable[..., ProgramResult], monkeypatch: pytest.MonkeyPatch) -> None:
    build_prefix = Sandbox.build_command_prefix

    def build_limited_prefix(sandbox: Sandbox, *arguments: Any) -> list[str]:
        return ["prlimit", "--fsize=100000000", "--nproc=500", *build_prefix(sandbox, *arguments)]

    monkeypatch.setattr(Sandbox, "build_command_prefix", build_limited_prefix)
    result = run("grep -E '^Max (file size|processes)' /proc/self/limits | tr -s ' '")
    assert result.output.splitlines() == [
        "Max file size 100000000 100000000 bytes ",
        "Max processes 500 500 processes ",
    ]


def test_is_scheduled_as_any_other_process_and_may_ask_for_no_more(run: Callable[..., ProgramResult]) -> None:
    limits = {number: resource.getrlimit(number) for number in (resource.RLIMIT_RTPRIO, resource.RLIMIT_NICE)}
    script = (
        "chrt -p $$; grep -cE '(nice|realtime) priority +0 +0' /proc/self/limits; "
        "chrt -f 1 true || chrt -r 1 true || nice -n -1 sh -c 'nice' 2>&1"
    )
    for number in limits:
        with suppress(ValueError):
            resource.setrlimit(number, (30, 30))  # As a service may allow its runner.
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # As a comparison runs.
    except OSError:
        pytest.skip("needs the right to run before others")
    try:
        said = run(script).output
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        for number, before in limits.items():
            resource.setrlimit(number, before)
    assert "SCHED_OTHER" in said, said
    assert said.count("Operation not permitted") == 2, said
    assert said.splitlines()[2] == "2", said
    assert said.splitlines()[-1] == "0", said


def test_cannot_end_processes_of_the_runner(run: Callable[..., ProgramResult]) -> None:
    victim = subprocess.Popen(["sleep", "60"])
    try:
        assert run(f"kill -9 {victim.pid}; kill -9 {os.getpid()}; kill -9 -1; true").status in {0, -9}
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


def test_has_no_privileges_and_gets_none(run: Callable[..., ProgramResult]) -> None:
    status = run("cat /proc/self/status; id -u; unshare --user true && echo made a namespace").output
    for line in ("CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"):
        assert line in status
    assert "\n0\n" not in status
    assert "made a namespace" not in status


def test_a_fork_bomb_is_bounded_and_ends(run: Callable[..., ProgramResult], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TASKS", 40)
    done = run("bomb() { bomb | bomb & }; bomb; for i in $(seq 100); do sleep 30 & done; echo went on", timeout=6)
    assert "fork" in done.output.lower()
    time.sleep(0.3)
    left = subprocess.run(["pgrep", "-f", "bomb[(]"], check=False, capture_output=True, text=True).stdout
    assert not left


def test_the_memory_of_a_process_is_bounded(run: Callable[..., ProgramResult], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sandbox, "memory", 64 << 20)
    assert run("dd if=/dev/zero of=/dev/null bs=200M count=1").status != 0
    assert run("dd if=/dev/zero of=/dev/null bs=2M count=1").status == 0


def test_the_disk_cannot_be_filled(run: Callable[..., ProgramResult], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 1 << 20)
    monkeypatch.setattr("runner.subject.confined_build.MAX_TREE_BYTES", 40 << 20)
    assert "went on" not in run("head -c 2000000 /dev/zero > one && echo went on").output
    done = run("i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > $i; done", timeout=60)
    assert done.problem == f"wrote more than {40 << 20:,} bytes into its folder"


def test_what_it_cannot_execute_is_told(box: Sandbox, home: Path) -> None:
    (home / "outside").write_text("#!/bin/sh\n")
    (home / "outside").chmod(0o755)
    (home / "tree").mkdir()

    def execute(name: str, *, reveals_host: bool) -> ProgramResult:
        return execute_confined(
            [name],
            sandbox=box,
            tree=home / "tree",
            environment=BASE_VARIABLES,
            timeout=20,
            reveals_host=reveals_host,
        )

    assert "could not be executed in the sandbox" in execute(str(home / "outside"), reveals_host=True).problem
    (home / "secret").write_text("not executable")
    (home / "tree" / "link").symlink_to(home / "secret")
    (home / "tree" / "loop").symlink_to("loop")
    places = (home / "outside", home / "secret", home / "absent", f"/usr/..{home}/secret")
    for name in (*places, "./link", "./loop", "../secret"):
        with pytest.raises(FileNotFoundError, match="was not found"):
            execute(str(name), reveals_host=False)


def test_a_build_can_be_stopped_at_any_moment(box: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped with the kernel's hurry switched on, it would keep others from it, and disturb what is measured."""

    def hurry(_: object) -> None:
        raise AssertionError("a build hurries the kernel")

    monkeypatch.setattr("runner.process_state.memory_group.expedite_grace_periods", hurry)
    tree = home / "tree"
    tree.mkdir()
    done = execute_confined(["true"], sandbox=box, tree=tree, environment=BASE_VARIABLES, timeout=20)
    assert done.problem == ""


def test_a_missing_bubblewrap_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module._check_sandbox.cache_clear()
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(FaultwatchError, match=r"^bubblewrap is not installed, or .*not on PATH \(.*--no-sandbox\)$"):
        create_sandbox()
    module._check_sandbox.cache_clear()


def test_only_the_sandbox_suggests_to_do_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise FaultwatchError("libseccomp cannot be loaded", "install it")

    module._check_sandbox.cache_clear()
    monkeypatch.setattr(module, "load_libseccomp", fail)
    with pytest.raises(
        FaultwatchError, match=r"^libseccomp .* \(install it; or, if you trust the code, pass --no-sandbox\)$"
    ):
        create_sandbox()
    module._check_sandbox.cache_clear()


@pytest.mark.perf
@pytest.mark.parametrize("pages", [1, 10_000])
def test_the_counts_are_those_without_it(pages: int, box: Sandbox, home: Path) -> None:
    require_measurable_host()
    tree = home / "tree"
    tree.mkdir()
    (tree / "touch.c").write_text(TOUCH)
    subprocess.run(["cc", "-O1", "-I", str(HEADERS), "-o", "touch-pages", "touch.c"], cwd=tree, check=True)
    os.sync()
    box.change_owner(tree)

    def counts(sandboxed: Sandbox | None) -> tuple[object, ...]:
        """Return what most executions count: on a busy machine an outlier fault comes in now and then."""
        found: Counter[tuple[object, ...]] = Counter()
        for _ in range(6):
            done = count_faults(
                ["./touch-pages", str(pages)],
                directory=tree,
                state=ProcessState(huge_pages="never"),
                timeout=30,
                region=True,
                sandbox=sandboxed,
            )
            readings = done.sample.readings
            found[readings["minor-faults"].value, readings["region:minor-faults"].value] += 1
        ((level, often),) = found.most_common(1)
        assert often > 3
        return level

    counts(None)
    without = counts(None)
    assert counts(box) == without
    assert without[1] == pages


FORKS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    char name[] = "forked-XXXXXX";
    FILE *file = fdopen(mkstemp(name), "w");
    int forked = 0;
    for (; forked < 60; forked++) {
        pid_t child = fork();
        if (child < 0) break;
        if (child == 0) { pause(); _exit(0); }
    }
    fprintf(file, "%d", forked);
    fclose(file);
    sleep(1);  /* until the others have forked too */
    return 0;
}
"""


@pytest.mark.perf
@pytest.mark.parametrize("grouped", [True, False])
def test_all_sandboxes_of_a_case_share_one_ceiling(
    grouped: bool, box: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_TASKS", 80)
    monkeypatch.setattr("runner.perf.perf_stat.MAX_TASKS", 80)
    if not grouped:
        monkeypatch.setattr(MemoryGroup, "limit_processes", lambda *_: False)
    tree = home / "tree"
    tree.mkdir()
    (tree / "forks.c").write_text(FORKS)
    subprocess.run(["cc", "-o", "forks", "forks.c"], cwd=tree, check=True)
    box.change_owner(tree)
    state = ProcessState(memory_limit=box.memory)
    with pytest.raises(ExecutionFailure, match="processes that it started kept running: forks"):
        count_processes(["./forks"], directory=tree, state=state, timeout=20, sandbox=box, n_processes=3)
    forked = [int(file.read_text()) for file in tree.glob("forked-*")]
    assert len(forked) == 3
    assert 30 < sum(forked) <= 80


@pytest.mark.parametrize(("number", "share"), [(1, 1024), (64, 16)])
def test_without_a_group_each_sandbox_gets_an_equal_share(number: int, share: int, box: Sandbox) -> None:
    shared = replace(box, sandbox_count=number)
    assert shared.confinement.processes == share
    assert shared.confinement.data_bytes * number <= box.memory
    prefix = shared.build_command_prefix(Path("/tree"), Path("/launcher"), 3)
    sizes = [int(prefix[place + 1]) for place, word in enumerate(prefix) if word == "--size"]
    assert sizes == [(1 << 30) // number] * 2


@pytest.mark.perf
def test_a_crash_in_it_is_told(box: Sandbox, home: Path) -> None:
    (home / "tree").mkdir()
    with pytest.raises(ExecutionFailure, match="was terminated by SIGSEGV"):
        count_faults(
            ["sh", "-c", "kill -SEGV $$"], directory=home / "tree", state=ProcessState(), timeout=20, sandbox=box
        )


def test_a_cache_that_is_hidden_is_an_empty_folder_with_only_what_is_shown_in_it(box: Sandbox, home: Path) -> None:
    cache, tree = home / "cache", home / "tree"
    for folder in (cache / "packages", cache / "private", tree):
        folder.mkdir(parents=True)
    shown = replace(box, empty_folders=(str(cache),), readable_folders=(str(cache / "packages"), str(home / "nothing")))
    script = f"ls {cache}; touch {cache}/made && echo written; touch {cache}/packages/made || echo refused"
    done = execute_confined(["sh", "-c", script], sandbox=shown, tree=tree, environment=BASE_VARIABLES, timeout=30)
    assert [line for line in done.output.splitlines() if "touch" not in line] == ["packages", "written", "refused"]
    assert sorted(entry.name for entry in cache.iterdir()) == ["packages", "private"]


def test_the_programs_of_a_folder_that_is_shown_by_a_link_are_found(tmp_path: Path) -> None:
    (tmp_path / "tools-2").mkdir()
    (tmp_path / "tools-2" / "cc").touch()
    (tmp_path / "tools").symlink_to("tools-2")
    shown = Sandbox(readable_folders=(str(tmp_path / "tools"),))
    assert shown.is_visible(tmp_path / "tools" / "cc")
    assert not shown.is_visible(tmp_path / "tools-2" / "cc"), "the sandbox has no such path"
    assert shown.select_visible_path(f"{tmp_path}/tools:{tmp_path}/tools-2:/usr/bin") == f"{tmp_path}/tools:/usr/bin"


def test_folders_to_show_may_begin_with_the_home(box: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("FAULTWATCH_SANDBOX_READ", "~/packages:/opt/x")
    assert create_sandbox().readable_folders == (f"{home}/packages", "/opt/x")


def test_folders_to_show_may_begin_in_the_current_one(
    box: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tree", "packages"):
        (home / name).mkdir()
    (home / "packages" / "one").touch()
    monkeypatch.chdir(home)
    monkeypatch.setenv("FAULTWATCH_SANDBOX_READ", "packages")
    done = execute_confined(
        ["ls", str(home / "packages")],
        sandbox=create_sandbox(),
        tree=home / "tree",
        environment=BASE_VARIABLES,
        timeout=30,
    )
    assert done.output == "one\n"
