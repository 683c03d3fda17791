"""Mends what can be mended safely, and puts back exactly what was there before.

pyperf knows how to quieten processors and interrupts (``python -m pyperf system tune``); the memory settings are ours.
What every setting was is written down before the first one changes: pyperf's own ``reset`` only knows usual values.
Everything here lasts until the next start of the host, or until it is undone.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from runner.doctor import memory_checks, processor_checks
from runner.doctor.probe import HostProbe
from runner.doctor.result import CheckStatus
from runner.doctor.undo_record import read_record, restorable, write_record
from runner.errors import FaultwatchError
from runner.execution.own_command import own_module

_CPU = "sys/devices/system/cpu"
_RATE = "proc/sys/kernel/perf_event_max_sample_rate"

OURS = {
    "same-page merging": (memory_checks.same_page_merging, "sys/kernel/mm/ksm/run", "2"),
    "NUMA balancing": (memory_checks.numa_balancing, "proc/sys/kernel/numa_balancing", "0"),
    "huge pages": (memory_checks.huge_pages, "sys/kernel/mm/transparent_hugepage/enabled", "madvise"),
    "watchdog": (processor_checks.watchdog, "proc/sys/kernel/nmi_watchdog", "0"),
}
"""Check → the check itself, and the file and value that mend it. Not the permission to count: that lowers a guard."""
PYPERFS = {"governor": processor_checks.governor, "turbo": processor_checks.turbo}

_TUNABLES = (
    *(file for _, file, _ in OURS.values()),
    *("proc/sys/kernel/randomize_va_space", _RATE),
    *(f"{_CPU}/intel_pstate/no_turbo", f"{_CPU}/cpufreq/boost"),
    *(f"{_CPU}/cpufreq/policy*/scaling_governor", f"{_CPU}/cpufreq/policy*/scaling_min_freq"),
    *("proc/irq/default_smp_affinity", "proc/irq/*/smp_affinity"),
)
"""Every file that either may change."""


@dataclass(slots=True)
class FixReport:
    """What was done.

    Attributes
    ----------
    changed
        File → what it held and what it holds.
    failed
        What did not work, in a line each.
    needs_root
        Checks that could be mended by root.
    """

    changed: dict[str, tuple[str, str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    needs_root: list[str] = field(default_factory=list)


def undo_file(host: HostProbe) -> Path:
    """Return the file that holds what was there before."""
    return host.home / "doctor-undo.json"


def fix(host: HostProbe) -> FixReport:
    """Apply what is safe and can be undone; an ordinary user is only told what root could do."""
    wrong = [name for name, (check, _, _) in OURS.items() if check(host).status is CheckStatus.WARNING]
    if not host.is_root:
        return FixReport(
            needs_root=[*wrong, *(name for name, check in PYPERFS.items() if _is_wrong(check(host).status))]
        )
    before = _held(host)
    _write_down(host, before)
    fix_report = FixReport()
    answer = host.run(own_module("pyperf", "system", "tune"))
    _note_reset(host, needed=_did_more_than_files(answer.text))
    # One event in a second would leave nothing of a profile.
    _put(host, {_RATE: before[_RATE]} if _RATE in before else {}, fix_report)
    _put(host, {OURS[name][1]: OURS[name][2] for name in wrong}, fix_report)
    fix_report.changed = _difference(before, _held(host))
    return fix_report


def undo(host: HostProbe) -> FixReport:
    """Put everything back as it was before the first fix.

    Raises
    ------
    FaultwatchError
        Where nothing was fixed, or the caller may not change it back.
    """
    try:
        noted = read_record(undo_file(host))
        settings = restorable(dict(noted["settings"]), _TUNABLES)
    except FileNotFoundError:
        raise FaultwatchError(f"nothing is to be undone: there is no {undo_file(host)}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FaultwatchError(f"{undo_file(host)} cannot be read: {error}") from None
    if not host.is_root:
        raise FaultwatchError("only root can undo what root did", "run it with sudo")
    fix_report = FixReport()
    before = _held(host)
    if noted.get("reset"):
        host.run(own_module("pyperf", "system", "reset"))
    _put(host, settings, fix_report)
    fix_report.changed = _difference(before, _held(host))
    if not fix_report.failed:
        undo_file(host).unlink()
    return fix_report


def _is_wrong(status: CheckStatus) -> bool:
    return status is CheckStatus.WARNING


def _held(host: HostProbe) -> dict[str, str]:
    """Return what every tunable file holds now."""
    return {name: value for name in _files(host) if (value := host.tree.chosen(name)) is not None}


def _files(host: HostProbe) -> Iterator[str]:
    root = host.tree.root
    for pattern in _TUNABLES:
        if "*" not in pattern:
            yield pattern
            continue
        with suppress(OSError):
            yield from sorted(str(path.relative_to(root)) for path in root.glob(pattern))


def _put(host: HostProbe, wanted: Mapping[str, str], fix_report: FixReport) -> None:
    for name, value in wanted.items():
        if host.tree.chosen(name) == value:
            continue
        try:
            host.tree.path(name).write_text(value, encoding="ascii")
        except OSError as error:
            fix_report.failed.append(f"/{name} stays {host.tree.chosen(name)}: {error.strerror}")


def _difference(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    return {name: (value, after[name]) for name, value in before.items() if name in after and after[name] != value}


def _write_down(host: HostProbe, held: Mapping[str, str]) -> None:
    """Keep what was there before the first fix; a second one must not take the mended state for it."""
    file = undo_file(host)
    if file.exists():
        read_record(file)
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_record(file, {"settings": dict(held), "reset": False})
    except OSError as error:
        raise FaultwatchError(
            f"nothing is changed, because it could not be undone: {file} cannot be written: {error.strerror}",
            "set FAULTWATCH_HOME",
        ) from None


def _note_reset(host: HostProbe, *, needed: bool) -> None:
    if needed:
        write_record(undo_file(host), read_record(undo_file(host)) | {"reset": True})


def _did_more_than_files(said: str) -> bool:
    """Tell whether pyperf says that it changed a service or a register of the processor: only it can put those back."""
    actions = said.partition("Actions\n")[2].partition("System state\n")[0]
    return any(what in actions for what in ("irqbalance", "MSR"))
