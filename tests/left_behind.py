"""Finds what commands left behind that were cut off, on the machine where this runs.

``python left_behind.py FOLDER`` prints the findings, a line each, and at last the settings of the kernel as JSON. It
needs nothing but the standard library, so that guests can run it.
"""

import fcntl
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_SETTLING = 3.0
"""Seconds within which the kernel and helpers end what was killed."""
_NOTE = Path("/run/faultwatch/rcu_expedited")
_KEPT = re.compile(
    r"(faultwatch\.db(-[\w-]+)?|port|spool|subjects|builds|programs|copies|clones|jobs.*|.*\.key|doctor-undo\.json)"
)
_SETTINGS = (
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/kernel/rcu_expedited",
    "/proc/sys/kernel/perf_event_paranoid",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/sched_rt_runtime_us",
)


@dataclass(frozen=True)
class Places:
    """The places of commands that nobody else uses.

    Attributes
    ----------
    folder
        All of the following, and the repository, are below.
    home
        ``FAULTWATCH_HOME``.
    temporary
        ``TMPDIR``.
    lock
        ``FAULTWATCH_HOST_LOCK``.
    """

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "disk" / "home"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    def variables(self) -> dict[str, str]:
        """Return the variables of a command that uses these places, apart from its home."""
        return {"FAULTWATCH_HOST_LOCK": str(self.lock), "TMPDIR": str(self.temporary)}

    def processes(self) -> Iterator[int]:
        """Yield the processes of commands, and of what they started; not those of a service that was there before."""
        here = f"{self.folder}/"
        for entry in _processes():
            with suppress(OSError):
                environment = (entry / "environ").read_bytes()
                paths = (f"{(entry / 'cwd').readlink()}/", str((entry / "exe").readlink()))
                own = any(path.startswith(here) for path in paths)
                if (own or f"TMPDIR={self.temporary}\0".encode() in environment) and not self._serves(entry):
                    yield int(entry.name)

    def services(self) -> Iterator[int]:
        """Yield the processes of a service on these places that no command started."""
        for entry in _processes():
            with suppress(OSError):
                if self._serves(entry):
                    yield int(entry.name)

    def _serves(self, process: Path) -> bool:
        environment = (process / "environ").read_bytes()
        own = f"FAULTWATCH_HOME={self.home}\0".encode() in environment and b"TMPDIR=" not in environment
        return own and b"--port-file" in (process / "cmdline").read_bytes()


def _processes() -> Iterator[Path]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            yield entry


def lost_or_twice(runs: Iterable[Mapping[str, object]], commits: Sequence[str]) -> Iterator[str]:
    """Yield the commits that do not have exactly one run, measured or with counts reused.

    Parameters
    ----------
    runs
        All measured runs, as the API returns them.
    commits
        The commits that were to be measured.
    """
    times = Counter(run["revision"] for run in runs if run["reused"] or not run["quarantine"])
    wrong = [(place, times[commit]) for place, commit in enumerate(commits) if times[commit] != 1]
    if wrong:
        yield f"{len(wrong)} commits do not have one run, such as {wrong[-1][0]}: {wrong[-1][1]} times"


def left_behind(places: Places, *, mounts: int = 0, groups_of: Collection[int] | None = None) -> list[str]:
    """Return what is left behind, after the kernel has had time to end what was killed.

    Parameters
    ----------
    mounts
        How many file systems are mounted below the folder while no command runs.
    groups_of
        The processes whose control groups are meant; None for those of all processes.
    """
    deadline = time.monotonic() + _SETTLING
    while (found := list(_left_now(places, mounts, groups_of))) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def settings() -> dict[str, str]:
    """Return the settings of the kernel that commands change for a while."""
    return {name: Path(name).read_text().strip() for name in _SETTINGS if Path(name).exists()}


def _left_now(places: Places, mounts: int, groups_of: Collection[int] | None) -> Iterator[str]:
    for process in places.processes():
        with suppress(OSError):
            yield f"process {process}: {Path(f'/proc/{process}/cmdline').read_bytes()[:100]!r}"
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    mounted = [line for line in lines if str(places.folder) in line]
    if len(mounted) != mounts:
        yield f"mounts: {mounted}"
    for group in Path("/sys/fs/cgroup").glob("**/faultwatch-*-*"):
        owner, started = group.name.split("-")[1:3]
        # A number is given again: what a process uses that is still there is not left behind.
        if (groups_of is None or int(owner) in groups_of) and _started(owner) != started:
            yield f"control group {group}"
    if _NOTE.exists():
        yield f"{_NOTE} is left"
    with places.lock.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield "the lock is held"
    for path in places.temporary.iterdir():
        yield f"temporary file {path.name}"
    yield from _files(places.home)


def _started(process: str) -> str:
    """Return when a process started, in ticks since the boot; empty if it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _files(home: Path) -> Iterator[str]:
    for path in home.rglob("*"):
        name = path.relative_to(home).parts
        if len(name) == 1 and not _KEPT.fullmatch(name[0]):
            yield f"file {path}"
        if path.name.endswith(".partial") or ".partial" in path.suffixes or "index.lock" in path.name:
            yield f"partial file {path}"
        if name[0] == "spool" and path.is_file():
            yield f"report {path.name} is left in the spool"
        if name[0] == "builds" and len(name) == 3 and path.is_dir() and not (path / "build.json").exists():
            yield f"unfinished build {path.name}"
        if name[0] in {"programs", "copies"} and path.is_dir() and len(name) == 2:
            yield f"folder {path}"


if __name__ == "__main__":
    for finding in left_behind(Places(Path(sys.argv[1]))):
        print(finding)
    print(json.dumps(settings()))
