"""All checks, in the order in which they are shown.

A check is a function from the host to a result. The names below are stable: programs read them from ``--json``, and
automatic fixes look them up.
"""

from collections.abc import Callable, Iterator, Mapping

from runner.doctor import measurement_checks, memory_checks, processor_checks, tool_checks
from runner.doctor.probe import HostProbe
from runner.doctor.result import Check, CheckResult, CheckStatus, unknown

CHECKS: Mapping[str, Callable[[HostProbe], CheckResult]] = {
    "perf": measurement_checks.perf,
    "permission": measurement_checks.permission,
    "events": measurement_checks.events,
    "canary": measurement_checks.canary,
    "address layout": measurement_checks.address_layout,
    "refusing huge pages": measurement_checks.check_refusing_huge_pages,
    "user": measurement_checks.user,
    "git": tool_checks.git,
    "compilers": tool_checks.compilers,
    "allocators": tool_checks.allocators,
    "sandbox": tool_checks.sandbox,
    "disk": tool_checks.disk,
    "memory": memory_checks.memory,
    "limits": memory_checks.limits,
    "huge pages": memory_checks.huge_pages,
    "same-page merging": memory_checks.check_same_page_merging,
    "NUMA balancing": memory_checks.numa_balancing,
    "idle memory": memory_checks.check_idle_memory,
    "governor": processor_checks.governor,
    "turbo": processor_checks.turbo,
    "clock": processor_checks.clock,
    "watchdog": processor_checks.watchdog,
    "timers": processor_checks.timers,
    "load": processor_checks.load,
}
"""First the checks of what prevents measuring, last those of what only disturbs times."""


def examine(host: HostProbe) -> Iterator[Check]:
    """Run every check in turn."""
    for name, check in CHECKS.items():
        try:
            result = check(host)
        except (OSError, ValueError) as error:
            result = unknown(f"cannot be checked: {error}")
        yield Check(name, *result)


def is_measurable(checks: list[Check]) -> bool:
    """Return whether no check found a problem."""
    return all(check.status is not CheckStatus.PROBLEM for check in checks)
