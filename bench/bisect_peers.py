"""Published rules for searching a sorted sequence by noisy answers, as their papers state them.

All of them are told more than Faultwatch is: the two levels and the noise, or how often an answer is wrong. Each stops
as soon as one place has a posterior probability of ``confidence``.

- *Horstein*: the answer is whether the measurement lies above the middle of the levels, and is wrong with a known
  probability; the place asked is the median of the posterior (M. Horstein, IEEE Trans. Inf. Theory 9, 1963; R. Waeber,
  P. I. Frazier, S. G. Henderson, "Bisection search with noisy responses", SIAM J. Control Optim. 51, 2013). With this
  stop it is what D. Dereniowski, A. Łukasiewicz and P. Uznański bound by (log₂ n + log₂ 1∕δ + 3) ∕ I(p) questions
  ("Noisy searching: simple, fast and correct", 2021), after M. V. Burnashev and K. Sh. Zigangirov (1974).
- *Jedynak*: the same question, and the answer is the measurement itself, with its known density on either side
  (B. Jedynak, P. I. Frazier, R. Sznitman, "Twenty questions with noise", J. Appl. Prob. 49, 2012): nothing that a
  measurement tells is thrown away.
- *Bayesect*: the answer of Horstein's, right and wrong with two unknown probabilities that have uniform priors; the
  place asked has the least expected entropy (git bayesect, 2025; flake-aware culprit finding, T. A. D. Henderson et
  al., ICST 2023, is the same with known rates of failure).
"""

from collections.abc import Callable
from math import erf, sqrt

import numpy as np
import numpy.typing as npt

Measure = Callable[[int], float]
"""Measures a place; those from the culprit on, 1 … n, are measured at the upper level."""
Floats = npt.NDArray[np.float64]


def horstein(n: int, measure: Measure, levels: tuple[float, float], noise: float, confidence: float) -> tuple[int, int]:
    """Return the place found, and how many measurements it took."""
    right = (1 + erf((levels[1] - levels[0]) / noise / 2 / sqrt(2))) / 2
    middle = sum(levels) / 2

    def ratio(value: float) -> float:
        return right / (1 - right) if value > middle else (1 - right) / right

    return _median_search(n, measure, ratio, confidence)


def jedynak(n: int, measure: Measure, levels: tuple[float, float], noise: float, confidence: float) -> tuple[int, int]:
    """Return the place found, and how many measurements it took."""

    def ratio(value: float) -> float:
        return float(np.exp(((value - levels[0]) ** 2 - (value - levels[1]) ** 2) / 2 / noise**2))

    return _median_search(n, measure, ratio, confidence)


def _median_search(n: int, measure: Measure, ratio: Callable[[float], float], confidence: float) -> tuple[int, int]:
    belief, taken = np.full(n, 1 / n), 0
    while belief.max() < confidence:
        taken += 1
        below = np.cumsum(belief)
        place = int(np.argmin(np.abs(below - 0.5)))
        belief[: place + 1] *= ratio(measure(place + 1))
        belief /= belief.sum()
    return int(belief.argmax()) + 1, taken


def bayesect(n: int, measure: Measure, levels: tuple[float, float], noise: float, confidence: float) -> tuple[int, int]:
    """Return the place found, and how many measurements it took."""
    middle = sum(levels) / 2
    high, low = np.zeros(n + 1), np.zeros(n + 1)
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, 10_001)))))
    while True:
        counts = [(counted[:-1].cumsum(), counted[::-1].cumsum()[::-1][1:]) for counted in (high, low)]
        (high_before, high_after), (low_before, low_after) = counts
        weight = sum(
            logs[a.astype(int)] + logs[b.astype(int)] - logs[(a + b + 1).astype(int)]
            for a, b in ((high_before, low_before), (high_after, low_after))
        )
        belief = np.exp(weight - weight.max())
        belief /= belief.sum()
        if belief.max() >= confidence:
            return int(belief.argmax()) + 1, int(high.sum() + low.sum())
        place = _least_entropy(
            belief, (high_before + 1) / (high_before + low_before + 2), (high_after + 1) / (high_after + low_after + 2)
        )
        if measure(place) > middle:
            high[place] += 1
        else:
            low[place] += 1


def _least_entropy(belief: Floats, before: Floats, after: Floats) -> int:
    """Return the place, 0 … n, whose answer leaves the least entropy: the sums over both sides, for all at once."""
    entropy = 0.0
    for left, right in ((before, after), (1 - before, 1 - after)):
        # Place x is before the explanation c (counted from 1) where x < c.
        weight = np.concatenate(([0.0], np.cumsum(belief * right)))
        other = np.concatenate((np.cumsum((belief * left)[::-1])[::-1], [0.0]))
        logs = np.concatenate(([0.0], np.cumsum(belief * right * np.log(belief * right + 1e-300))))
        more = np.concatenate((np.cumsum((belief * left * np.log(belief * left + 1e-300))[::-1])[::-1], [0.0]))
        chance = weight + other
        entropy = entropy - (logs + more) + chance * np.log(chance)
    return int(np.argmin(entropy))
