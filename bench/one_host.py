"""Two measuring commands at once on one host: the second waits and says for whom, and both are right.

``python -m bench.one_host [--full]``, run as ``make bench-one-host``. Every kind of command is started beside another,
each with its own data directory. The first is stopped while it measures, until the second says that it waits. Then both
have to end with what they report alone. Eight pairs take six minutes. ``make bench-one-host-full`` starts every kind
beside every other: 64 pairs.

The commands take a lock of this benchmark's own instead of the host's, so that it does not wait for others.
"""

import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import finish_report, is_full, show_steps
from runner.host.host_lock import find_holder
from tests.runner.commands import Proxy, command_line, faultwatch, make_history, served, variables

PAGES = [10, 10, 20, 20]
Answer = Callable[[str, Path], object]
_WAIT = 120.0


@dataclass(frozen=True)
class Kind:
    """A kind of command.

    Attributes
    ----------
    words
        Its command line.
    answer
        Returns what it reports, by its output and its data directory: the same whenever it is right.
    status
        Its exit code.
    """

    words: tuple[str, ...]
    answer: Answer
    status: int = 0
    job: bool = False


def list_kinds(commits: list[str]) -> dict[str, Kind]:
    """Return all kinds of measuring commands."""
    workload = "repo/workload.toml"
    return {
        "history": Kind(("history", workload, "HEAD~2..", "--repo", "repo"), _read_stored_runs),
        "measure": Kind(("measure", "repo", "--json"), lambda text, _: [_list_counts(one) for one in json.loads(text)]),
        "compare": Kind(("compare", "HEAD~2..HEAD", "--repo", "repo", "--json"), _read_comparison, 1),
        "gate": Kind(("gate", workload, "HEAD~2..HEAD", "--repo", "repo", "--no-sandbox"), _read_verdict, 1),
        "nightly": Kind(("nightly", "--matrix", "matrix.toml", "--name", "tonight"), _read_stored_runs),
        "profile": Kind(("profile", "repo", "--json", "--no-upload"), _read_profile),
        "bisect": Kind(("bisect", f"{commits[0]}..{commits[-1]}", "--repo", "repo", "--json"), _read_culprits),
        "job": Kind(("job", "run", "JOB", workload, "--repo", "repo"), _read_stored_runs, job=True),
    }


def _list_counts(report: dict[str, Any]) -> list[object]:
    """Return the counts of a report without those of outliers, which something has disturbed."""
    readings = [sample["readings"]["minor-faults"] for sample in report["samples"]]
    return sorted({reading["value"] for reading in readings if not reading.get("outlier")})


def _read_comparison(text: str, _: Path) -> object:
    (result,) = json.loads(text)
    return result["comparison"]["verdict"], _list_counts(result["base"]), _list_counts(result["head"])


def _read_verdict(text: str, _: Path) -> object:
    return text.strip().splitlines()[-1]


def _read_profile(text: str, _: Path) -> object:
    return json.loads(text)["profile"]["readings"]["minor-faults"]["value"]


def _read_culprits(text: str, _: Path) -> object:
    return [
        (culprit["commit"], culprit["before"], culprit["after"]) for culprit in json.loads(text)["answer"]["culprits"]
    ]


def _read_stored_runs(_: str, home: Path) -> object:
    with served(home) as proxy:
        runs = proxy.ask("/runs?limit=100")["items"]
        assert isinstance(runs, list)
        reports = [proxy.ask(f"/runs/{run['run_id']}") for run in runs]
    return sorted((report["revision"]["commit"], report["outcome"], _list_counts(report)) for report in reports)  # type: ignore[index]


