"""Reports of runs, one and many at once: what is refused is a problem document, what is stored can be shown."""

from __future__ import annotations

import json
import uuid
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random

from tests.fuzz.door import Attempt
from tests.fuzz.mutation import mutated_json
from tests.fuzz.served import Served, by_generation
from tests.service import reports

SHARE = 20
_SEEDS = [
    *(reports.report(number, 100, 100, 101, others={"task-clock": 0.5}).model_dump(mode="json") for number in (1, 2)),
    reports.failed_build(3).model_dump(mode="json"),
]


def opened(folder: Path) -> AbstractContextManager[Attempt]:
    return by_generation(folder, _one)


def _one(served: Served, rng: Random) -> str:
    run_id = uuid.UUID(int=rng.getrandbits(128), version=4)
    document = rng.choice(_SEEDS) | {"run_id": str(run_id)}
    if rng.random() < 0.4:
        seed = {"reports": [document, rng.choice(_SEEDS) | {"run_id": str(uuid.UUID(int=rng.getrandbits(128)))}]}
        answer = served.submit("POST", "/api/v1/runs", mutated_json(seed, rng))
    else:
        answer = served.submit("PUT", f"/api/v1/runs/{run_id}", mutated_json(document, rng))
    if answer.status_code >= 400:
        assert json.loads(answer.text)["status"] == answer.status_code
        return f"refused with {answer.status_code}"
    if rng.random() < 0.1:
        served.show(f"/runs/{run_id}")
    return "stored"
