"""Applies the safe fixes, and undoes them exactly.

pyperf quietens processors and interrupts (``python -m pyperf system tune``); this module fixes the memory settings.
The previous values are stored before the first change, because ``pyperf system reset`` only restores usual values.
Every fix lasts until the host reboots, or until it is undone.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from runner.doctor import memory_checks, processor_checks
from runner.doctor.probe import HostProbe
from runner.doctor.result import CheckResult, CheckStatus
from runner.doctor.undo_record import read_record, select_restorable_settings, write_record
from runner.errors import FaultwatchError
from runner.execution.own_command import build_installed_command

_CPU = "sys/devices/system/cpu"
_SAMPLE_RATE = "proc/sys/kernel/perf_event_max_sample_rate"


class OwnFix(NamedTuple):
    """The check of a kernel setting, with the file of the setting and the value that fixes it."""

    check: Callable[[HostProbe], CheckResult]
    file: str
    value: str


OWN_FIXES = {
    "same-page merging": OwnFix(memory_checks.check_same_page_merging, "sys/kernel/mm/ksm/run", "2"),
    "NUMA balancing": OwnFix(memory_checks.check_numa_balancing, "proc/sys/kernel/numa_balancing", "0"),
    "huge pages": OwnFix(memory_checks.check_huge_pages, "sys/kernel/mm/transparent_hugepage/enabled", "madvise"),
    "watchdog": OwnFix(processor_checks.check_watchdog, "proc/sys/kernel/nmi_watchdog", "0"),
}
"""The fixes of this module, by the name of their check. No fix permits counting: that would weaken security."""
PYPERF_FIXES = {"governor": processor_checks.check_governor, "turbo": processor_checks.check_turbo}

_TUNABLES = (
    *(fix.file for fix in OWN_FIXES.values()),
    *("proc/sys/kernel/randomize_va_space", _SAMPLE_RATE),
    *(f"{_CPU}/intel_pstate/no_turbo", f"{_CPU}/cpufreq/boost"),
    *(f"{_CPU}/cpufreq/policy*/scaling_governor", f"{_CPU}/cpufreq/policy*/scaling_min_freq"),
    *("proc/irq/default_smp_affinity", "proc/irq/*/smp_affinity"),
)
"""Every file that a fix may change."""


class FixReport(Struct):
    """What was fixed.

    Attributes
    ----------
    changed
        By file: the previous and the new value.
    failed
        One line for each fix that failed.
    needs_root
        Checks that only root can fix.
    """

    changed: dict[str, tuple[str, str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    needs_root: list[str] = field(default_factory=list)


def get_undo_file(host: HostProbe) -> Path:
    """Return the file that stores the values from before the first fix."""
    return host.home / "doctor-undo.json"


def apply_fixes(host: HostProbe) -> FixReport:
    """Apply every safe fix; without root, only list what root could fix.

    Raises
    ------
    FaultwatchError
        The previous values cannot be stored, so nothing was changed.
    """
    fixable_names = [name for name, fix in OWN_FIXES.items() if fix.check(host).status is CheckStatus.WARNING]
    if not host.is_root:
        return FixReport(
            needs_root=[
                *fixable_names,
                *(name for name, check in PYPERF_FIXES.items() if check(host).status is CheckStatus.WARNING),
            ],
        )
    before = _read_current_values(host)
    _store_values_before_fix(host, before)
    fix_report = FixReport()
    tuned_names = [name for name, check in PYPERF_FIXES.items() if check(host).status is CheckStatus.WARNING]
    was_reset_needed = bool(read_record(get_undo_file(host)).get("reset"))
    _record_pyperf_reset(host, is_needed=True)  # in case it is interrupted
    answer = host.run(build_installed_command("pyperf", "system", "tune"))
    was_killed = answer.status < 0
    is_reset_needed = was_reset_needed or was_killed or _has_changed_services(answer.text)
    _record_pyperf_reset(host, is_needed=is_reset_needed)
    fix_report.failed += [
        f"{name}: `pyperf system tune` did not fix it; run it as root to see its errors"
        for name in tuned_names
        if PYPERF_FIXES[name](host).status is CheckStatus.WARNING
    ]
    # pyperf lowers the maximum sample rate to one event per second, which would ruin profiles.
    _write_values(host, {_SAMPLE_RATE: before[_SAMPLE_RATE]} if _SAMPLE_RATE in before else {}, fix_report)
    _write_values(host, {OWN_FIXES[name].file: OWN_FIXES[name].value for name in fixable_names}, fix_report)
    fix_report.changed = _find_differences(before, _read_current_values(host))
    return fix_report


def undo_fixes(host: HostProbe) -> FixReport:
    """Restore everything as it was before the first fix.

    Raises
    ------
    FaultwatchError
        Nothing was fixed, or the user may not restore it.
    """
    try:
        undo_record = read_record(get_undo_file(host))
        settings = select_restorable_settings(dict(undo_record["settings"]), _TUNABLES)
    except FileNotFoundError:
        raise FaultwatchError(f"nothing to undo: {get_undo_file(host)} does not exist") from None
    except (OSError, ValueError, KeyError, TypeError) as error:  # The file is unreadable or damaged.
        raise FaultwatchError(
            f"{get_undo_file(host)} cannot be read: {error}", "restart the host: no fix outlasts a restart"
        ) from None
    if not host.is_root:
        raise FaultwatchError("only root can undo the fixes", "run the command with sudo")
    fix_report = FixReport()
    before = _read_current_values(host)
    if undo_record.get("reset"):
        host.run(build_installed_command("pyperf", "system", "reset"))
    _write_values(host, settings, fix_report)
    fix_report.changed = _find_differences(before, _read_current_values(host))
    if not fix_report.failed:
        get_undo_file(host).unlink()
    return fix_report


def _read_current_values(host: HostProbe) -> dict[str, str]:
    """Return the current value of every file that a fix may change."""
    return {name: value for name in _list_tunable_files(host) if (value := host.tree.read_choice(name)) is not None}


def _list_tunable_files(host: HostProbe) -> Iterator[str]:
    """Yield the files that a fix may change, relative to the root of the file system."""
    root = host.tree.root
    for pattern in _TUNABLES:
        if "*" not in pattern:
            yield pattern
            continue
        with suppress(OSError):
            yield from sorted(str(path.relative_to(root)) for path in root.glob(pattern))


def _write_values(host: HostProbe, values: Mapping[str, str], fix_report: FixReport) -> None:
    """Write kernel settings; add those that cannot be written to the report."""
    for name, value in values.items():
        if host.tree.read_choice(name) == value:
            continue
        try:
            host.tree.path(name).write_text(value, encoding="ascii")
        except OSError as error:
            fix_report.failed.append(f"/{name} stays {host.tree.read_choice(name)}: {error.strerror}")


def _find_differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    return {name: (value, after[name]) for name, value in before.items() if name in after and after[name] != value}


def _store_values_before_fix(host: HostProbe, values: Mapping[str, str]) -> None:
    """Store the values from before the first fix, unless they are stored: a later fix must not overwrite them."""
    file = get_undo_file(host)
    if file.exists():
        try:
            read_record(file)
        except (OSError, ValueError) as error:
            raise FaultwatchError(
                f"nothing was changed, because the earlier changes could then no longer be undone: {file} cannot be "
                f"read: {error}",
                "remove it and run --fix again; --undo will then restore the present values",
            ) from None
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_record(file, {"settings": dict(values), "reset": False})
    except OSError as error:
        raise FaultwatchError(
            f"nothing was changed, because the changes could not be undone later: {file} cannot be written: "
            f"{error.strerror}",
            "set FAULTWATCH_HOME to a folder that you can write to",
        ) from None


def _record_pyperf_reset(host: HostProbe, *, is_needed: bool) -> None:
    """Record whether undoing the fixes has to include ``pyperf system reset``."""
    write_record(get_undo_file(host), read_record(get_undo_file(host)) | {"reset": is_needed})


def _has_changed_services(output: str) -> bool:
    """Return whether pyperf changed a service or a processor register, which only pyperf can restore."""
    actions = output.partition("Actions\n")[2].partition("System state\n")[0]
    return any(name in actions for name in ("irqbalance", "MSR"))