class Yard:
    """Data directories, each with the compiled programs of the runner, and a repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = folder / "lock"
        self.lock.touch()
        commits = make_history(folder / "repo", PAGES)
        (folder / "matrix.toml").write_text('[[workloads]]\npath = "repo/workload.toml"\n')
        self.kinds = list_kinds(commits)
        self.commits = commits
        self._numbers = itertools.count()
        self._model = folder / "model"
        status, _, messages = faultwatch(self._model, "measure", "repo", FAULTWATCH_HOST_LOCK=str(self.lock))
        assert status == 0, messages

    @contextmanager
    def prepared(self, kind: Kind) -> Iterator[tuple[Path, list[str], str]]:
        """Yield a new data directory, the command line of a kind, and the service's address if it needs one."""
        home = self.folder / f"home-{next(self._numbers)}"
        shutil.copytree(self._model / "programs", home / "programs")
        if not kind.job:
            yield home, command_line(*kind.words), ""
            return
        with served(home) as proxy:
            yield home, command_line(*(word.replace("JOB", _order_job(proxy, self)) for word in kind.words)), proxy.url

    def start(self, home: Path, words: list[str], url: str) -> "subprocess.Popen[str]":
        """Start a command; its messages go to a file."""
        with (home / "messages").open("w") as messages:
            return subprocess.Popen(
                words,
                env=variables(home, url, FAULTWATCH_HOST_LOCK=str(self.lock)),
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
            )


def _order_job(proxy: Proxy, yard: Yard) -> str:
    commit = yard.commits[-1]
    question = {"kind": "measure", "subject": "repo", "case": "pages", "revision": commit, "host": "box"}
    return str(proxy.ask("/jobs", {"question": question, "backend": "caller"})["id"])


def run_alone(yard: Yard, kind: Kind) -> object:
    """Run a command alone; return what it reports."""
    with yard.prepared(kind) as (home, words, url):
        process = yard.start(home, words, url)
        output, _ = process.communicate(timeout=_WAIT)
        assert process.returncode == kind.status, (home / "messages").read_text()
    return kind.answer(output, home)


def run_together(yard: Yard, first: Kind, second: Kind, expected: tuple[object, object]) -> Iterator[str]:
    """Run two commands at once; yield what is wrong."""
    with yard.prepared(first) as one, yard.prepared(second) as other:
        leader = yard.start(*one)
        _wait_until(lambda: (found := find_holder(yard.lock)) is not None and found.pid == leader.pid, leader)
        leader.send_signal(signal.SIGSTOP)
        follower = yard.start(*other)
        said = other[0] / "messages"
        waited = _wait_until(lambda: f"waiting for process {leader.pid} (" in said.read_text(), follower)
        leader.send_signal(signal.SIGCONT)
        outputs = [process.communicate(timeout=_WAIT)[0] for process in (leader, follower)]
    if not waited:
        yield "the second did not say that it waits"
    for process, kind, text, (home, _, _), wanted in zip(
        (leader, follower), (first, second), outputs, (one, other), expected, strict=True
    ):
        if process.returncode != kind.status:
            yield f"{kind.words[0]} ended with {process.returncode}: {(home / 'messages').read_text()[-300:]}"
        elif (answer := kind.answer(text, home)) != wanted:
            yield f"{kind.words[0]} reports {answer}, and alone {wanted}"
        shutil.rmtree(home)


def _wait_until(holds: Callable[[], bool], process: "subprocess.Popen[str]") -> bool:
    deadline = time.monotonic() + _WAIT
    while not holds():
        if process.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def main() -> None:
    """Measure pairs of commands."""
    misses: list[str] = []
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as scratch:
        yard = Yard(Path(scratch))
        expected = {name: run_alone(yard, kind) for name, kind in show_steps(yard.kinds.items(), "commands alone")}
        names = list(yard.kinds)
        pairs = list(itertools.product(names, names))
        if not is_full():
            pairs = [(name, names[(place + 1) % len(names)]) for place, name in enumerate(names)]
        for first, second in show_steps(pairs, "pairs of commands"):
            wrong = list(run_together(yard, yard.kinds[first], yard.kinds[second], (expected[first], expected[second])))
            print(f"{first:8} {second:8} {'; '.join(wrong) or 'both right, waiting said'}", flush=True)
            misses += [f"{first} and {second}: {text}" for text in wrong]
    finish_report("one_host", misses, {"pairs": len(pairs), "wrong": len(misses), "user": os.geteuid()})


if __name__ == "__main__":
    main()
