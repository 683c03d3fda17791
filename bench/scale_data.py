"""Made-up runs of many cases, each with few metrics: all of them judged, half of them noisy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from bench.store_data import make_revision, report_head, report_text

METRICS = ("minor-faults", "major-faults", "sys-time", "elapsed")
NOISY = METRICS[2:]
SAMPLES = 5
STEP = 16


@dataclass(frozen=True, slots=True)
class Scale:
    """A subject with this many cases."""

    subject: str
    cases: int

    @property
    def series(self) -> int:
        """How many series it has."""
        return self.cases * len(METRICS)

    def batches(self, commit: int, runs: int, moved: int = 0) -> Iterator[bytes]:
        """Return bodies of requests with this many runs, which measure each case at a commit.

        Parameters
        ----------
        moved
            One case in this many has more minor faults than before; 0 for none.
        """
        head, told = report_head(self.subject, {"judging": {"judge": NOISY}}), make_revision(commit, self.subject)
        commit_told = told.model_dump_json()
        for first in range(0, self.cases, runs):
            cases = range(first, min(first + runs, self.cases))
            body = [
                report_text(head, commit_told, case, commit, self.samples(case, commit, moved), self.subject)
                for case in cases
            ]
            yield f'{{"reports":[{",".join(body)}]}}'.encode()

    def samples(self, case: int, commit: int, moved: int) -> str:
        """Return the samples of a run, as JSON."""
        noise = Random(case * 1_000_003 + commit)
        faults = 1000 + case + (STEP if moved and case % moved == 0 else 0)
        samples = []
        for _ in range(SAMPLES):
            values = (faults, 0, 0.5 + noise.random() / 100, 1 + noise.random() / 50)
            samples.append({"readings": {name: {"value": value} for name, value in zip(METRICS, values, strict=True)}})
        return json.dumps(samples)[1:-1]
