"""Nominations and proofs: how sensitive the first are, how often the second err, and what a history makes of both.

- Unchanged noise of fourteen laws, compared in pairs and looked at after each: hardly ever proven.
- A shift of one sigma within the pairs that a comparison takes.
- Two runs against two, and shifts in the middle of 80 runs: nominated.
- Unchanged histories of up to 500 commits: what is nominated there, and what a proof makes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np

from runner.contract import Verdict
from runner.contract.proof_power import MAX_PAIRS
from service.rules.comparison.error_probability import FALSE_ALARM_PROBABILITY
from service.rules.comparison.metric_decision import decide_count
from service.rules.detect.nomination import nominate_change
from service.rules.series.find_drifts import find_drifts
from service.rules.series.point_order import PathPoint, arrange_trend

Rng = np.random.Generator
Law = Callable[[Rng, int], np.ndarray]
LEVEL = 10_000
NOMINATIONS = 150
"""Unchanged nominations of each law."""
SHIFTED = 200
HISTORIES = 40
SAMPLES = 10
START = datetime(2025, 1, 1, tzinfo=UTC)
ERROR = FALSE_ALARM_PROBABILITY / 2


def _draw_walk(rng: Rng, n: int, step: float) -> np.ndarray:
    return LEVEL + np.cumsum(rng.normal(0, step, n)) + rng.normal(0, 10, n)


def _draw_autoregression(rng: Rng, n: int, rho: float) -> np.ndarray:
    noise = rng.normal(0, 10, n)
    for i in range(1, n):
        noise[i] += rho * noise[i - 1]
    return LEVEL + noise


LAWS: dict[str, Law] = {
    "Gauss": lambda rng, n: rng.normal(LEVEL, 50, n),
    "uniform 350 … 384": lambda rng, n: rng.integers(350, 385, n),
    "±1": lambda rng, n: LEVEL + rng.integers(-1, 2, n),
    "Student's t, 2": lambda rng, n: LEVEL + 20 * rng.standard_t(2, n),
    "log-normal": lambda rng, n: LEVEL * np.exp(rng.normal(0, 0.5, n)),
    "geometric": lambda rng, n: LEVEL + rng.geometric(0.01, n),
    "Poisson(.5)": lambda rng, n: LEVEL + rng.poisson(0.5, n),
    "modes 70/30, 16 apart": lambda rng, n: LEVEL + 16 * (rng.random(n) < 0.3),
    "modes 50/50": lambda rng, n: LEVEL + 64 * (rng.random(n) < 0.5),
    "modes 95/5": lambda rng, n: LEVEL + 64 * (rng.random(n) < 0.05),
    "outliers, 5 %": lambda rng, n: LEVEL + (rng.random(n) < 0.05) * rng.integers(-500, 500, n),
    "autoregression, .5": lambda rng, n: _draw_autoregression(rng, n, 0.5),
    "autoregression, .98": lambda rng, n: _draw_autoregression(rng, n, 0.98),
    "a host that wanders": lambda rng, n: _draw_walk(rng, n, 2.0),
}


def _is_proven(base: np.ndarray, head: np.ndarray, every: int = 1) -> bool:
    """Return whether pairs are ever called changed if one looks after each ``every`` of them."""
    pairs = list(zip(np.rint(base).astype(int).tolist(), np.rint(head).astype(int).tolist(), strict=True))
    for n in range(2, len(pairs) + 1, every):
        verdict = decide_count(pairs[:n], ERROR).verdict
        if verdict is not Verdict.NEEDS_MORE_RUNS:
            return verdict is Verdict.CHANGED
    return False


def _deal_runs(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Deal the executions of a session out to base and head in the order A B B A."""
    order = np.arange(len(runs)) % 4
    return runs[(order == 0) | (order == 3)], runs[(order == 1) | (order == 2)]


def _count_errors(rng: Rng) -> dict[str, int]:
    return {
        name: sum(_is_proven(*_deal_runs(law(rng, 2 * MAX_PAIRS))) for _ in range(NOMINATIONS))
        for name, law in LAWS.items()
    }


