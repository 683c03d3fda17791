"""Profiles: what is refused is a problem document, what is stored can be shown and diagnosed."""

from __future__ import annotations

import json
import uuid
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random

from runner.contract.profile import Touch
from tests.fuzz.door import Attempt
from tests.fuzz.mutation import mutated_json
from tests.fuzz.served import Served, by_generation
from tests.service.profiles import anatomy, area, profile

SHARE = 12
_SEEDS = [
    profile(
        anatomy({Touch.FIRST: 100}, areas=(area(),)),
        cost=0.2,
        waited=0.1,
        calls={"mmap": 10},
        readings={"sys-time": 0.1},
    ).model_dump(mode="json"),
    profile(anatomy({Touch.FIRST: 10, Touch.AGAIN: 90}), references={"alone": {"minor-faults": 10}}).model_dump(
        mode="json"
    ),
]


def opened(folder: Path) -> AbstractContextManager[Attempt]:
    return by_generation(folder, _one)


def _one(served: Served, rng: Random) -> str:
    profile_id = uuid.UUID(int=rng.getrandbits(128), version=4)
    document = rng.choice(_SEEDS) | {"profile_id": str(profile_id)}
    path = f"/api/v1/profiles/{profile_id}"
    diagnose = rng.random() < 0.2
    if diagnose:
        answer = served.submit("POST", "/api/v1/diagnoses", mutated_json({"profile": document}, rng))
    else:
        answer = served.submit("PUT", path, mutated_json(document, rng))
    if answer.status_code >= 400:
        assert json.loads(answer.text)["status"] == answer.status_code
        return f"refused with {answer.status_code}"
    if diagnose:
        return "diagnosed"
    if rng.random() < 0.2:
        served.show(f"/profiles/{profile_id}")
        for name in ("on-cpu.folded", "off-cpu.speedscope", "on-cpu.pprof"):
            served.show(f"{path}/{name}")
    return "stored"
