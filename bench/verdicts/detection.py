"""Verdicts on series: false alarms where nothing changes, the power against shifts, and what must not matter."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from bench.detection_peers import start_peers
from service.rules.detect import LevelChange, LevelChangeDetector, find_level_changes

Rng = np.random.Generator
Law = Callable[[Rng, int], np.ndarray]
LEVEL = 66_052
NEAR = 8
"""Points within which two changes are the same one."""
SHIFTED = 400
"""Series with a shift, for each size and length."""


def _draw_autoregression(rng: Rng, n: int) -> np.ndarray:
    noise = rng.normal(size=n + 50)
    for i in range(1, n + 50):
        noise[i] += 0.5 * noise[i - 1]
    return LEVEL + noise[50:]


def _follow_nearly(rng: Rng, n: int) -> np.ndarray:
    noise = rng.normal(0, 2, n)
    for i in range(1, n):
        noise[i] += 0.98 * noise[i - 1]
    return LEVEL + noise


def _make_mode_law(share: float) -> Law:
    return lambda rng, n: LEVEL + 64 * (rng.random(n) < share)


def _count_outliers(share: float) -> Law:
    return lambda rng, n: LEVEL + (rng.random(n) < share) * rng.integers(-500, 500, n)


LAWS: dict[str, Law] = {
    "constant": lambda _, n: np.full(n, LEVEL),
    "±1": lambda rng, n: LEVEL + rng.integers(-1, 2, n),
    "±2": lambda rng, n: LEVEL + rng.integers(-2, 3, n),
    "Gauss, 1 %": lambda rng, n: LEVEL * (1 + 0.01 * rng.normal(size=n)),
    "Student's t, 3": lambda rng, n: LEVEL + rng.standard_t(3, n),
    "autoregression, .5": _draw_autoregression,
    "autoregression, .98": _follow_nearly,
    "log-normal": lambda rng, n: LEVEL * np.exp(rng.normal(0, 0.5, n)),
    "outliers, 1 %": _count_outliers(0.01),
    "outliers, 5 %": _count_outliers(0.05),
    "modes, 30/70": _make_mode_law(0.3),
    "modes, 50/50": _make_mode_law(0.5),
    "modes, 80/20": _make_mode_law(0.8),
    "walk, .02 a run": lambda rng, n: LEVEL + rng.normal(size=n) + np.cumsum(rng.normal(0, 0.02, n)),
}

SAMPLE_LAWS: dict[str, Callable[[Rng], int]] = {
    **{
        f"modes {share:.0%}": lambda rng, share=share: LEVEL + 64 * int(rng.random() < share)
        for share in (0.05, 0.1, 0.2, 0.5)
    },
    "±1": lambda rng: LEVEL + int(rng.integers(-1, 2)),
    "Poisson(.5)": lambda rng: LEVEL + int(rng.poisson(0.5)),
}


def _count_certain_changes(values: list[float], samples: list[list[int]] | None = None) -> int:
    """Return how many different sure changes a series shows if it is judged after each run."""
    detector, seen = LevelChangeDetector(), set[int]()
    for i, value in enumerate(values):
        for change in detector.append(value, samples[i] if samples else None):
            if not change.wants_rerun and not any(abs(change.index - other) <= NEAR for other in seen):
                seen.add(change.index)
    return len(seen)


def _run_of(rng: Rng, law: Callable[[Rng], int], expected: int | None) -> list[int]:
    """Sample a run as the runner does: 2 … 10 samples, fewer if they agree or repeat what the history shows."""
    samples: list[int] = []
    while len(samples) < 10:
        samples.append(law(rng))
        if expected is not None and set(samples) == {expected}:
            break
        most = max(set(samples), key=samples.count)
        if samples.count(most) >= 2 and 2 * samples.count(most) > len(samples):
            break
    return samples


def _draw_samples(rng: Rng, law: Callable[[Rng], int], runs: int) -> list[list[int]]:
    drawn: list[list[int]] = []
    expected = None
    for _ in range(runs):
        samples = _run_of(rng, law, expected)
        drawn.append(samples)
        most = max(set(samples), key=samples.count)
        expected = most if 2 * samples.count(most) > len(samples) else expected
    return drawn


def _count_false_alarms(rng: Rng) -> dict[str, int]:
    figures = {}
    for name, law in SAMPLE_LAWS.items():
        series = [_draw_samples(rng, law, 200) for _ in range(30)]
        figures[f"sure in 6,000 sampled runs, {name}"] = sum(
            _count_certain_changes([median(samples) for samples in runs], runs) for runs in series
        )
    for name, runs_of in LAWS.items():
        figures[f"sure in 20,000 runs, {name}"] = sum(
            _count_certain_changes(runs_of(rng, 500).tolist()) for _ in range(40)
        )
    levels = [LEVEL + rng.normal(0, 20, 500) for _ in range(20)]
    drawn = [[np.round(level + rng.normal(0, 20, 10)).astype(int).tolist() for level in runs] for runs in levels]
    figures["sure in 10,000 runs, noise between runs, 10 samples each"] = sum(
        _count_certain_changes([median(samples) for samples in runs], runs) for runs in drawn
    )
    return figures


def _check_one_fault_more(rng: Rng) -> tuple[int, int]:
    """Return in how many of 100 exact series one fault more wants a rerun at once, and is sure two runs later."""
    at_once = sure = 0
    for _ in range(100):
        n, level = int(rng.integers(12, 80)), int(rng.integers(0, 2**40))
        detector = LevelChangeDetector()
        detector.extend([level] * n, [[level, level]] * n)
        after = [detector.append(level + 1, [level + 1] * 2)[:] for _ in range(3)]
        at_once += [(change.index, change.wants_rerun) for change in after[0]] == [(n, True)]
        sure += [(change.index, change.wants_rerun) for change in after[2]] == [(n, False)]
    return at_once, sure


def _list_changes_near(changes: list[LevelChange], at: int) -> list[LevelChange]:
    return [change for change in changes if abs(change.index - at) <= NEAR or change.low <= at <= change.high]


def _measure_power(rng: Rng) -> dict[str, float]:
    """Return how often a shift of white noise is seen, and is certain, and Otava's share where it is installed."""
    otava = start_peers().get("otava")
    figures = {}
    for length in (40, 60, 100):
        for size in (1.0, 1.5, 2.0, 3.0):
            seen = sure = theirs = 0
            for _ in range(SHIFTED):
                values = rng.normal(100, 1, 2 * length)
                values[length:] += size
                near = _list_changes_near(find_level_changes(values.tolist()), length)
                seen += bool(near)
                sure += any(not change.wants_rerun for change in near)
                if otava:
                    theirs += any(abs(at - length) <= NEAR for at in otava(values.tolist()))
            figures[f"power at {size:g} sigma, {length} + {length}"] = seen / SHIFTED
            figures[f"certain at {size:g} sigma, {length} + {length}"] = sure / SHIFTED
            if otava:
                figures[f"Otava's power at {size:g} sigma, {length} + {length}"] = theirs / SHIFTED
    return figures


