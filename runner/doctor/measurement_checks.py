"""Checks of the measurement itself: perf, its permission, its events, the canary, and the state of a process."""

import re

from runner.doctor.counting import ALLOW_COMMAND, PARANOID_SETTING, try_counting
from runner.doctor.probe import HostProbe
from runner.doctor.result import CheckResult, make_ok, make_problem, make_unknown, make_warning
from runner.perf.counted_events import SEPARATOR, STANDARD_EVENTS
from runner.perf.perf_binary import get_perf_program

_CANNOT_COUNT = "cannot be checked, because perf cannot count page faults"


def check_perf(host: HostProbe) -> CheckResult:
    """Check that perf is installed for this kernel, and that this user may execute it."""
    counting = try_counting(host)
    if counting.cannot_start:
        return make_problem(counting.what, counting.remedy)
    version = re.search(r"perf version (\S+)", host.run([get_perf_program(), "--version"]).text)
    return make_ok(f"perf {version[1]}" if version else "perf")


def check_permission(host: HostProbe) -> CheckResult:
    """Check that counting is allowed, including inside the kernel."""
    counting = try_counting(host)
    level = host.tree.read_text(PARANOID_SETTING) or "unknown"
    setting = f"kernel.perf_event_paranoid is {level}"
    if counting.cannot_start:
        return make_unknown("cannot be checked without perf")
    if counting.scope is None:
        return make_problem(counting.what, counting.remedy)
    if counting.scope == "user":
        return make_warning(
            f"only faults in user space are counted, not those inside system calls: {setting}", ALLOW_COMMAND
        )
    return make_ok(f"faults in user space and in the kernel are counted ({setting})")


def check_events(host: HostProbe) -> CheckResult:
    """Check that this machine can count all standard events."""
    if try_counting(host).scope is None:
        return make_unknown(_CANNOT_COUNT)
    answer = host.run([get_perf_program(), "stat", "-x", SEPARATOR, "-e", ",".join(STANDARD_EVENTS), "--", "true"])
    if answer.status != 0:
        return make_unknown("perf cannot count all standard events at once", "each run records which events it lacks")
    # A line about an event has at least four fields (count, unit, event, …); the other lines are messages.
    rows = [line.split(SEPARATOR) for line in answer.text.splitlines() if line.count(SEPARATOR) >= 3]
    missing_events = [row[2].partition(":")[0] for row in rows if row[0] == "<not supported>"]
    counted_events = len(STANDARD_EVENTS) - len(missing_events)
    if not missing_events:
        return make_ok(f"all {counted_events} standard events, software and hardware")
    return make_warning(
        f"{counted_events} of {len(STANDARD_EVENTS)} standard events; missing: {', '.join(missing_events)}",
        "fault counts need none of these; hardware events need bare metal, or a virtual PMU (QEMU: -cpu host)",
    )


def check_canary(host: HostProbe) -> CheckResult:
    """Check that the canary, whose number of faults is known, is counted correctly."""
    if try_counting(host).scope is None:
        return make_unknown(_CANNOT_COUNT)
    outcome = host.count_canary(host.home / "programs")
    if outcome.canary is None:
        return make_unknown(outcome.problem, "install a C compiler (cc) and perf 5.10 or later")
    if outcome.canary.holds:
        left_out_kinds = "".join(f"; no {kind}: {reason}" for kind, reason in outcome.canary.left_out.items())
        return make_ok(f"exact: {outcome.canary.finding}{left_out_kinds}")
    return make_problem(
        f"counts from this host cannot be trusted: {outcome.canary.finding}",
        "fix the other findings and try again; some sandboxes and emulators handle faults differently",
    )


def check_address_layout(host: HostProbe) -> CheckResult:
    """Check that address randomisation can be switched off for a process."""
    if host.tree.read_text("proc/sys/kernel/randomize_va_space") == "0":
        return make_ok("address randomisation is switched off on this host")
    if host.can_fix_layout():
        return make_ok("address randomisation is switched off for measured processes")
    return make_warning(
        "address randomisation cannot be switched off: counts vary by a few faults from one execution to the next",
        "in a container: docker run --security-opt seccomp=unconfined; or on the host: "
        "sudo sysctl -w kernel.randomize_va_space=0",
    )


def check_refusing_huge_pages(host: HostProbe) -> CheckResult:
    """Check that a process can refuse transparent huge pages."""
    if host.can_refuse_huge_pages():
        return make_ok("a process can refuse huge pages")
    return make_warning(
        'a process cannot refuse huge pages: `huge_pages = "never"` in a workload has no effect',
        "use kernel 3.15 or later with CONFIG_TRANSPARENT_HUGEPAGE",
    )


def check_user(host: HostProbe) -> CheckResult:
    """Check that the runner is not root."""
    if not host.is_root:
        return make_ok("an ordinary user")
    return make_warning("root: the programs that are built and measured can do anything", "measure as an ordinary user")
