"""Decides whether a change of level explains a stretch of runs better than a host that wanders.

Autocorrelated noise and a host that drifts move the level without any change. Both are noise with more power in its
slow part, so a change has to explain the runs better than any such noise does. The bounds are those of
docs/explanation/detection.md, "Wander".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.rules.detect.exchangeability import compute_normal_scores
from service.rules.detect.median_of_nine import Floats
from service.rules.detect.noise import LARGE_STEP_SIGMA, Noise
from service.rules.detect.outliers import CLIP_SIGMA, replace_outliers

MIN_MARGIN = 5.5
"""By how much the log-likelihood of a change must exceed that of the best wander to be certain.

That is for a change as large as the host wanders, with many runs on both sides that do not follow each other.
"""
MARGIN_PER_CHANGE = 7.5
"""By how much each further change nearby must make them likelier where several are judged together."""
MAX_RHO = 0.95
"""Larger autocorrelations are treated like this one."""
RHO_STANDARD_ERRORS = 3.0
"""Standard errors by which the autocorrelation may exceed its estimate."""
RHO_EXPONENT = 0.75
"""The power of the inflation by autocorrelation with which the needed margin grows."""
MIN_JUMP_SIGMA = 20.0
"""Sigma of a step that no host wanders, where successive runs are independent."""
DOUBLING_RUNS = 12
"""A level of as few runs doubles the needed margin: few runs fit any explanation too well."""
MIN_WANDER_SIGMA, MAX_WANDER_SIGMA = 1.25, 2.3
"""Sigma that a host wanders at least, and at most."""
MIN_SIZE_FACTOR, MAX_SIZE_FACTOR = 0.6, 10.0
"""Bounds of the factor by which the needed margin depends on the size of a change."""
POINTS_BEFORE, POINTS_AFTER = 192, 128
"""Points before and after a change that show how much the host wanders."""
MAX_POINTS = 512
"""A longer stretch is judged by the means of successive runs."""
MAX_UNCUT_POINTS = 64
"""Longer stretches are cut to a multiple of ``_LENGTH_STEP``, so that few spectra need to be stored."""
MAX_STORED_SPECTRA = 128
"""Lengths whose spectra are stored: at most 0.5 MB each."""
MIN_SQUARES = 1e-9
"""Squared sigma that runs differ by at least: those that all agree leave nothing to explain."""
EXTRA_MARGIN = 6.0
"""How much more the margin must be if the noise around the change wanders as well."""
_CORNERS = (0.0, 0.05, 0.2, 0.5, 1.3)
"""The corner frequencies of the considered noises: from a random walk to noise that depends little on its past."""
_POWERS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""The powers of their slow parts, relative to the white noise: dense enough that the best one is nearly met."""
_LENGTH_STEP = 8
"""A long stretch is cut to a multiple of this many runs."""


def is_jump(size: float, noise: Noise) -> bool:
    """Return whether a change is larger than any host wanders; with autocorrelated runs, hosts wander further."""
    return size >= MIN_JUMP_SIGMA * math.sqrt(noise.inflation) * noise.sigma


def find_needed_margin(size: float, min_runs: int, noise: Noise, small_steps: Sequence[float] = ()) -> float:
    """Return by how much a change must explain the runs around it better than any wander to be certain.

    Parameters
    ----------
    size
        The absolute size of the change, in the unit of the series.
    min_runs
        The number of runs of its shorter level.
    noise
        That of the series.
    small_steps
        The sizes of the other small steps among the runs around it.
    """
    # The margin grows with the autocorrelation, which leaves few independent runs.
    rho = min(MAX_RHO, noise.rho + RHO_STANDARD_ERRORS / math.sqrt(max(1, noise.points)))
    margin: float = MIN_MARGIN * ((1 + rho) / (1 - rho)) ** RHO_EXPONENT * (1 + DOUBLING_RUNS / max(1, min_runs))
    if noise.has_modes:
        return margin  # The order of the runs does not show how large a step is.

    # It also grows the smaller the change is compared with how far this host is seen to wander.
    # It is seen to wander by twice the root mean square of its small steps.
    observed_wander = 2 * math.sqrt(sum(step * step for step in small_steps) / len(small_steps)) if small_steps else 0.0
    wander = min(max(observed_wander / noise.mode_sigma, MIN_WANDER_SIGMA), MAX_WANDER_SIGMA)
    factor = (wander * noise.mode_sigma / size) ** 2 if size > 0 else math.inf
    return margin * min(max(factor, MIN_SIZE_FACTOR), MAX_SIZE_FACTOR)


