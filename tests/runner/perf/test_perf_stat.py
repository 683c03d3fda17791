"""Real programs under real perf stat."""

import errno
import gc
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from runner.contract.level import find_majority
from runner.contract.report import Status
from runner.doctor.counting import require_measurable_host
from runner.errors import FaultwatchError
from runner.perf.attached_perf import AttachedPerf, AttachError
from runner.perf.perf_stat import Execution, count_faults, count_processes
from runner.perf.program_failure import ExecutionFailure
from runner.process_state import system_calls
from runner.process_state.memory_group import MemoryGroup
from runner.process_state.process_state import ProcessState

pytestmark = pytest.mark.perf

_PYTHON_LEAKS = sys.version_info < (3, 11, 4)
"""Whether Python's own subprocess leaves descriptors open where it runs out of them, as that of Debian 12 does."""

TOUCH = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int n, char **v) {
    long pages = atol(v[1]);
    char *p = mmap(0, (pages + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < pages; i++) p[i * 4096] = 1;
    if (n > 2) *(volatile int *)0 = 0;
    puts("done");
    return 0;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_measurable_host()
    folder = tmp_path_factory.mktemp("programs")
    (folder / "touch.c").write_text(TOUCH)
    subprocess.run(["cc", "-O1", "-o", "touch-pages", "touch.c"], cwd=folder, check=True)
    (folder / "not-executable").write_text("text")
    return folder


def run(programs: Path, *command: str, timeout: float = 20, **variables: str) -> Execution:
    state = ProcessState(variables=variables, huge_pages="never")
    return count_faults(command, directory=programs, state=state, timeout=timeout)


def faults(execution: Execution) -> int:
    value = execution.sample.readings["minor-faults"].value
    assert isinstance(value, int)
    return value


def test_counts_are_identical_and_one_page_is_one_fault(programs: Path) -> None:
    run(programs, "./touch-pages", "10000")
    counts = {faults(run(programs, "./touch-pages", "10000")) for _ in range(5)}
    assert len(counts) == 1
    assert faults(run(programs, "./touch-pages", "10001")) == counts.pop() + 1


def test_a_count_has_its_status_and_perfs_own_words(programs: Path) -> None:
    sample = run(programs, "./touch-pages", "10").sample
    assert sample.readings["major-faults"].status is Status.COUNTED
    assert sample.readings["elapsed"].value is not None
    assert ";minor-faults;" in sample.perf_output
    for name in ("instructions", "cycles"):
        # With or without a hardware counter, there is an honest answer.
        reading = sample.readings[name]
        assert (reading.value is not None) == (reading.status in {Status.COUNTED, Status.MULTIPLEXED})
        assert reading.value != 0


def test_an_event_that_perf_does_not_know_is_not_supported(programs: Path) -> None:
    sample = count_faults(
        ["./touch-pages", "10"],
        directory=programs,
        state=ProcessState(),
        timeout=20,
        events=["no-such-event"],
    ).sample
    assert sample.readings["no-such-event"].status is Status.NOT_SUPPORTED
    assert sample.readings["minor-faults"].value


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("./no-such-program",), "was not found"),
        (("no-such-program",), "was not found"),
        (("./not-executable",), "is not executable"),
        (("sh", "-c", "echo gone wrong >&2; exit 3"), "ended with exit code 3"),
        (("./touch-pages", "10", "crash"), "was terminated by SIGSEGV"),
        (("sh", "-c", "kill -KILL $$"), "was terminated by SIGKILL"),
    ],
)
def test_a_program_that_fails_is_told(command: tuple[str, ...], said: str, programs: Path) -> None:
    with pytest.raises(ExecutionFailure, match=said):
        run(programs, *command)


def test_the_log_of_a_failure_has_what_the_program_said(programs: Path) -> None:
    with pytest.raises(ExecutionFailure) as caught:
        run(programs, "sh", "-c", "echo gone wrong >&2; exit 3")
    assert "gone wrong" in caught.value.log


def test_a_program_that_hangs_is_ended(programs: Path) -> None:
    with pytest.raises(ExecutionFailure, match=r"did not finish within 0\.5 s") as caught:
        run(programs, "sleep", "60", timeout=0.5)
    assert caught.value.was_stopped


def test_a_program_that_only_says_so_was_not_stopped(programs: Path) -> None:
    with pytest.raises(ExecutionFailure) as caught:
        run(programs, "sh", "-c", "echo did not finish within 5 s >&2; exit 3 # did not finish within 5 s")
    assert not caught.value.was_stopped


