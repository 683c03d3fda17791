"""Checks of the measurement itself: perf, its permission, its events, a canary, and the state of a process."""

import os
import re
import sys
import tempfile

from runner.doctor.check import Verdict, ok, problem, unknown, warning
from runner.doctor.counting import ALLOW, PARANOID, try_counting
from runner.doctor.host import Host
from runner.perf.command import SEPARATOR, STANDING_EVENTS
from runner.state.process import ProcessState

_CANARY = """
import mmap, os, sys
pages, control, ack = int(sys.argv[1]), os.open(sys.argv[2], os.O_WRONLY), os.open(sys.argv[3], os.O_RDONLY)
memory = mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
def tell(command):
    os.write(control, command)
    os.read(ack, 5)
tell(b"enable\\n")
for page in range(pages):
    memory[page * mmap.PAGESIZE] = 1
tell(b"disable\\n")
"""
_PAGES = (10_000, 11_000)


def perf(host: Host) -> Verdict:
    """Perf is installed, for this kernel."""
    counting = try_counting(host)
    if counting.is_missing:
        return problem(counting.what, counting.remedy)
    found = re.search(r"perf version (\S+)", host.run(["perf", "--version"]).text)
    return ok(f"perf {found[1]}" if found else "perf")


def permission(host: Host) -> Verdict:
    """Counting is allowed, in the kernel too."""
    counting = try_counting(host)
    level = host.tree.text(PARANOID) or "unknown"
    setting = f"kernel.perf_event_paranoid is {level}"
    if counting.is_missing:
        return unknown("cannot be tried without perf")
    if counting.scope is None:
        return problem(counting.what, counting.remedy)
    if counting.scope == "user":
        return warning(f"only faults in user space are counted, not those within system calls: {setting}", ALLOW)
    return ok(f"faults in user space and in the kernel are counted ({setting})")


def events(host: Host) -> Verdict:
    """Which of the standing events this machine can count."""
    answer = host.run(["perf", "stat", "-x", SEPARATOR, "-e", ",".join(STANDING_EVENTS), "--", "true"])
    if answer.status != 0:
        return unknown("perf cannot count all standing events at once", "each run says which events it lacks")
    rows = [line.split(SEPARATOR) for line in answer.text.splitlines() if line.count(SEPARATOR) >= 3]
    missing = [row[2].partition(":")[0] for row in rows if row[0] == "<not supported>"]
    counted = len(STANDING_EVENTS) - len(missing)
    if not missing:
        return ok(f"all {counted} standing events, software and hardware")
    return warning(
        f"{counted} of {len(STANDING_EVENTS)} standing events; missing: {', '.join(missing)}",
        "fault counts need none of these; hardware events need bare metal, or a virtual PMU (QEMU: -cpu host)",
    )


def canary(host: Host) -> Verdict:
    """Touching so many pages is exactly so many faults.

    Only the touching is counted: the start of a program that uses shared libraries, as Python does, is off by a fault
    in about one of a hundred executions, because of what other programs do to the same pages of the page cache.
    """
    if try_counting(host).scope is None:
        return unknown("cannot be tried while perf does not count")
    with ProcessState(huge_pages="never").applied():
        counts = [_faults_of_touching(host, pages) for pages in _PAGES]
    if None in counts:
        return unknown("this perf does not count a part of a program", "a perf of version 5.10 or later can")
    findings = [f"{pages:,} pages touched, {count:,} faults" for pages, count in zip(_PAGES, counts, strict=True)]
    if tuple(counts) == _PAGES:
        return ok(f"exact: {'; '.join(findings)}")
    return problem(
        f"counts from this host cannot be trusted: {'; '.join(findings)}",
        "mend the other findings and try again; some sandboxes and emulators serve faults in a way of their own",
    )


def _faults_of_touching(host: Host, pages: int) -> int | None:
    with tempfile.TemporaryDirectory(prefix="faultwatch-") as scratch:
        control, ack = f"{scratch}/control", f"{scratch}/ack"
        os.mkfifo(control)
        os.mkfifo(ack)
        closed_at_first = ["-D", "-1", "--control", f"fifo:{control},{ack}"]
        program = [sys.executable, "-S", "-s", "-B", "-c", _CANARY, str(pages), control, ack]
        answer = host.run(["perf", "stat", "-x", SEPARATOR, *closed_at_first, "-e", "minor-faults", "--", *program])
    found = re.search(rf"^(\d+){SEPARATOR}[^;]*{SEPARATOR}minor-faults", answer.text, re.MULTILINE)
    return int(found[1]) if found and answer.status == 0 else None


def address_layout(host: Host) -> Verdict:
    """Address randomisation can be switched off for a process."""
    if host.tree.text("proc/sys/kernel/randomize_va_space") == "0":
        return ok("not randomised on this host at all")
    if host.can_fix_layout():
        return ok("randomisation is switched off for measured processes")
    return warning(
        "randomisation cannot be switched off: counts vary by a few faults from one execution to the next",
        "in a container: docker run --security-opt seccomp=unconfined; or on the host: "
        "sudo sysctl -w kernel.randomize_va_space=0",
    )


def refusing_huge_pages(host: Host) -> Verdict:
    """A process can be denied transparent huge pages."""
    if host.can_refuse_huge_pages():
        return ok("can be switched off for a process")
    return warning(
        'cannot be switched off for a process: huge_pages = "never" in a workload has no effect',
        "a kernel of version 3.15 or later, with CONFIG_TRANSPARENT_HUGEPAGE, can",
    )


def user(host: Host) -> Verdict:
    """Who measures."""
    if not host.is_root:
        return ok("an ordinary user")
    return warning("root: the programs that are built and measured may do anything", "measure as an ordinary user")
