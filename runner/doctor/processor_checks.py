"""Checks of the processors and of other activity, which affect times but not fault counts."""

from runner.doctor.probe import HostProbe
from runner.doctor.result import CheckResult, make_ok, make_unknown, make_warning
from runner.environment import cpu

_CPU = "sys/devices/system/cpu"
_SLOW_CLOCKS = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"}
_NOISY_TIMERS = (
    "apt-daily", "apt-daily-upgrade", "dnf-makecache", "dnf-automatic", "fstrim", "man-db",
    "plocate-updatedb", "mlocate-updatedb",
)  # fmt: skip
_ENABLED_TIMERS = "etc/systemd/system/timers.target.wants"


def check_governor(host: HostProbe) -> CheckResult:
    """Check that the frequency governor does not follow the load."""
    value = cpu.read_governors(host.tree)
    if value is None:
        return make_ok("this system does not control the frequency of its processors")
    if value == "performance":
        return make_ok(value)
    return make_warning(
        f"{value}: the frequency may follow the load, and times then depend on what ran before",
        f"echo performance | sudo tee /{_CPU}/cpufreq/policy*/scaling_governor",
    )


def check_turbo(host: HostProbe) -> CheckResult:
    """Check that turbo is off, because its frequency depends on the temperature."""
    value = cpu.read_turbo(host.tree)
    if value != "on":
        return make_ok(value or "this system has no setting for turbo")
    if host.tree.read_text(f"{_CPU}/intel_pstate/no_turbo") is not None:
        fix = f"echo 1 | sudo tee /{_CPU}/intel_pstate/no_turbo"
    else:
        fix = f"echo 0 | sudo tee /{_CPU}/cpufreq/boost"
    return make_warning("on: times depend on the temperature and on what the other processors do", fix)


def check_clock(host: HostProbe) -> CheckResult:
    """Check that reading the time is cheap."""
    source = host.tree.read_text("sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source is None:
        return make_unknown("this host does not report its clock source")
    if source not in _SLOW_CLOCKS:
        return make_ok(source)
    return make_warning(
        f"{source}: each reading of the clock costs system time",
        "dmesg shows why the kernel rejected a faster clock (often: tsc unstable)",
    )


def check_watchdog(host: HostProbe) -> CheckResult:
    """Check that the watchdog does not use a hardware counter."""
    if host.tree.read_text("proc/sys/kernel/nmi_watchdog") != "1":
        return make_ok("the watchdog uses no hardware counter")
    return make_warning(
        "the watchdog uses one hardware counter, so others may be multiplexed", "sudo sysctl -w kernel.nmi_watchdog=0"
    )


def check_timers(host: HostProbe) -> CheckResult:
    """Check that no timer of systemd starts periodic maintenance that disturbs measurements."""
    if not host.tree.path("run/systemd/system").is_dir():
        return make_ok("systemd is not running on this host")
    enabled = {name.removesuffix(".timer") for name in host.tree.list_names(_ENABLED_TIMERS, "*.timer")}
    noisy_timers = [name for name in _NOISY_TIMERS if name in enabled]
    if not noisy_timers:
        return make_ok("no known periodic maintenance is active")
    return make_warning(
        f"periodic maintenance ({', '.join(noisy_timers)}) disturbs times and the page cache",
        f"on a dedicated host: sudo systemctl disable --now {' '.join(f'{name}.timer' for name in noisy_timers)}",
    )


def check_load(host: HostProbe) -> CheckResult:
    """Check that the machine is otherwise idle."""
    load_averages = (host.tree.read_text("proc/loadavg") or "").split()  # of 1, 5 and 15 minutes

    cpus = int(cpu.count_online(host.tree) or 0)
    try:
        load = float(load_averages[0])
    except (IndexError, ValueError):
        return make_unknown("this host does not report its load")
    processors_text = "1 processor" if cpus == 1 else f"{cpus or 'an unknown number of'} processors"
    finding = f"{load:.2f} over the last minute, on {processors_text}"
    if cpus and load > cpus / 2:  # More than half of the processors are busy on average.
        return make_warning(f"{finding}: this distorts times and context switches", "measure when the machine is idle")
    return make_ok(finding)
