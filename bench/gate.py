"""Pull requests by the hundred through the gate: who is flagged, and how soon GitHub is told.

Everything but GitHub is real: git, the compiler, the sandbox, perf, its own service over HTTP, and the App that
posts. Each pull request changes the program; some touch one more page. In every other one elapsed time is judged beside
the faults, so there is noise that must not flag anybody. ``python -m bench.gate [--full]``; without it, a tenth.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bench.report import finish_report, is_full, show_steps
from bench.store_service import Service
from runner.cli.compare import compare_cases
from runner.cli.gate_plan import plan_gate
from runner.cli.gate_report import build_gate_report
from runner.cli.measuring_setup import prepare_workbench
from runner.measuring.preflight import Workbench
from runner.reporting.embedded_service import connect_to_service
from runner.settings import load_settings
from runner.subject.repository import Repository, open_repository
from runner.workload import Workload, load_workload
from service.forges.webhook_authentication import sign_body
from tests.service.forges.github.stand_in import APP, SECRET, GitHub, running

UNCHANGED, MORE, TENTH = 200, 50, 10
"""Pull requests without a change, and with one more page; and by what they are divided without --full."""
COMMENT_LIMIT, WEBHOOK_LIMIT = 2.0, 1.0
"""Seconds from the last sample to the comment, and to the answer to a webhook."""
PATIENCE = 30.0
NAME = "octo-org/pages"
PAGES = 64
PROGRAM = """\
#define PAGES {pages}
static volatile char memory[PAGES * 4096] __attribute__((aligned(4096)));
volatile int revision = {revision};
int main(void) {{
    for (long at = 0; at < (long)sizeof memory; at += 4096)
        memory[at] = 1;
    return 0;
}}
"""
WORKLOAD = """\
[workload]
name = "pages"
max_samples = {most}
[build]
command = "cc -O1 -o pages pages.c"
[run]
command = ["./pages"]
huge_pages = "never"
{judged}
"""
EXACT = WORKLOAD.format(most=30, judged="")
NOISY = WORKLOAD.format(most=24, judged="[metrics.precision]\nelapsed = 20")


class Hub(GitHub):
    """GitHub, which remembers when the first comment of a pull request came."""

    written: float = 0.0

    def write(self, body: str, user: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write a comment."""
        self.written = time.monotonic()
        return super().write(body, user)


@dataclass
class Pull:
    """A pull request, and what came of it."""

    more: bool
    conclusion: str = ""
    first: str = ""
    seconds: float = 0.0
    """From the last sample to the comment."""
    webhook: float = 0.0


@dataclass
class Run:
    """Where pull requests are made and measured."""

    subject: Path
    hub: Hub
    service: str
    place: Workbench
    workloads: Sequence[Workload]
    repository: Repository
    base: str
    number: int = 0

    def pull(self, more: bool) -> Pull:
        """Open a pull request, measure it, and publish the verdict."""
        self.number += 1
        completed = Pull(more)
        head = commit(self.subject, PROGRAM.format(pages=PAGES + more, revision=self.number), self.base)
        self.hub.propose(self.number, self.base, head)
        completed.webhook = self._deliver_webhook(head)
        settings, workload = load_settings(), self.workloads[self.number % 2]
        with connect_to_service(settings) as service:
            with plan_gate(workload, self.repository, self.base, head) as plan:
                ends = (plan.ends.base, plan.ends.measured_commit)
                results = compare_cases(service, self.repository, workload, self.place, ends, plan.case_pairs)
                report = build_gate_report(results, plan, self._list_job_variables())
            finished = max(result.head.finished_at.timestamp() for result in results)
            sampled = time.monotonic() - (time.time() - finished)
            service.judge_gate(report)
        deadline = time.monotonic() + PATIENCE
        while not any(check["status"] == "completed" for check in self.hub.checks.values()):
            if time.monotonic() > deadline:
                raise SystemExit(f"GitHub was not told of pull request {self.number}")
            time.sleep(0.005)
        completed.seconds = self.hub.written - sampled
        (check,), (comment,) = self.hub.checks.values(), self.hub.comments.values()
        completed.conclusion, completed.first = check["conclusion"], comment["body"].splitlines()[0]
        return completed

    def _list_job_variables(self) -> dict[str, str]:
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": NAME,
            "GITHUB_REF": f"refs/pull/{self.number}/merge",
        }

    def _deliver_webhook(self, head: str) -> float:
        """Deliver that there is a pull request; return the seconds until it was answered."""
        told = {
            "action": "opened",
            "pull_request": {"number": self.number, "head": {"sha": head}, "title": "x" * 20_000},
            "repository": {"id": 1, "full_name": NAME, "default_branch": "main"},
        }
        body = json.dumps(told).encode()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": "pull_request",
            "X-GitHub-Delivery": str(uuid.uuid4()),
            "X-Hub-Signature-256": sign_body(SECRET, body),
        }
        started = time.monotonic()
        answer = requests.post(f"{self.service}/github/webhook", data=body, headers=headers, timeout=PATIENCE)
        assert answer.status_code == 202, answer.text
        return time.monotonic() - started


