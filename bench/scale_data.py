"""Made-up runs of many cases, each with few metrics: all of them judged, half of them noisy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from bench.store_data import START, report_head, revision, run_id

METRICS = ("minor-faults", "major-faults", "sys-time", "elapsed")
NOISY = METRICS[2:]
SAMPLES = 5
STEP = 16


@dataclass(frozen=True, slots=True)
class Scale:
    """A subject with so many cases."""

    subject: str
    cases: int

    @property
    def series(self) -> int:
        """How many series it has."""
        return self.cases * len(METRICS)

    def batches(self, commit: int, runs: int, moved: int = 0) -> Iterator[bytes]:
        """Return bodies of requests with so many runs, which measure each case at a commit.

        Parameters
        ----------
        moved
            One case in so many has more minor faults than before; 0 for none.
        """
        head, told = report_head(self.subject, {"judging": {"judge": NOISY}}), revision(commit, self.subject)
        shared = f'{head},"revision":{told.model_dump_json()}'
        for first in range(0, self.cases, runs):
            cases = range(first, min(first + runs, self.cases))
            body = [self._report(shared, case, commit, STEP if moved and case % moved == 0 else 0) for case in cases]
            yield f'{{"reports":[{",".join(body)}]}}'.encode()

    def _report(self, shared: str, case: int, commit: int, step: int) -> str:
        noise = Random(case * 1_000_003 + commit)
        samples = []
        for _ in range(SAMPLES):
            values = (1000 + case + step, 0, 0.5 + noise.random() / 100, 1 + noise.random() / 50)
            readings = {name: {"value": value} for name, value in zip(METRICS, values, strict=True)}
            samples.append({"readings": readings})
        at = (START + timedelta(days=400, seconds=60 * commit)).isoformat()
        return (
            f'{{{shared},"run_id":"{run_id(case, commit, self.subject)}","started_at":"{at}","finished_at":"{at}",'
            f'"case":{{"workload":"made-up","definition":"0123456789abcdef","parameters":{{"number":{case}}}}},'
            f'"samples":{json.dumps(samples)}}}'
        )
