"""All checks, in the order in which they are shown.

A check is a function from the host to a result. The names below are stable: programs read them from ``--json``, and
automatic fixes look them up.
"""

from collections.abc import Callable, Iterator, Mapping

from runner.doctor import measurement_checks, memory_checks, processor_checks, tool_checks
from runner.doctor.probe import HostProbe
from runner.doctor.result import Check, CheckResult, CheckStatus, make_unknown
from runner.errors import FaultwatchError

CHECKS: Mapping[str, Callable[[HostProbe], CheckResult]] = {
    "perf": measurement_checks.check_perf,
    "permission": measurement_checks.check_permission,
    "events": measurement_checks.check_events,
    "canary": measurement_checks.check_canary,
    "address layout": measurement_checks.check_address_layout,
    "refusing huge pages": measurement_checks.check_refusing_huge_pages,
    "user": measurement_checks.check_user,
    "git": tool_checks.check_git,
    "compilers": tool_checks.check_compilers,
    "allocators": tool_checks.check_allocators,
    "sandbox": tool_checks.check_sandbox,
    "disk": tool_checks.check_disk,
    "memory": memory_checks.check_memory,
    "limits": memory_checks.check_limits,
    "huge pages": memory_checks.check_huge_pages,
    "same-page merging": memory_checks.check_same_page_merging,
    "NUMA balancing": memory_checks.check_numa_balancing,
    "idle memory": memory_checks.check_idle_memory,
    "governor": processor_checks.check_governor,
    "turbo": processor_checks.check_turbo,
    "clock": processor_checks.check_clock,
    "watchdog": processor_checks.check_watchdog,
    "timers": processor_checks.check_timers,
    "load": processor_checks.check_load,
}
"""From the checks of what prevents measuring to those of what only disturbs times."""


def run_checks(host: HostProbe) -> Iterator[Check]:
    """Run every check in turn."""
    for name, check in CHECKS.items():
        try:
            result = check(host)
        except (OSError, ValueError) as error:  # A file of the host is unreadable, or has an unexpected format.
            result = make_unknown(f"cannot be checked: {error}")
        except FaultwatchError as error:
            result = make_unknown(f"cannot be checked: {error.what}", error.remedy)
        yield Check(name, *result)


def is_measurable(checks: list[Check]) -> bool:
    """Return whether no check found a problem."""
    return all(check.status is not CheckStatus.PROBLEM for check in checks)