class Shape(NamedTuple):
    """A change from one level to another: at ``low`` if that equals ``high``, otherwise steadily between them."""

    low: int
    high: int

    def compute_levels(self, start: int, stop: int) -> Floats:
        """Return which part of the change is done at the positions ``start … stop - 1``."""
        ramp = (np.arange(start, stop) - self.low + 1) / (self.high - self.low + 1)
        return np.minimum(np.maximum(ramp, 0.0), 1.0)


@lru_cache(maxsize=MAX_STORED_SPECTRA)
def _compute_twiddle_factors(n: int) -> NDArray[np.complex128]:
    """Return the factors that turn a Fourier transform into a cosine transform."""
    factors: NDArray[np.complex128] = np.exp(-0.5j * math.pi * np.arange(1, n) / n) / math.sqrt(2 * n)
    return factors


def compute_cosine_transform(values: Floats) -> Floats:
    """Return the orthonormal cosine transforms (DCT-II) of rows of n values, without their constants.

    From the Fourier transform of each row and its mirror image. A product with the matrix of the transform would start
    threads, which go on spinning.
    """
    n = values.shape[-1]
    spectrum = np.fft.rfft(np.concatenate([values, values[..., ::-1]], axis=-1))[..., 1:n]
    transform: Floats = (spectrum * _compute_twiddle_factors(n)).real
    return transform


@lru_cache(maxsize=MAX_STORED_SPECTRA)
def _compute_wander_spectra(n: int) -> tuple[Floats, Floats]:
    """Return the inverse spectra of the considered noises, one a row, and half the logarithm of their determinants.

    A spectrum is ``1 + power / (frequency + corner)``: white noise plus an autoregression; with corner 0, plus a random
    walk. The first row is white noise alone.
    """
    frequency = 2 - 2 * np.cos(math.pi * np.arange(1, n) / n)
    spectra = [np.ones(n - 1), *(1 + power / (frequency + corner) for corner in _CORNERS for power in _POWERS)]
    stacked = np.array(spectra)
    return 1 / stacked, np.log(stacked).sum(axis=1) / 2


class Explanations:
    """By how much changes of level explain runs better than the most likely wander without them.

    All log-likelihoods are those of normal noise with the best scale and the best sizes of the changes. The cosine
    transform makes the noises diagonal: it is the eigenbasis of the differences of a random walk with free ends
    (Strang, "The discrete cosine transform", SIAM Review 41, 1999).

    Parameters
    ----------
    runs : array of n floats
        The runs around the changes.
    shapes : array of k rows of n floats
        Which part of each change is done at each run.
    """

    def __init__(self, runs: Floats, shapes: Floats) -> None:
        self._half_degrees_of_freedom = (len(runs) - 1) / 2
        inverse, self._half_log_determinants = _compute_wander_spectra(len(runs))
        y = compute_cosine_transform(runs)
        x = compute_cosine_transform(shapes)
        weighted = inverse[:, None, :] * x
        # The two sides of the normal equations: products of the shapes with each other, and with the runs.
        self._gram = weighted @ x.T
        self._products_with_runs = weighted @ y
        # Of a shape that equals others, the projection leaves nothing but rounding errors, which are smaller than this.
        self._min_square = 1e-9 * np.trace(self._gram, axis1=1, axis2=2)[:, None] + 1e-300
        self._total_squares = inverse @ (y * y) + MIN_SQUARES
        self._best_without_changes = float(self._compute_likelihoods(np.zeros((len(self._total_squares), 1))).max())

    def _compute_likelihoods(self, explained_squares: Floats) -> Floats:
        """Return the log-likelihoods, a row for each noise, for columns of how much of the squares is explained."""
        total = self._total_squares[:, None]
        unexplained_squares = np.maximum(total - explained_squares, 1e-12 * total)  # rounding may leave less than 0
        likelihoods: Floats = (
            -self._half_degrees_of_freedom * np.log(unexplained_squares) - self._half_log_determinants[:, None]
        )
        return likelihoods

    def _compute_advantages(self, explained_squares: Floats) -> Floats:
        """Return by how much each column of explained squares is likelier than the best noise without changes.

        Noise that wanders although there are changes explains more than white noise, so it costs an extra margin.
        """
        likelihoods = self._compute_likelihoods(explained_squares)
        advantages: Floats = (
            np.maximum(likelihoods[0], likelihoods.max(axis=0) - EXTRA_MARGIN) - self._best_without_changes
        )
        return advantages

    def compute_margin(self, change: int) -> float:
        """Return by how much one change, given by its number, is likelier than wander, given the other changes.

        Two answers are computed, and the greater one holds:

        - The changes are selected one after the other, the strongest first, until the change is among them. The answer
          is the smallest gain in log-likelihood of these steps.
        - All changes are judged together, because one end of an excursion alone explains little. The answer is their
          common gain, less a cost for each further change.

        What is selected is projected out of the others, so that each of them shows what it would add.
        """
        gram = self._gram.copy()
        products = self._products_with_runs.copy()
        min_square = self._min_square
        explained_squares = np.zeros((len(products), 1))
        count = len(products[0])
        remaining_indices = list(range(count))
        margin = math.inf
        previous_advantage = advantage = 0.0
        while remaining_indices:
            # What each of the remaining changes would add: the strongest is selected.
            explained_with_each = explained_squares + products[:, remaining_indices] ** 2 / np.maximum(
                gram[:, remaining_indices, remaining_indices], min_square
            )
            advantages = self._compute_advantages(explained_with_each)
            strongest_index = int(advantages.argmax())
            advantage = float(advantages[strongest_index])
            if change in remaining_indices:
                margin = min(margin, advantage - previous_advantage)
            previous_advantage = advantage
            explained_squares = explained_with_each[:, strongest_index : strongest_index + 1]
            selected_index = remaining_indices.pop(strongest_index)
            # Project the selected change out of the others.
            projection = gram[:, selected_index] / np.maximum(gram[:, selected_index, selected_index, None], min_square)
            products -= projection * products[:, selected_index, None]
            gram -= projection[:, :, None] * gram[:, selected_index, None, :]
        return max(margin, advantage - MARGIN_PER_CHANGE * (count - 1))