def _measure_proven_share(rng: Rng, sigma: float) -> float:
    proven = 0
    for _ in range(SHIFTED):
        base, head = rng.normal(LEVEL, 50, MAX_PAIRS), rng.normal(LEVEL + 50 * sigma, 50, MAX_PAIRS)
        proven += _is_proven(base, head, every=4)
    return proven / SHIFTED


def _measure_nominated_share(rng: Rng, length: int, sigma: float) -> float:
    """Return in which share of noisy series a shift in the middle is nominated, at its place or as a drift there."""
    seen = 0
    for _ in range(SHIFTED):
        runs = rng.normal(0, 1, 2 * length)
        runs[length:] += sigma
        samples = [LEVEL + 100 * (run + rng.normal(0, 0.5, SAMPLES)) for run in runs]
        seen += any(change <= length <= last for change, last in _list_candidates(samples))
    return seen / SHIFTED


def _list_candidates(samples: list[np.ndarray]) -> list[tuple[int, int]]:
    """Return the ranges of the drifts of a series, suspected or certain, and of what is worth a comparison."""
    counts = [np.rint(run).astype(int).tolist() for run in samples]
    points = [
        PathPoint(
            run_id=UUID(int=number + 1),
            revision=f"r{number}",
            position=number,
            environment="A",
            measured_at=START + timedelta(minutes=number),
            value=float(np.median(run)),
            samples=tuple(run),
        )
        for number, run in enumerate(counts)
    ]
    drifts = find_drifts(arrange_trend(points), is_exact=True)
    ranges = [(drift.after_position + 1 - 8, drift.up_to_position + 8) for drift in drifts]
    worth = nominate_change([point.value for point in points], [point.samples for point in points])
    return [*ranges, *([(worth.low - 8, worth.high + 8)] if worth else [])]


def _prove_unchanged(rng: Rng) -> tuple[int, int]:
    """Return how many changes unchanged histories nominate as likely, and how many of these pairs would prove."""
    nominated = proven = 0
    for _ in range(HISTORIES):
        samples = [rng.normal(LEVEL, 50, SAMPLES) for _ in range(int(rng.choice([4, 10, 30, 100, 500])))]
        best = nominate_change([float(np.median(run)) for run in samples], [run.tolist() for run in samples])
        if best is not None:
            nominated += best.is_likely
            proven += _is_proven(rng.normal(LEVEL, 50, MAX_PAIRS), rng.normal(LEVEL, 50, MAX_PAIRS), every=4)
    return nominated, proven


def run(seed: int) -> tuple[dict[str, object], list[str]]:
    """Measure everything on draws from a seed; return the figures and the bounds that do not hold."""
    rng = np.random.default_rng(seed)
    errors = _count_errors(rng)
    figures: dict[str, object] = {
        f"unchanged, of {NOMINATIONS} proven, {name}": count for name, count in errors.items()
    }
    misses = []
    together, most = sum(errors.values()), max(2, NOMINATIONS * len(LAWS) // 1000)
    figures["unchanged, proven of all laws together"] = together
    if together > most:
        misses.append(f"{together} of {NOMINATIONS * len(LAWS)} unchanged nominations proven, at most {most}")
    share = _measure_proven_share(rng, 1.0)
    figures[f"proven within {MAX_PAIRS} pairs at 1 sigma"] = share
    if share < 0.95:
        misses.append(f"proven at 1 sigma: {share}, at least 0.95")
    for sigma, least in ((1.0, 0.9), (1.5, 0.98), (2.0, 1.0), (3.0, 1.0)):
        figures[f"nominated at {sigma:g} sigma, 40 + 40"] = found = _measure_nominated_share(rng, 40, sigma)
        if found < least:
            misses.append(f"nominated at {sigma:g} sigma, 40 + 40: {found}, at least {least}")
    figures["nominated: a doubled count, two runs on each side"] = doubled = _measure_nominated_share(
        rng, 2, LEVEL / 100
    )
    if doubled < 1.0:
        misses.append(f"a doubled count is nominated in {doubled} of the series of two and two runs")
    nominated, proven = _prove_unchanged(rng)
    figures[f"likely changes in {HISTORIES} unchanged histories"] = nominated
    figures["of these histories with a proven change"] = proven
    if proven:
        misses.append(f"{proven} of {HISTORIES} unchanged histories have a proven change")
    return figures, misses
