"""Checks of the measurement itself: perf, its permission, its events, a canary, and the state of a process."""

import re
import sys

from runner.doctor.check import Status, Verdict, ok, problem, unknown, warning
from runner.doctor.counting import ALLOW, PARANOID, try_counting
from runner.doctor.host import Host
from runner.perf.command import SEPARATOR, STANDING_EVENTS
from runner.process import ProcessState

_CANARY = """
import mmap, sys
pages = int(sys.argv[1])
memory = mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(pages):
    memory[page * mmap.PAGESIZE] = 1
"""
_FEW, _MORE = 10_000, 11_000
"""Pages. Of the same number of digits, so that both command lines have one length."""
_LAYOUT = 30
"""Faults by which two executions of one program can differ where the address layout is random."""


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
    """Touching 1,000 pages more is exactly 1,000 faults more."""
    with ProcessState(huge_pages="never").applied():
        # The first run is discarded: it fills the page cache.
        _, few, more = (_faults_of_touching(host, pages) for pages in (_FEW, _FEW, _MORE))
    if few is None or more is None:
        return unknown("perf did not count")
    extra, expected = more - few, _MORE - _FEW
    if extra == expected:
        return ok(f"touching {expected:,} pages more counted exactly {extra:,} faults more")
    wrong = f"touching {expected:,} pages more counted {extra:,} faults more"
    if address_layout(host).status is not Status.OK and abs(extra - expected) <= _LAYOUT:
        return warning(f"{wrong}: the address layout varies", "mend the address layout")
    return problem(
        f"{wrong}: counts from this host cannot be trusted",
        "mend the other findings and try again; some sandboxes and emulators serve faults in a way of their own",
    )


def _faults_of_touching(host: Host, pages: int) -> int | None:
    program = [sys.executable, "-S", "-s", "-B", "-c", _CANARY, str(pages)]
    answer = host.run(["perf", "stat", "-x", SEPARATOR, "-e", "minor-faults", "--", *program])
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
