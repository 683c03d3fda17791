"""Commands that are killed at random moments: nothing is lost, nothing is measured twice, nothing is left behind.

``python -m bench.killed [--moments N] [--seed SEED]``, run as root as ``make bench-killed``. A command of a random kind
is started, and at a random moment of its duration its process gets SIGKILL, SIGTERM, SIGHUP or SIGINT, or its disk is
filled until it ends, or the power is cut: its disk loses what has not reached the storage, and all processes end, the
service included. The data directory is its own small disk. Then the next command has to succeed, each commit has
to be measured exactly once, and no process, mount, control group, setting, lock or file may be left. What the service
had acknowledged before the power was cut, it still has afterwards.

The first line is the seed, with which the same commands, signals and delays are drawn again.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bench.report import finish_report, show_steps
from tests.left_behind import Places, left_behind, lost_or_twice, settings
from tests.power_cut import disk
from tests.runner.commands import Proxy, command_line, faultwatch, git, make_history, served, variables

MOMENTS = 300
DISK = "96m"
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "hangup": signal.SIGHUP, "interrupt": signal.SIGINT}
CUTS = ("power cut, names written", "power cut")
MEANS = (*SIGNALS, "full disk", *CUTS)
_LIMIT = 180.0
_SHOWN = 20


class Yard:
    """A data directory on its own disk, a repository that grows, and a service."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.places = Places(folder)
        self.home = self.places.home
        self.places.lock.touch()
        self.places.temporary.mkdir()
        # In memory, which takes no longer to reach than a disk that others use.
        storage = folder / "storage"
        storage.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", storage], check=True)
        stack.callback(subprocess.run, ["umount", "-l", storage], check=False)
        self.disk = stack.enter_context(disk(self.home.parent, storage / "disk", DISK))
        self.commits = make_history(folder / "repo", [10, 10])
        (folder / "matrix.toml").write_text('[[workloads]]\npath = "repo/workload.toml"\n')
        self._service = stack.enter_context(ExitStack())
        self.proxy: Proxy = self._service.enter_context(served(self.home, by_fork=False))
        self.first = self.commits[-1]
        self.pids: set[int] = set()

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
            "nightly": ["nightly", "--matrix", "matrix.toml", "--name", f"night-{len(self.commits)}"],
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
                env=variables(self.home, url, **self.places.variables()),
                cwd=self.folder,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.pids.add(process.pid)
        return process

    def cut_power(self, *, journal: bool) -> None:
        """Cut the power of the disk, end all processes, and start the service again."""
        self.disk.cut(journal=journal)
        while running := list(self.places.processes()):
            for process in running:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        self._service.close()
        self.disk.restart()
        self.proxy = self._service.enter_context(served(self.home, by_fork=False))

    def runs(self) -> list[dict[str, object]]:
        """Return all measured runs that the service has."""
        runs: list[dict[str, object]] = []
        while True:
            page = self.proxy.ask(f"/runs?outcome=measured&limit=1000&offset={len(runs)}")
            runs += page["items"]
            if len(runs) >= int(str(page["total"])):
                return runs

    def next_command(self) -> tuple[int, str]:
        """Measure the history as the next command; return its exit code and its messages."""
        words, _ = self.words("history")
        status, output, messages = faultwatch(
            self.home, *words, url=self.proxy.url, cwd=self.folder, **self.places.variables()
        )
        return status, output + messages


KINDS = ("history", "measure", "compare", "gate", "sandboxed", "nightly", "profile", "bisect", "job")


def measure_durations(yard: Yard) -> dict[str, float]:
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


def disturb_command(yard: Yard, kind: str, means: str, delay: float) -> Iterator[str]:
    """Disturb a command at a moment; yield what is wrong afterwards."""
    process = yard.start(*yard.words(kind))
    with suppress(subprocess.TimeoutExpired):
        process.wait(delay)
    acknowledged: set[object] = set()
    if means in SIGNALS:
        process.send_signal(SIGNALS[means])
    elif means in CUTS:
        acknowledged = {run["run_id"] for run in yard.runs()}
        yard.cut_power(journal=means == CUTS[0])
    else:
        with _fill_disk(yard.home.parent):
            process.wait(_LIMIT)
    process.wait(_LIMIT)
    text = (yard.folder / "output").read_text(errors="replace")
    if "Traceback" in text and means not in CUTS:
        files = [line.strip() for line in text.splitlines() if line.lstrip().startswith("File ")]
        yield f"a traceback: {text.strip().splitlines()[-1][:200]}, {files[-1][:200] if files else 'in no file'}"
    status, messages = yard.next_command()
    if status != 0:
        yield f"the next command ended with {status}: {messages.strip()[-300:]}"
    runs = yard.runs()
    if lost := acknowledged - {run["run_id"] for run in runs}:
        yield f"{len(lost)} runs were acknowledged and are lost"
    yield from lost_or_twice(runs, yard.commits[yard.commits.index(yard.first) + 1 :])
    yield from left_behind(yard.places, mounts=2, groups_of=yard.pids)


@contextmanager
def _fill_disk(disk: Path) -> Iterator[None]:
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


def main() -> None:
    """Kill commands at random moments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--moments", type=int, default=MOMENTS)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this many")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    misses: list[str] = []
    done: Counter[str] = Counter()
    held = settings()
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="faultwatch-bench-"))
    try:
        with ExitStack() as stack:
            yard = Yard(folder, stack)
            taken = measure_durations(yard)
            for number in show_steps(range(options.moments), "kills"):
                kind, means = chance.choice(KINDS), chance.choice(MEANS)
                delay = chance.uniform(0, taken[kind])
                if time.monotonic() - started > options.seconds:
                    break
                yard.grow(len(yard.commits))
                wrong = list(disturb_command(yard, kind, means, delay))
                done[means] += 1
                print(f"{number:3} {kind:10} {means:10} {delay:5.2f} s  {'; '.join(wrong) or 'nothing'}", flush=True)
                misses += [f"{number} {kind} {means} {delay:.2f} s: {text}" for text in wrong]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    misses += [f"{name} is {value}, and was {held[name]}" for name, value in settings().items() if value != held[name]]
    finish_report(
        "killed",
        misses[:_SHOWN],
        {"wrong": len(misses), "seed": options.seed, "moments": sum(done.values()), "means": dict(done)},
    )


if __name__ == "__main__":
    main()