def compute_margin_over_wander(
    runs_around: Floats, start: int, change: Shape, noise: Noise, other_changes: Sequence[Shape] = ()
) -> float:
    """Return by how much a change of level explains the runs around it better than any wander.

    If a host wanders, several small changes follow each other, and each of them seems to explain its surroundings
    once the others are accepted. Small changes are therefore judged together.

    Parameters
    ----------
    runs_around : array of n floats
        The runs within ``POINTS_BEFORE`` before the change and ``POINTS_AFTER`` after it, in sigma.
    start : int
        The position of ``runs_around[0]`` in the series.
    change : Shape
        The change to judge.
    other_changes : sequence of Shape
        The other changes of the series among these runs.
    noise : Noise
        That of the series. With autocorrelation, outliers lie further off. If the series has modes, a step smaller
        than their distance is judged by the order of the runs.
    """
    stop = start + len(runs_around)
    # Levels between the changes, and their sizes.
    changes = sorted([change, *other_changes])
    edges = [(start, start), *((shape.low, shape.high) for shape in changes), (stop, stop)]
    level_ranges = [(min(begin, stop - 1), max(end, begin + 1)) for (_, begin), (end, _) in pairwise(edges)]
    levels = [_compute_median(runs_around[begin - start : end - start]) for begin, end in level_ranges]
    sizes = [after - before for before, after in pairwise(levels)]
    change_shapes = [shape.compute_levels(start, stop) for shape in changes]

    # Replace outliers, which are not wander. A step cuts the runs into two sides, so that a few runs beside it are not
    # taken for outliers; a ramp has no cut.
    is_step = change.low == change.high
    cut_index = min(max(change.low - start, 1), len(runs_around) - 1) if is_step else len(runs_around)
    runs = replace_outliers(runs_around, cut_index, CLIP_SIGMA * math.sqrt(noise.inflation))

    # This change and the small ones are judged together; the large ones are taken out.
    change_number = changes.index(change)
    jointly_judged_indices = [i for i, size in enumerate(sizes) if i == change_number or abs(size) < LARGE_STEP_SIGMA]
    for i in set(range(len(changes))).difference(jointly_judged_indices):
        runs -= sizes[i] * change_shapes[i]

    # Compare them with the noises that wander.
    runs = _thin_runs(runs)
    shapes = np.array([_thin_runs(change_shapes[i]) for i in jointly_judged_indices])
    if noise.has_modes and abs(sizes[change_number]) < LARGE_STEP_SIGMA:
        runs = compute_normal_scores(runs)
    return Explanations(runs, shapes).compute_margin(jointly_judged_indices.index(change_number))


def _compute_median(values: Floats) -> float:
    """Return the median; numpy's own function takes ten times as long for few values."""
    sorted_values = np.sort(values)
    return float(sorted_values[(len(sorted_values) - 1) // 2] + sorted_values[len(sorted_values) // 2]) / 2


def _thin_runs(runs: Floats) -> Floats:
    """Return at most ``MAX_POINTS`` means of successive runs.

    Of more than ``MAX_UNCUT_POINTS``, the first few are left out, so that the number is a multiple of ``_LENGTH_STEP``.
    """
    runs_per_mean = -(-len(runs) // MAX_POINTS)  # rounded up
    means = runs
    if runs_per_mean > 1:
        n_averaged = len(runs) - len(runs) % runs_per_mean
        means = runs[:n_averaged].reshape(-1, runs_per_mean).mean(axis=1)
    return means[len(means) % _LENGTH_STEP :] if len(means) > MAX_UNCUT_POINTS else means