def commit(subject: Path, program: str, parent: str = "") -> str:
    """Commit a program; return the hash."""

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid")
        completed = subprocess.run(
            ["git", "-C", subject, *identity, *arguments], capture_output=True, text=True, check=True
        )
        return completed.stdout.strip()

    if parent:
        git("checkout", "--quiet", "--detach", parent)
    else:
        git("init", "--quiet", "--initial-branch=main")
    (subject / "pages.c").write_text(program)
    git("add", "--all")
    git("commit", "--quiet", "--message", "Touch pages")
    return git("rev-parse", "HEAD")


@contextmanager
def prepare_gate(folder: Path) -> Iterator[Run]:
    """Start GitHub and a service that is its App, and make the repository."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key").write_bytes(key.private_bytes(*pem))
    (folder / "secret").write_bytes(SECRET)
    with ExitStack() as stack:
        hub = Hub(NAME, 0, "")
        stack.enter_context(running(hub))
        os.environ |= {
            "FAULTWATCH_HOME": str(folder / "runner"),
            "FAULTWATCH_GITHUB_APP": str(APP),
            "FAULTWATCH_GITHUB_KEY_FILE": str(folder / "key"),
            "FAULTWATCH_GITHUB_SECRET_FILE": str(folder / "secret"),
            "FAULTWATCH_GITHUB_API": hub.url,
        }
        service = Service(folder / "service")
        stack.callback(service.stop)
        address = f"http://127.0.0.1:{service.port}"
        os.environ["FAULTWATCH_URL"] = address
        subject = folder / "pages"
        subject.mkdir()
        base = commit(subject, PROGRAM.format(pages=PAGES, revision=0))
        settings = load_settings()
        repository = open_repository(str(subject), settings.clones)
        place = prepare_workbench(settings, sandboxed=True)
        workloads = tuple(_write_workload(folder / name, text) for name, text in (("exact", EXACT), ("noisy", NOISY)))
        yield Run(subject, hub, address, place, workloads, repository, base)


def _write_workload(folder: Path, text: str) -> Workload:
    folder.mkdir()
    (folder / "workload.toml").write_text(text)
    return load_workload(folder)


def main() -> None:
    """Send all of them through, in an order in which both kinds are mixed."""
    unchanged, more = (count if is_full() else count // TENTH for count in (UNCHANGED, MORE))
    every = (unchanged + more) // more  # an odd number, so that both kinds of workload get both kinds of change
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder, prepare_gate(Path(folder)) as run:
        pulls = []
        for number in show_steps(range(unchanged + more), "pull requests"):
            pulls.append(run.pull(more=number % every == every - 1))
            shown = pulls[-1]
            print(f"{number + 1:>4} {shown.conclusion:<8} {shown.seconds:5.2f} s  {shown.first}", flush=True)
    flagged = [pull for pull in pulls if pull.conclusion == "failure"]
    false = sum(not pull.more for pull in flagged)
    found = sum(pull.more and "minor faults" in pull.first for pull in flagged)
    latencies, webhooks = sorted(pull.seconds for pull in pulls), sorted(pull.webhook for pull in pulls)
    misses = []
    if false:
        misses.append(f"{false} of {unchanged} pull requests without a change were flagged")
    if found < more:
        misses.append(f"{found} of {more} pull requests with one more page were flagged")
    if latencies[-1] > COMMENT_LIMIT:
        misses.append(f"a comment took {latencies[-1]:.2f} s from the last sample, over {COMMENT_LIMIT:g} s")
    if webhooks[-1] > WEBHOOK_LIMIT:
        misses.append(f"a webhook was answered after {webhooks[-1]:.2f} s, over {WEBHOOK_LIMIT:g} s")
    figures = {
        "unchanged": unchanged,
        "flagged_without_change": false,
        "called_the_same": sum(pull.conclusion == "success" and not pull.more for pull in pulls),
        "one_page_more": more,
        "flagged_of_those": found,
        "comment_seconds_median": round(statistics.median(latencies), 3),
        "comment_seconds_worst": round(latencies[-1], 3),
        "webhook_seconds_median": round(statistics.median(webhooks), 4),
        "webhook_seconds_worst": round(webhooks[-1], 4),
        "seconds": round(time.monotonic() - started, 1),
        "load": os.getloadavg()[0],
    }
    finish_report("gate", misses, figures)


if __name__ == "__main__":
    main()
