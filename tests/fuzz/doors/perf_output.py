"""Perf's own output, in three formats: a damaged one never gives a wrong number without an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.fuzz.door import Attempt
from tests.runner.perf.mutation import MUTATIONS, describe, fate, readable, requested_of
from tests.runner.perf.recordings import outputs

SHARE = 260


@contextmanager
def opened(_: Path) -> Iterator[Attempt]:
    recordings = tuple(readable(outputs()))

    def attempt(rng: Random) -> str:
        output = rng.choice(recordings)
        kind = rng.choice(list(MUTATIONS))
        damaged = MUTATIONS[kind](output.text, rng)
        became, problem = fate(output, damaged, requested_of(output) if rng.random() < 0.5 else ())
        assert not problem, f"{output.name}: {kind}: {problem}: {describe(output, damaged)}"
        return became

    yield attempt
