"""Finds out by trial whether perf can count page faults on this host, in user space and in the kernel."""

import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from runner.doctor.probe import NOT_EXECUTABLE_STATUS, NOT_FOUND_STATUS, HostProbe, ProgramOutput
from runner.errors import FaultwatchError
from runner.execution.process_variables import BASE_VARIABLES
from runner.perf.counted_events import SEPARATOR
from runner.perf.perf_binary import get_perf_program

Scope = Literal["user+kernel", "user"]
"""Whether faults inside the kernel, as in ``read`` into fresh memory, are counted too."""

PARANOID_SETTING = "proc/sys/kernel/perf_event_paranoid"
_FORBIDDEN_LEVEL = 3
"""From this level on, Debian's and Ubuntu's kernels forbid perf to ordinary users."""
ALLOW_COMMAND = "sudo sysctl -w kernel.perf_event_paranoid=1"
INSTALL_HINT = "install perf (Debian: sudo apt install linux-perf; Ubuntu: sudo apt install linux-tools-generic)"
_MAX_MESSAGE_CHARACTERS = 300


class CountingResult(Struct, frozen=True):
    """The result of a trial count of the program ``true``: the scope that perf can count, or what prevents counting.

    Attributes
    ----------
    scope
        The faults that can be counted; None if none can.
    what, remedy
        What prevents counting, and how to allow it; empty if faults can be counted.
    cannot_start
        Whether perf cannot be started: it is not installed, not for this kernel, or not executable.
    """

    scope: Scope | None = None
    what: str = ""
    remedy: str = ""
    cannot_start: bool = False


def require_measurable_host() -> None:
    """Check that this host can count faults.

    Raises
    ------
    FaultwatchError
        It cannot; the message says what prevents it and how to allow it.
    """
    get_counting_scope()  # raises if there is none


def get_counting_scope() -> Scope:
    """Return which faults can be counted on this host: only those in user space, or those in the kernel too.

    Raises
    ------
    FaultwatchError
        Nothing can be counted.
    """
    result = _try_counting_here()
    if result.scope is None:
        raise FaultwatchError(result.what, result.remedy)
    return result.scope


@lru_cache
def _try_counting_here() -> CountingResult:
    return try_counting(HostProbe())


def try_counting(host: HostProbe) -> CountingResult:
    """Return whether perf can count the minor faults of ``true``, and whether those in the kernel are included."""
    answer = host.run([get_perf_program(), "stat", "-x", SEPARATOR, "-e", "minor-faults", "--", "true"])
    line = re.search(
        rf"^([^#;{SEPARATOR}]+){SEPARATOR}[^;]*{SEPARATOR}minor-faults(:[a-z]*u[a-z]*)?{SEPARATOR}", answer.text, re.M
    )
    # perf appends the modifier u to the name if it could count only in user space.
    if line and line[1].strip().isdecimal():
        return CountingResult(scope="user" if line[2] else "user+kernel")
    return _diagnose_failed_start(host, answer) or _diagnose_failure(host, answer)


def _diagnose_failed_start(host: HostProbe, answer: ProgramOutput) -> CountingResult | None:
    """Return why perf cannot be started here, and what to do about it; None if it was started."""
    if answer.status == NOT_FOUND_STATUS:
        return CountingResult(
            what=f"perf is not installed in {BASE_VARIABLES['PATH']}", remedy=INSTALL_HINT, cannot_start=True
        )
    if answer.status == NOT_EXECUTABLE_STATUS:
        return CountingResult(
            what=f"perf cannot be executed: {_get_first_line(answer)}",
            remedy="let this user execute it, or install perf again",
            cannot_start=True,
        )
    if "perf not found for kernel" in answer.text:  # printed by Ubuntu's wrapper
        release = host.tree.read_text("proc/sys/kernel/osrelease") or "of this host"
        return CountingResult(
            what=f"perf is not installed for the running kernel {release} or any other kernel",
            remedy="sudo apt install linux-tools-generic",
            cannot_start=True,
        )
    return None


def _diagnose_failure(host: HostProbe, answer: ProgramOutput) -> CountingResult:
    """Return why perf cannot count here, and how to allow it."""
    level = host.tree.read_integer(PARANOID_SETTING)
    if level is not None and level >= _FORBIDDEN_LEVEL and not host.is_root:
        return CountingResult(
            what=f"kernel.perf_event_paranoid is {level}: only root may count page faults", remedy=ALLOW_COMMAND
        )
    if re.search(r"permission|permitted|paranoid|Access to performance", answer.text, re.IGNORECASE):
        return CountingResult(
            what="the kernel does not allow this process to count page faults",
            remedy="in a container: docker run --cap-add PERFMON; if that is not enough, add "
            "--security-opt seccomp=unconfined",
        )
    if "<not supported>" in answer.text:
        return CountingResult(
            what="this host's kernel does not count page faults",
            remedy="if this is a sandbox, measure outside it: gVisor, for example, has no performance events",
        )
    return CountingResult(
        what=f"perf stat does not work on this host: {_get_first_line(answer)}",
        remedy="try: perf stat -e minor-faults true",
    )


def _get_first_line(answer: ProgramOutput) -> str:
    """Return the first line of perf's output, or its exit status if there is none."""
    lines = (line.strip() for line in answer.text.splitlines())
    return next(filter(None, lines), f"exit code {answer.status}")[:_MAX_MESSAGE_CHARACTERS]
