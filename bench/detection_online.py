"""What a detector says run by run: false alarms where nothing changes, and how soon it tells a step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from service.rules.detect import LevelChangeDetector, find_level_changes, find_pooled_shift

Rng = np.random.Generator
LEVEL = 66_052
OUTLIERS = (128, -128, 512, -512, 37, -260)


def draw_jitter(rng: Rng, n: int) -> np.ndarray:
    """Jump by up to two faults."""
    return rng.integers(-2, 3, n)


def draw_outliers(rng: Rng, n: int) -> np.ndarray:
    """Jitter, and 0.9 % of runs far off."""
    return draw_jitter(rng, n) + (rng.random(n) < 0.009) * rng.choice(OUTLIERS, n)


def draw_host_noise(rng: Rng, n: int) -> np.ndarray:
    """The noise of the real history: sigma 2.1 faults, and 0.9 % of runs far off."""
    return np.round(rng.normal(0, 2.1, n)).astype(int) + (rng.random(n) < 0.009) * rng.choice(OUTLIERS, n)


def _confirm_by_reruns(values: list[int], at: int, rerun: Callable[[], int]) -> bool:
    """Order up to three reruns of the newest point; return whether the change at ``at`` is confirmed."""
    samples: list[list[int]] = [[] for _ in values]
    samples[-1] = [values[-1]]
    for _ in range(3):
        samples[-1].append(rerun())
        near = [drift for drift in find_level_changes(values, samples=samples) if abs(drift.index - at) <= 1]
        if not near:
            return False
        if not near[-1].wants_rerun:
            return True
    return False


def count_false_alarms(rng: Rng, noise: Callable[[Rng, int], np.ndarray], runs: int = 10_000) -> dict[str, int]:
    """Count alarms in ``runs`` runs without a change: sure at once, those that reruns confirm, and reruns asked."""
    at_once = after = asked = 0
    for _ in range(runs // 200):
        values = (LEVEL + noise(rng, 250)).tolist()
        series = LevelChangeDetector()
        series.extend(values[:50])
        told = [drift.index for drift in series.find_changes()]
        for i in range(50, 250):
            for drift in series.append(values[i]):
                if any(abs(drift.index - known) <= 8 for known in told):
                    continue
                if not drift.wants_rerun:
                    at_once += 1
                    after += 1
                    told.append(drift.index)
                else:
                    asked += 1
                    if _confirm_by_reruns(values[: i + 1], drift.index, lambda: LEVEL + int(noise(rng, 1)[0])):
                        after += 1
                        told.append(drift.index)
    return {"at_once": at_once, "after_reruns": after, "asked": asked}


def measure_delay(rng: Rng, noise: Callable[[Rng, int], np.ndarray], step: int, trials: int = 200) -> dict[str, float]:
    """Return the median number of runs until a step is confirmed, by reruns of the newest run and without any."""
    with_reruns, without = [], []
    for _ in range(trials):
        at = int(rng.integers(60, 200))
        values = LEVEL + noise(rng, at + 15)
        values[at:] += step
        points: list[int] = values.tolist()
        first = sure = 99
        for k in range(1, 16):
            near = [drift for drift in find_level_changes(points[: at + k]) if abs(drift.index - at) <= 3]
            if (
                near
                and first == 99
                and (
                    not near[-1].wants_rerun
                    or _confirm_by_reruns(
                        points[: at + k], near[-1].index, lambda: LEVEL + step + int(noise(rng, 1)[0])
                    )
                )
            ):
                first = k
            if near and not near[-1].wants_rerun:
                sure = k
                break
        with_reruns.append(first)
        without.append(sure)
    return {"with_reruns": float(np.median(with_reruns)), "without": float(np.median(without))}


def measure_pooled_shifts(rng: Rng, benchmarks: int = 40, shift: int = 2, trials: int = 2000) -> dict[str, float]:
    """Return how often a shift of the whole suite is told from one run, if there is none and where there is one."""
    alarms = found = 0
    for trial in range(trials):
        base = np.exp(rng.uniform(5, 14, benchmarks)).round()
        history = (base[:, None] + [rng.normal(0, 2.1, 40).round() for _ in range(benchmarks)]).tolist()
        newest = base + draw_host_noise(rng, benchmarks)
        alarms += find_pooled_shift(history, newest.tolist()) is not None
        if trial < trials // 4:
            found += find_pooled_shift(history, (newest + shift).tolist()) is not None
    return {"false_alarm": alarms / trials, "power": found / (trials // 4)}
