"""Checks of the processors and of what else runs: they move times, not fault counts."""

from runner.doctor.probe import HostProbe
from runner.doctor.result import CheckResult, ok, unknown, warning
from runner.environment import cpu

_CPU = "sys/devices/system/cpu"
_SLOW_CLOCKS = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"}
_NOISY_TIMERS = (
    "apt-daily", "apt-daily-upgrade", "dnf-makecache", "dnf-automatic", "fstrim", "man-db",
    "plocate-updatedb", "mlocate-updatedb",
)  # fmt: skip
_WANTED = "etc/systemd/system/timers.target.wants"


def governor(host: HostProbe) -> CheckResult:
    """The frequency does not follow the load."""
    found = cpu.governors(host.tree)
    if found is None:
        return ok("the frequency is not for this system to set")
    if found == "performance":
        return ok(found)
    return warning(
        f"{found}: times depend on what ran before",
        f"echo performance | sudo tee /{_CPU}/cpufreq/policy*/scaling_governor",
    )


def turbo(host: HostProbe) -> CheckResult:
    """The frequency does not follow the temperature."""
    found = cpu.turbo(host.tree)
    if found != "on":
        return ok(found or "not for this system to set")
    if host.tree.text(f"{_CPU}/intel_pstate/no_turbo") is not None:
        fix = f"echo 1 | sudo tee /{_CPU}/intel_pstate/no_turbo"
    else:
        fix = f"echo 0 | sudo tee /{_CPU}/cpufreq/boost"
    return warning("on: times depend on temperature and on the other processors", fix)


def clock(host: HostProbe) -> CheckResult:
    """Reading the time is cheap."""
    source = host.tree.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source is None:
        return unknown("this host does not name its clock")
    if source not in _SLOW_CLOCKS:
        return ok(source)
    return warning(
        f"{source}: programs that ask for the time spend system time on it",
        "find out in dmesg why the kernel gave up its own clock (often: tsc unstable)",
    )


def watchdog(host: HostProbe) -> CheckResult:
    """No hardware counter is taken away."""
    if host.tree.text("proc/sys/kernel/nmi_watchdog") != "1":
        return ok("takes no hardware counter")
    return warning(
        "holds one hardware counter, so others may have to take turns", "sudo sysctl -w kernel.nmi_watchdog=0"
    )


def timers(host: HostProbe) -> CheckResult:
    """No maintenance starts by itself."""
    if not host.tree.path("run/systemd/system").is_dir():
        return ok("systemd does not run here")
    wanted = {name.removesuffix(".timer") for name in host.tree.names(_WANTED, "*.timer")}
    noisy = [name for name in _NOISY_TIMERS if name in wanted]
    if not noisy:
        return ok("no maintenance that starts by itself is known here")
    return warning(
        f"maintenance starts by itself ({', '.join(noisy)}): it disturbs times and the page cache",
        f"on a dedicated host: sudo systemctl disable --now {' '.join(f'{name}.timer' for name in noisy)}",
    )


def load(host: HostProbe) -> CheckResult:
    """The machine is otherwise idle."""
    words = (host.tree.text("proc/loadavg") or "").split()
    cpus = int(cpu.online(host.tree) or 0)
    try:
        now = float(words[0])
    except (IndexError, ValueError):
        return unknown("this host does not tell its load")
    shown = f"{now:.2f} over the last minute, on {cpus or 'an unknown number of'} processors"
    if cpus and now > cpus / 2:
        return warning(f"{shown}: times and context switches are disturbed", "measure when the machine is idle")
    return ok(shown)
