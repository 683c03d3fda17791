"""What on this host can forbid or spoil a measurement, and the remedy.

A check is a function from the host to a verdict. The names below are stable: programs read them from ``--json``, and
whatever mends a finding by itself is to be looked up by them.
"""

from collections.abc import Callable, Iterator, Mapping

from runner.doctor import machine, measuring, memory, tools
from runner.doctor.check import Check, Status, Verdict, unknown
from runner.doctor.counting import Scope, counting_scope, require_measurable
from runner.doctor.host import Host

__all__ = [
    "CHECKS",
    "Check",
    "Host",
    "Scope",
    "Status",
    "counting_scope",
    "examine",
    "is_measurable",
    "require_measurable",
]

CHECKS: Mapping[str, Callable[[Host], Verdict]] = {
    "perf": measuring.perf,
    "permission": measuring.permission,
    "events": measuring.events,
    "canary": measuring.canary,
    "address layout": measuring.address_layout,
    "refusing huge pages": measuring.refusing_huge_pages,
    "user": measuring.user,
    "git": tools.git,
    "compilers": tools.compilers,
    "allocators": tools.allocators,
    "sandbox": tools.sandbox,
    "disk": tools.disk,
    "memory": memory.memory,
    "limits": memory.limits,
    "huge pages": memory.huge_pages,
    "same-page merging": memory.same_page_merging,
    "NUMA balancing": memory.numa_balancing,
    "idle memory": memory.idle_memory,
    "governor": machine.governor,
    "turbo": machine.turbo,
    "clock": machine.clock,
    "watchdog": machine.watchdog,
    "timers": machine.timers,
    "load": machine.load,
}
"""In the order in which they are shown: what forbids measuring first, what only disturbs times last."""


def examine(host: Host) -> Iterator[Check]:
    """Make every check, one after the other."""
    for name, check in CHECKS.items():
        try:
            verdict = check(host)
        except (OSError, ValueError) as error:
            verdict = unknown(f"cannot be found out: {error}")
        yield Check(name, *verdict)


def is_measurable(checks: list[Check]) -> bool:
    """Whether nothing that was found forbids measuring."""
    return all(check.status is not Status.PROBLEM for check in checks)
