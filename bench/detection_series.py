"""Labelled series of nine kinds and more: what a detector has to tell from what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LENGTH = 200
Rng = np.random.Generator


@dataclass(frozen=True)
class Setting:
    """How strong and how dense the changes are; the judge draws its series with a different one than the tuner."""

    steps: tuple[int, int] = (1, 4)
    spacing: int = 25
    strength: tuple[float, float] = (4.0, 12.0)
    level: tuple[float, float] = (500.0, 200_000.0)


@dataclass(frozen=True)
class Labelled:
    """One series and the first indices of its new levels."""

    kind: str
    values: list[float]
    changes: list[int]


def _draw_positions(rng: Rng, setting: Setting, n: int) -> list[int]:
    count = int(rng.integers(setting.steps[0], setting.steps[1] + 1))
    free = n - (count + 1) * setting.spacing
    at = np.sort(rng.integers(0, max(1, free), count)) + setting.spacing * np.arange(1, count + 1)
    return [int(p) for p in at]


def _draw_levels(rng: Rng, setting: Setting, n: int, sigma: float, at: list[int]) -> np.ndarray:
    level = np.zeros(n)
    for position in at:
        low, high = setting.strength
        level[position:] += rng.choice([-1, 1]) * sigma * rng.uniform(low, high)
    return level


def _draw_base(rng: Rng, setting: Setting) -> float:
    low, high = setting.level
    return float(round(np.exp(rng.uniform(np.log(low), np.log(high)))))


def exact(rng: Rng, s: Setting, n: int) -> tuple[np.ndarray, list[int]]:
    """Repeat to the fault; steps of one fault and more."""
    at = _draw_positions(rng, s, n)
    level = np.full(n, _draw_base(rng, s))
    for position in at:
        level[position:] += rng.choice([-1, 1]) * rng.integers(1, 40)
    return level, at


def jitter(rng: Rng, s: Setting, n: int) -> tuple[np.ndarray, list[int]]:
    """Jump by up to two faults from run to run."""
    at = _draw_positions(rng, s, n)
    return np.round(_draw_base(rng, s) + _draw_levels(rng, s, n, 1.41, at)) + rng.integers(-2, 3, n), at


def gaussian(rng: Rng, s: Setting, n: int) -> tuple[np.ndarray, list[int]]:
    """Vary by 1 %."""
    at, base = _draw_positions(rng, s, n), _draw_base(rng, s)
    return base + _draw_levels(rng, s, n, base * 0.01, at) + rng.normal(0, base * 0.01, n), at


def outliers(rng: Rng, s: Setting, n: int) -> tuple[np.ndarray, list[int]]:
    """Have heavy tails: Student's t with 2 to 3 degrees of freedom, and some points far off."""
    at, base = _draw_positions(rng, s, n), _draw_base(rng, s)
    sigma = base * 0.005
    x = base + _draw_levels(rng, s, n, sigma, at) + sigma * rng.standard_t(rng.uniform(2, 3), n)
    outlier = rng.random(n) < rng.uniform(0.005, 0.04)
    return x + outlier * rng.choice([-1, 1], n) * base * rng.uniform(0.05, 0.6, n), at


def bimodal(rng: Rng, s: Setting, n: int) -> tuple[np.ndarray, list[int]]:
    """Fall on one of two loader layouts, at random from run to run."""
    at = _draw_positions(rng, s, n)
    sigma = 1.41 * rng.integers(0, 2)
    gap = rng.choice([16, 32, 64, 128, 512])
    mode = gap * (rng.random(n) < rng.uniform(0.15, 0.5))
    scale = max(sigma, gap / rng.choice([2, 4, 8]))
    noise = rng.integers(-2, 3, n) if sigma else 0
    return np.round(_draw_base(rng, s) + _draw_levels(rng, s, n, scale, at)) + mode + noise, at


def autocorrelated(rng: Rng, s: Setting, n: int) -> tuple[np.ndarray, list[int]]:
    """Rates whose noise is an autoregression."""
    at, base = _draw_positions(rng, s, n), _draw_base(rng, s)
    rho, sigma = rng.uniform(0.3, 0.7), base * 0.01
    noise = np.zeros(n)
    shock = rng.normal(0, sigma * (1 - rho**2) ** 0.5, n)
    noise[0] = rng.normal(0, sigma)
    for i in range(1, n):
        noise[i] = rho * noise[i - 1] + shock[i]
    return base + _draw_levels(rng, s, n, sigma, at) + noise, at


def reverted(rng: Rng, s: Setting, n: int) -> tuple[np.ndarray, list[int]]:
    """Step up and, five points later, back."""
    at = int(rng.integers(s.spacing, n - s.spacing))
    level = np.full(n, _draw_base(rng, s))
    level[at : at + 5] += rng.choice([-1, 1]) * round(1.41 * rng.uniform(*s.strength) + 2)
    return level + rng.integers(-2, 3, n), [at, at + 5]


def zero(rng: Rng, s: Setting, n: int) -> tuple[np.ndarray, list[int]]:
    """Zero, then not: major faults."""
    at = _draw_positions(rng, s, n)[:2]
    level = np.zeros(n)
    level[at[0] :] = rng.integers(1, 50)
    if len(at) > 1:
        level[at[1] :] = 0
    if rng.random() < 0.5:
        level = np.where(level > 0, np.maximum(level + rng.integers(-1, 2, n), 1), 0)
    return level, at


def newest(rng: Rng, s: Setting, n: int) -> tuple[np.ndarray, list[int]]:
    """Step in the newest point."""
    x = _draw_base(rng, s) + rng.integers(-2, 3, n) * rng.integers(0, 2)
    x[-1] += rng.choice([-1, 1]) * round(1.41 * max(8.0, rng.uniform(*s.strength)))
    return x, [n - 1]


def ramp(rng: Rng, s: Setting, n: int) -> tuple[np.ndarray, list[int]]:
    """Climb gradually by 6 to 20 sigma over 20 to 60 points."""
    base = _draw_base(rng, s)
    sigma = base * 0.01
    length = int(rng.integers(20, 61))
    at = int(rng.integers(s.spacing, n - s.spacing - length))
    height = rng.choice([-1, 1]) * sigma * rng.uniform(6, 20)
    return base + np.interp(np.arange(n), [at, at + length], [0, height]) + rng.normal(0, sigma, n), [at]


KINDS: dict[str, Callable[[Rng, Setting, int], tuple[np.ndarray, list[int]]]] = {
    function.__name__: function
    for function in (exact, jitter, gaussian, outliers, bimodal, autocorrelated, reverted, zero, newest)
}


def draw_series(kind: str, rng: Rng, setting: Setting, n: int = LENGTH) -> Labelled:
    """Draw one labelled series of a kind."""
    values, changes = KINDS[kind](rng, setting, n)
    return Labelled(kind, values.tolist(), changes)


def draw_quiet(kind: str, rng: Rng, n: int = LENGTH) -> Labelled:
    """Draw a series of a kind's noise in which nothing changes."""
    values, _ = KINDS[kind](rng, Setting(strength=(0.0, 0.0)), n)
    return Labelled(kind, values.tolist(), [])