def _measure_level_steps(rng: Rng) -> dict[str, float]:
    """Return how often steps of 2 sigma are certain, up and down in turn, where other steps are not near."""
    figures = {}
    for name, lengths, sizes in (
        ("of six levels of 250 runs", (250,) * 6, (2, -2, 2, -2, 2)),
        ("of six levels of 250 runs, downwards", (250,) * 6, (-2,) * 5),
        ("the second of two, 200 runs after the first", (100, 200, 100), (2, -2)),
        ("the second of two, 1,000 runs after the first", (100, 1000, 100), (2, -2)),
    ):
        sure = np.zeros(len(sizes))
        for _ in range(SHIFTED // 8):
            edges = np.cumsum(lengths)[:-1]
            values = np.round(rng.normal(1000, 10, sum(lengths)))
            for at, size in zip(edges, sizes, strict=True):
                values[at:] += 10 * size
            changes = find_level_changes(values.astype(int).tolist())
            sure += [any(not change.wants_rerun for change in _list_changes_near(changes, at)) for at in edges]
        shares = sure / (SHIFTED // 8)
        figures[f"certain at 2 sigma, {name}"] = float(shares[-1] if "second" in name else shares.min())
    return figures


def _measure_delay(rng: Rng) -> float:
    """Return after how many runs, in the median, a step of 3 sigma is certain."""
    delays = []
    for _ in range(100):
        values = rng.normal(100, 1, 130)
        values[100:] += 3
        detector = LevelChangeDetector()
        detector.extend(values[:100].tolist())
        delays.append(
            next(
                (
                    i
                    for i, value in enumerate(values[100:].tolist(), 1)
                    if any(not change.wants_rerun for change in _list_changes_near(detector.append(value), 100))
                ),
                99,
            )
        )
    return float(np.median(delays))


def _list_indices(values: np.ndarray) -> list[int]:
    return [change.index for change in find_level_changes(values.tolist())]


def _check_invariance(rng: Rng) -> tuple[int, int]:
    """Return how many of 60 series differ mirrored, shifted or scaled, and appended instead of read as a whole."""
    moved = appended = 0
    for _ in range(60):
        values = np.round(rng.normal(0, 4, 240)) + np.repeat(rng.integers(-30, 30, 4), 60)
        values += 64 * (rng.random(240) < rng.choice([0, 0.3]))
        indices = _list_indices(values)
        moved += any(_list_indices(other) != indices for other in (-values, values + 2**20, values * 1024))
        detector = LevelChangeDetector()
        for value in values.tolist():
            changes = detector.append(value)
        appended += [change.index for change in changes] != indices
    return moved, appended


def _measure_append_costs(rng: Rng) -> dict[str, float]:
    figures = {}
    for n in (100, 1000, 10_000, 100_000):
        for name, law in (("±2", LAWS["±2"]), ("modes", LAWS["modes, 30/70"]), ("Gauss", LAWS["Gauss, 1 %"])):
            values = law(rng, n + 800).tolist()
            detector = LevelChangeDetector()
            detector.extend(values[:n])
            detector.find_changes()
            begin = time.process_time()
            for value in values[n:]:
                detector.append(value)
            figures[f"µs an append at {n:,} points, {name}"] = round((time.process_time() - begin) / 800 * 1e6, 1)
    return figures


def run(seed: int) -> tuple[dict[str, object], list[str]]:
    """Measure everything on series drawn from a seed; return the figures and the bounds that do not hold."""
    rng = np.random.default_rng(seed)
    alarms = _count_false_alarms(rng)
    misses = [f"{name}: {count}, at most 2" for name, count in alarms.items() if count > 2 - ("10,000" in name)]
    together = sum(count for name, count in alarms.items() if "20,000" in name)
    if together > 10:
        misses.append(f"sure in 20,000 runs of each law: {together} together, at most 10")
    at_once, sure = _check_one_fault_more(rng)
    if (at_once, sure) != (100, 100):
        misses.append(f"one fault more: {at_once} at once, {sure} sure two runs later, of 100")
    power = _measure_power(rng)
    for size, least in (("1", 0.8), ("1.5", 0.95), ("2", 0.99), ("3", 1.0)):
        for length in (40, 60, 100):
            name = f"power at {size} sigma, {length} + {length}"
            least_here = max(least, power.get(f"Otava's {name}", 0.0))
            if power[name] < least_here:
                misses.append(f"{name}: {power[name]}, at least {least_here}")
    levels = _measure_level_steps(rng)
    misses += [f"{name}: {share}, at least 0.9" for name, share in levels.items() if share < 0.9]
    delay = _measure_delay(rng)
    if delay > 6:
        misses.append(f"median delay at 3 sigma: {delay} runs, at most 6")
    moved, appended = _check_invariance(rng)
    if moved or appended:
        misses.append(f"of 60 series {moved} differ mirrored, shifted or scaled, {appended} appended")
    costs = _measure_append_costs(rng)
    misses += [f"{name}: {cost}, at most 60" for name, cost in costs.items() if cost > 60]
    return {
        **alarms,
        "sure in 20,000 runs of each law, together": together,
        "one fault more: wants a rerun at once, of 100": at_once,
        "one fault more: sure two runs later, of 100": sure,
        **power,
        **levels,
        "median delay at 3 sigma, in runs": delay,
        "of 60 series, differing mirrored, shifted or scaled": moved,
        "of 60 series, differing if appended": appended,
        **costs,
    }, misses