def test_limits_and_personality_of_the_caller_do_not_reach_the_program(programs: Path) -> None:
    shown = ["sh", "-c", "ulimit -Sn; ulimit -Hn; ulimit -Sv; ulimit -Sl; cat /proc/self/personality"]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = system_calls.get_personality()
    ours = run(programs, *shown).output
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    system_calls.set_personality(0x0200000)  # ADDR_COMPAT_LAYOUT, as of setarch --addr-compat-layout
    try:
        assert run(programs, *shown).output == ours
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
        assert system_calls.get_personality() == 0x0200000
    finally:
        system_calls.set_personality(before)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert ours.split()[0] == "1024"
    assert ours.split()[-1] == "00040000"


@pytest.mark.parametrize(
    "start",
    # More than the kernel's list of children that is read in one piece.
    ["{sleep} &", "setsid {sleep} &", "(setsid sh -c '{sleep}' &) &", "for i in $(seq 900); do {sleep} & done"],
)
def test_what_goes_on_after_its_parent_is_named_and_ended(start: str, programs: Path) -> None:
    sleep = f"sleep 60.{os.getpid()}"  # no other test, beside this one, sleeps as long
    with pytest.raises(
        ExecutionFailure,
        match=(
            r"ended, but processes that it started kept running: (sh|sleep)(, "
            r"sleep)*$"
        ),
    ):
        run(programs, "sh", "-c", start.format(sleep=sleep))
    assert subprocess.run(["pgrep", "-f", f"^{sleep}"], capture_output=True, check=False).stdout == b""


def test_what_ends_soon_after_its_parent_is_counted(programs: Path) -> None:
    done = run(programs, "sh", "-c", "(sleep 0.02; ./touch-pages 5000) &")
    assert faults(done) > 5000


def test_a_child_that_was_killed_for_memory_is_a_failure(programs: Path) -> None:
    state = ProcessState(huge_pages="never", memory_limit=8 << 20)
    if state.read_settings()["process.memory_limit"] == "none":
        pytest.skip("this host does not let us limit memory")
    with pytest.raises(ExecutionFailure, match=r"one of its processes was killed.*memory limit 8388608 bytes"):
        count_faults(["sh", "-c", "./touch-pages 10000; exit 0"], directory=programs, state=state, timeout=20)


