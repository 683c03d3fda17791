"""Made-up runs in any number, as a runner would send them: made fast, for the client shares the machine."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from runner.contract import Case, Environment, Host, Outcome, Report, ReportList, Revision, Sample
from runner.contract.run_id import make_id_at

SUBJECT = "bench"
SAMPLES = 5
METRICS = ("minor-faults", "major-faults", "sys-time", "elapsed", *(f"event-{number}" for number in range(16)))
START = datetime(2025, 1, 1, tzinfo=UTC)
_SETTINGS = {f"setting.{number}": f"value {number}" for number in range(24)}
_SAMPLE = '{"readings":{%s}}' % ",".join(f'"{name}":{{"value":%r}}' for name in METRICS)  # noqa: UP031


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is: each case is measured once at each commit."""

    cases: int
    commits: int

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.cases * self.commits

    @property
    def samples(self) -> int:
        """How many values there are: of each sample of each run, one for each metric."""
        return self.runs * SAMPLES * len(METRICS)

    @property
    def series(self) -> int:
        """How many series there are."""
        return self.cases * len(METRICS)


_AUTHORS = ("Ada", "Bo", "Cy", "Di", "Eva")


def make_revision(number: int, subject: str = SUBJECT) -> Revision:
    """Return a commit."""
    return Revision(
        commit=f"{number + 1:040x}",
        parents=(f"{number:040x}",) if number else (),
        author="Ada" if subject == SUBJECT else _AUTHORS[number % len(_AUTHORS)],
        committed_at=START + timedelta(hours=number),
        title=f"Change number {number}",
    )


def make_values(case: int, commit: int) -> list[list[int | float]]:
    """Return what was counted: for each sample, a value of each metric. Every seventh case takes a step half way."""
    noise = Random(case * 1_000_003 + commit)
    step = 16 if case % 7 == 0 and commit % 1000 >= 500 else 0
    exact: list[int | float] = [100_000 + case + step, 0]
    return [
        [*exact, 0.5 + noise.random() / 100, 1 + noise.random() / 50, *(5000 + noise.getrandbits(3) for _ in range(16))]
        for _ in range(SAMPLES)
    ]


def run_id(case: int, commit: int, subject: str = SUBJECT) -> uuid.UUID:
    """Return the id of a run, which begins with its time as those of a runner do, and is as good as random."""
    rest = hashlib.blake2b(f"{subject} {case} {commit}".encode(), digest_size=10).digest()
    return make_id_at(compute_measured_at(case, commit), rest)


def compute_measured_at(case: int, commit: int) -> datetime:
    """Return when a run began."""
    return START + timedelta(days=400, seconds=60 * commit + case)


def generate_batches(size: Size, runs: int, first_commit: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield request bodies with this many runs each, and the number in each; commit by commit."""
    head = report_head()
    body: list[str] = []
    for commit in range(first_commit, first_commit + size.commits):
        told = make_revision(commit).model_dump_json()
        for case in range(size.cases):
            body.append(report_text(head, told, case, commit))
            if len(body) == runs:
                yield len(body), _format_report_list(body)
                body = []
    if body:
        yield len(body), _format_report_list(body)


def build_stepping_batch(subject: str, commits: int, cases: int) -> bytes:
    """Return the body of a request for a subject in which nearly every commit moves one case: one event per commit.

    The sizes of the steps are spread over five orders of magnitude, up and down. All is in one request, so that each
    series is judged once.
    """
    head, sizes = report_head(subject), Random(subject)
    levels = [100_000] * cases
    body: list[str] = []
    for commit in range(commits):
        if commit >= cases:
            case = commit % cases
            step = round(10 ** sizes.uniform(0, 5)) * sizes.choice((1, 1, -1))
            levels[case] += step if levels[case] + step > 0 else -step
        told = make_revision(commit, subject).model_dump_json()
        for case in range(cases):
            sample = f'{{"readings":{{"minor-faults":{{"value":{levels[case]}}}}}}}'
            body.append(report_text(head, told, case, commit, samples=f"{sample},{sample}", subject=subject))
    return _format_report_list(body)


def _format_report_list(reports: list[str]) -> bytes:
    return f'{{"reports":[{",".join(reports)}]}}'.encode()


def report_head(subject: str = SUBJECT, more: Mapping[str, object] | None = None) -> str:
    """Return what all reports of a subject share, from the models themselves, with further fields."""
    made = Report(
        run_id=uuid.UUID(int=0),
        subject=subject,
        revision=make_revision(0),
        case=Case(workload="w", definition="0" * 16),
        host=Host(name="host"),
        environment=Environment(settings=_SETTINGS),
        runner_version="1",
        started_at=START,
        finished_at=START,
        outcome=Outcome.MEASURED,
        samples=(Sample(readings={}),),
    )
    ReportList(reports=(made,))
    shared = json.loads(made.model_dump_json(exclude_defaults=True))
    kept = {name: shared[name] for name in ("subject", "host", "environment", "runner_version", "outcome")}
    return json.dumps(kept | dict(more or {}))[1:-1]


def report_text(head: str, told: str, case: int, commit: int, samples: str = "", subject: str = SUBJECT) -> str:
    """Return a report as JSON, from what all reports share and from its commit as JSON."""
    at = compute_measured_at(case, commit).isoformat()
    samples = samples or ",".join(_SAMPLE % tuple(row) for row in make_values(case, commit))
    identity = run_id(case, commit, subject)
    return (
        f'{{{head},"run_id":"{identity}","revision":{told},"started_at":"{at}","finished_at":"{at}",'
        f'"case":{{"workload":"made-up","definition":"0123456789abcdef","parameters":{{"number":{case}}}}},'
        f'"samples":[{samples}]}}'
    )
