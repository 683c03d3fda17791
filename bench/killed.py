"""Commands that are killed at random moments: nothing is lost, nothing is measured twice, nothing is left behind.

``python -m bench.killed [--moments N] [--seed SEED]``, run as root as ``make bench-killed``. A command of a random kind
is started, and at a random moment of its duration its process gets SIGKILL, SIGTERM, SIGHUP or SIGINT, or its disk is
filled until it ends. The data directory is a small file system of its own. Then the next command has to succeed, each
commit has to be measured exactly once, and no process, mount, control group, setting, lock or file may be left.

The first line is the seed, with which the same commands, signals and delays are drawn again.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bench.report import finish, steps
from runner.host.lock import holder
from tests.runner.commands import Proxy, command_line, faultwatch, git, make_history, served, variables

MOMENTS = 300
DISK = "96m"
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "hangup": signal.SIGHUP, "interrupt": signal.SIGINT}
MEANS = (*SIGNALS, "full disk")
_SETTLING = 3.0
"""Seconds within which the kernel and helpers end what was killed."""
_LIMIT = 180.0
_SHOWN = 20
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
NOTE = Path("/run/faultwatch/rcu_expedited")
_KEPT = re.compile(
    r"(faultwatch\.db(-\w+)?|port|spool|subjects|builds|programs|copies|clones|jobs.*|.*\.key|doctor-undo\.json)"
)


class Yard:
    """A data directory on a file system of its own, a repository that grows, and a service."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.home = folder / "disk" / "home"
        self.temporary = folder / "tmp"
        self.lock = folder / "lock"
        self.lock.touch()
        self.temporary.mkdir()
        (folder / "disk").mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder / "disk"], check=True)
        stack.callback(subprocess.run, ["umount", "-l", folder / "disk"], check=False)
        self.commits = make_history(folder / "repo", [10, 10])
        (folder / "matrix.toml").write_text('[[workloads]]\npath = "repo/workload.toml"\n')
        self.proxy: Proxy = stack.enter_context(served(self.home))
        self.first = self.commits[-1]
        self.pids: set[int] = set()
        self.variables = {"FAULTWATCH_HOST_LOCK": str(self.lock), "TMPDIR": str(self.temporary)}

    def grow(self, number: int) -> None:
        """Add a commit that changes the program, but not its faults."""
        source = self.folder / "repo" / "pages.c"
        source.write_text(f"{source.read_text()}/* {number} */\n")
        git(self.folder / "repo", "commit", "--quiet", "--all", "--message", f"Change {number}")
        self.commits.append(git(self.folder / "repo", "rev-parse", "HEAD"))

    def words(self, kind: str) -> tuple[list[str], str]:
        """Return the arguments of a command, and the address of the service if it uses that one."""
        named = ["repo/workload.toml", "--repo", "repo"]
        commands = {
            "history": ["history", *named, f"{self.first}.."],
            "measure": ["measure", "repo"],
            "compare": ["compare", "HEAD~1..HEAD", "--repo", "repo"],
            "gate": ["gate", *named, "HEAD~1..HEAD", "--no-sandbox"],
            "sandboxed": ["gate", *named, "HEAD~1..HEAD", "--sandbox"],
            "nightly": ["nightly", "--matrix", "matrix.toml", "--night", f"night-{len(self.commits)}"],
            "profile": ["profile", "repo", "--no-upload"],
            "bisect": ["bisect", "HEAD~2..HEAD", "--repo", "repo"],
        }
        if kind != "job":
            return commands[kind], ""
        question = {"kind": "measure", "subject": "repo", "case": "pages", "revision": self.commits[-1], "host": "box"}
        job = self.proxy.ask("/jobs", {"question": question, "backend": "caller"})
        return ["job", "run", str(job["id"]), *named], self.proxy.url

    def start(self, words: list[str], url: str) -> "subprocess.Popen[bytes]":
        """Start a command."""
        with (self.folder / "output").open("wb") as output:
            process = subprocess.Popen(
                command_line(*words),
                env=variables(self.home, url, **self.variables),
                cwd=self.folder,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.pids.add(process.pid)
        return process

    def next_command(self) -> tuple[int, str]:
        """Measure the history as the next command; return its exit code and its messages."""
        words, _ = self.words("history")
        status, output, messages = faultwatch(self.home, *words, url=self.proxy.url, cwd=self.folder, **self.variables)
        return status, output + messages


KINDS = ("history", "measure", "compare", "gate", "sandboxed", "nightly", "profile", "bisect", "job")


def durations(yard: Yard) -> dict[str, float]:
    """Return how long each kind of command takes."""
    taken = {}
    for kind in KINDS:
        yard.grow(len(yard.commits))
        started = time.monotonic()
        process = yard.start(*yard.words(kind))
        process.wait(_LIMIT)
        taken[kind] = time.monotonic() - started
        print(f"{kind:10} {taken[kind]:.2f} s, exit code {process.returncode}", flush=True)
    return taken


def moment(yard: Yard, kind: str, means: str, delay: float) -> Iterator[str]:
    """Disturb a command at a moment; yield what is wrong afterwards."""
    process = yard.start(*yard.words(kind))
    with suppress(subprocess.TimeoutExpired):
        process.wait(delay)
    if means in SIGNALS:
        process.send_signal(SIGNALS[means])
        process.wait(_LIMIT)
    else:
        with _full(yard.home.parent):
            process.wait(_LIMIT)
    text = (yard.folder / "output").read_text(errors="replace")
    if "Traceback" in text:
        yield f"a traceback: {text.strip().splitlines()[-1][:200]}"
    status, messages = yard.next_command()
    if status != 0:
        yield f"the next command ended with {status}: {messages.strip()[-300:]}"
    yield from lost_or_twice(yard)
    yield from left(yard)


@contextmanager
def _full(disk: Path) -> Iterator[None]:
    """Fill a file system."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(bytes(1 << 16))
    with filler.open("ab", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(bytes(1))
    try:
        yield
    finally:
        filler.unlink()


def lost_or_twice(yard: Yard) -> Iterator[str]:
    """Yield the commits that do not have exactly one run, measured or with counts taken over."""
    runs: list[dict[str, object]] = []
    while True:
        page = yard.proxy.ask(f"/runs?outcome=measured&limit=1000&offset={len(runs)}")
        runs += page["items"]  # type: ignore[arg-type]
        if len(runs) >= int(str(page["total"])):
            break
    times = Counter(run["revision"] for run in runs if run["taken_over"] or not run["quarantine"])
    expected = yard.commits[yard.commits.index(yard.first) + 1 :]
    wrong = [(place, times[commit]) for place, commit in enumerate(expected) if times[commit] != 1]
    if wrong:
        yield f"{len(wrong)} commits do not have one run, such as {wrong[-1][0]}: {wrong[-1][1]} times"


def left(yard: Yard) -> Iterator[str]:
    """Yield what is left behind, after the kernel has had time to end what was killed."""
    deadline = time.monotonic() + _SETTLING
    while (found := list(_left_now(yard))) and time.monotonic() < deadline:
        time.sleep(0.05)
    yield from found


def _left_now(yard: Yard) -> Iterator[str]:
    service = {int(child) for child in _service_processes(yard)}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) not in service | {os.getpid()}:
            with suppress(OSError):
                here = f"{yard.folder}/"
                places = (f"{(entry / 'cwd').readlink()}/", str((entry / "exe").readlink()))
                own = any(place.startswith(here) for place in places)
                if own or f"TMPDIR={yard.temporary}\0".encode() in (entry / "environ").read_bytes():
                    yield f"process {entry.name}: {(entry / 'cmdline').read_bytes()[:100]!r}"
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(yard.folder) in line]
    if len(mounts) != 1:
        yield f"mounts: {mounts}"
    for group in Path("/sys/fs/cgroup").glob("**/faultwatch-*"):
        if int(group.name.split("-")[1]) in yard.pids:
            yield f"control group {group}"
    if NOTE.exists():
        yield f"{NOTE} is left"
    if (found := holder(yard.lock)) is not None:
        yield f"the lock is held by {found.describe()}"
    for path in yard.temporary.iterdir():
        yield f"temporary file {path.name}"
    yield from _files(yard)


def _service_processes(yard: Yard) -> Iterator[str]:
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal() and b"--port-file" in (entry / "cmdline").read_bytes():
                environment = (entry / "environ").read_bytes()
                if f"FAULTWATCH_HOME={yard.home}\0".encode() in environment and b"TMPDIR=" not in environment:
                    yield entry.name


def _files(yard: Yard) -> Iterator[str]:
    for path in yard.home.rglob("*"):
        name = path.relative_to(yard.home).parts
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


def main() -> None:
    """Kill commands at random moments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--moments", type=int, default=MOMENTS)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    misses: list[str] = []
    done: Counter[str] = Counter()
    held = THP.read_text()
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="faultwatch-bench-"))
    try:
        with ExitStack() as stack:
            yard = Yard(folder, stack)
            taken = durations(yard)
            for number in steps(range(options.moments), "kills"):
                kind, means = chance.choice(KINDS), chance.choice(MEANS)
                delay = chance.uniform(0, taken[kind])
                if time.monotonic() - started > options.seconds:
                    break
                yard.grow(len(yard.commits))
                wrong = list(moment(yard, kind, means, delay))
                done[means] += 1
                print(f"{number:3} {kind:10} {means:10} {delay:5.2f} s  {'; '.join(wrong) or 'nothing'}", flush=True)
                misses += [f"{number} {kind} {means} {delay:.2f} s: {text}" for text in wrong]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if THP.read_text() != held:
        misses.append(f"{THP} is {THP.read_text().strip()}, and was {held.strip()}")
    finish(
        "killed",
        misses[:_SHOWN],
        {"wrong": len(misses), "seed": options.seed, "moments": sum(done.values()), "means": dict(done)},
    )


if __name__ == "__main__":
    main()