@pytest.mark.parametrize(("added_up", "status"), [(7000, Status.NOT_COUNTED), (9_000_000, Status.COUNTED)])
def test_a_group_that_counted_fewer_faults_than_its_processes_took_has_no_count(
    added_up: int, status: Status, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A group as the kernel shows it for up to two seconds: with sums from before the programs.
    (tmp_path / "memory.stat").write_text(f"pgfault {added_up}\n")
    monkeypatch.setattr(MemoryGroup, "apply", lambda group: setattr(group, "folder", tmp_path))
    monkeypatch.setattr(MemoryGroup, "undo", lambda group: setattr(group, "folder", None))
    state = ProcessState(huge_pages="never")
    # One of them takes fewer faults than the sum, both together more.
    done = count_processes(["./touch-pages", "5000"], directory=programs, state=state, timeout=20, n_processes=2)
    assert done.group_readings["cgroup:pgfault"].status is status


def test_more_processes_than_there_are_descriptors_for_are_refused_with_what_to_do(programs: Path) -> None:
    state = ProcessState(huge_pages="never")

    def run_together(processes: int) -> None:
        count_processes(["true"], directory=programs, state=state, timeout=20, n_processes=processes)

    run_together(1)  # what is made once needs descriptors too
    gc.collect()  # what earlier tests left to the collector would be closed meanwhile
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for room in range(41, 56, 2):  # it runs out at another step each time
        before = {int(file.name) for file in Path("/proc/self/fd").iterdir()}
        free = [number for number in range(1000) if number not in before]
        resource.setrlimit(resource.RLIMIT_NOFILE, (free[room], hard))
        try:
            with pytest.raises(
                FaultwatchError, match=r"^8 processes at once need more open files .*ulimit -n.*`processes` in"
            ):
                run_together(8)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        after = {int(file.name) for file in Path("/proc/self/fd").iterdir()}
        assert after <= before or _PYTHON_LEAKS, "none of them stays open"


def test_a_control_group_for_which_there_is_no_descriptor_is_no_fault_of_the_group(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(number: int) -> None:
        raise OSError(number, os.strerror(number))

    for number, said in (
        (errno.EMFILE, r"needs more open files .*raise `ulimit -n`; each process"),
        (errno.ENFILE, r"needs more open files .*raise `fs.file-max`, the limit of the whole host; each process"),
        (errno.EBUSY, "control group: Device or resource"),
    ):
        monkeypatch.setattr(MemoryGroup, "add_process", lambda *_, number=number: refuse(number))
        with pytest.raises(FaultwatchError, match=said):
            run(programs, "true")


def test_events_of_the_kernel_alone_are_not_zero_where_only_user_space_is_counted() -> None:
    events = ["context-switches:u", "cpu-migrations:u", "minor-faults:u"]
    with subprocess.Popen(["sleep", "60"]) as process:
        perf = AttachedPerf([process.pid], events)
        perf.send_command("enable")
        process.kill()
        process.wait()
        perf.end()
        readings = perf.read_readings()
        perf.close()
    assert readings["context-switches"].status is Status.NOT_SUPPORTED
    assert readings["cpu-migrations"].status is Status.NOT_SUPPORTED
    assert readings["minor-faults"].status is Status.COUNTED


def test_a_library_that_is_not_preloaded_is_told(programs: Path) -> None:
    with pytest.raises(ExecutionFailure, match=r"without 'libnowhere\.so'"):
        run(programs, "./touch-pages", "10", LD_PRELOAD="libnowhere.so")


def test_a_missing_perf_is_told(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr("runner.perf.event_support.build_perf_stat_command", lambda *_: ["perf-is-not-here"])
    with pytest.raises(FaultwatchError, match="perf is not installed"):
        count_faults(["sh"], directory=programs, state=ProcessState(), timeout=5, events=["another-event"])


def test_the_largest_resident_set_is_the_programs_own(programs: Path) -> None:
    # perf itself takes more than 10 MiB: none of that is in the value.
    small, large = (run(programs, "./touch-pages", pages).sample.readings["max-rss"].value for pages in ("1", "20000"))
    assert small is not None
    assert large is not None
    assert small < 4 << 20
    assert abs(large - small - 20_000 * 4096) < 2 << 20


def test_the_count_is_that_of_perf_alone_with_the_same_variables(
    programs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    state = ProcessState(huge_pages="never")
    command = ["./touch-pages", "5000"]

    def alone(*command: str) -> tuple[str, str]:
        output = tmp_path / "alone.csv"
        with state.apply():
            done = subprocess.run(
                ["perf", "stat", "-x", ";", "-o", output, "-e", "minor-faults", "--", *command],
                cwd=programs,
                env=state.environment,
                check=True,
                capture_output=True,
                text=True,
            )
        return done.stdout, output.read_text().strip().rpartition("\n")[2].partition(";")[0]

    # perf adds variables to the environment of what it starts.
    variables = dict(line.split("=", 1) for line in alone("env")[0].splitlines())
    monkeypatch.setattr("runner.perf.counted_program.pad_variables", lambda *_: variables)
    run(programs, *command)
    # On a busy machine an outlier fault comes in now and then.
    bare = find_majority([int(alone(*command)[1]) for _ in range(5)])
    ours = find_majority([faults(run(programs, *command)) for _ in range(5)])
    assert bare
    assert ours
    assert bare[0] == ours[0]


FORKING = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void tell(const char *what) {
    char answer[4];
    dprintf(atoi(getenv("FAULTWATCH_CONTROL_FD")), "%s\n", what);
    if (read(atoi(getenv("FAULTWATCH_ACK_FD")), answer, 4) != 4) exit(3);
}
int main(void) {
    pid_t forker = fork();
    if (forker == 0) {
        signal(SIGCHLD, SIG_IGN);
        for (;;) {
            if (fork() == 0) { usleep(2000); _exit(0); }
            usleep(300);
        }
    }
    usleep(50000);
    tell("enable");
    char *pages = mmap(0, 4096 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 4096; i++) pages[4096 * i] = 1;
    usleep(20000);
    tell("disable");
    kill(forker, SIGKILL);
    waitpid(forker, NULL, 0);
    usleep(50000);
    return 0;
}
"""


def test_a_region_is_counted_although_children_come_and_go(programs: Path) -> None:
    (programs / "forking.c").write_text(FORKING)
    subprocess.run(["cc", "-o", programs / "forking", programs / "forking.c"], check=True)
    for _ in range(5):
        state = ProcessState(huge_pages="never")
        done = count_faults(["./forking"], directory=programs, state=state, timeout=20, region=True)
        reading = done.sample.readings["region:minor-faults"]
        assert reading.value, reading.reason
        assert reading.value >= 4096


def test_why_perf_cannot_attach_is_told() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    perf = AttachedPerf([process.pid], ["minor-faults"])
    with pytest.raises(AttachError, match=r"could not attach to the program: (?!Error)\w"):
        perf.send_command("enable")
    perf.close()
