"""Decides whether a change of level explains a stretch of runs better than a host that wanders.

Autocorrelated noise and a host that drifts move the level without any change. Both are noise with more power at low
frequencies, so a change has to explain the runs better than any such noise does. The bounds are explained in
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

from service.rules.detect.median_of_nine import Floats
from service.rules.detect.noise import LARGE_STEP_SIGMA, Noise
from service.rules.detect.normal_scores import compute_normal_scores
from service.rules.detect.outliers import CLIP_SIGMA, replace_outliers

MIN_MARGIN = 5.5
"""A change is certain if its log-likelihood exceeds that of the best wander by at least this.

This holds for a change as large as the host wanders, with many independent runs on both sides; other changes need a
larger or smaller margin.
"""
MARGIN_PER_CHANGE = 7.5
"""If several changes are judged together, each further one must raise their log-likelihood by at least this."""
MAX_RHO = 0.95
"""Larger autocorrelations are treated as this."""
RHO_STANDARD_ERRORS = 3.0
"""The estimate of the autocorrelation is raised by this many standard errors, because it may be too low."""
RHO_EXPONENT = 0.75
"""The needed margin is proportional to this power of the inflation by autocorrelation."""
MIN_JUMP_SIGMA = 20.0
"""No host wanders as far as this many sigma, if successive runs are independent."""
DOUBLING_RUNS = 12
"""If a level has only this many runs, the needed margin doubles: few runs fit any explanation too well."""
MIN_WANDER_SIGMA, MAX_WANDER_SIGMA = 1.6, 2.3
"""Bounds, in sigma, between which a host is assumed to wander."""
MIN_SIZE_FACTOR, MAX_SIZE_FACTOR = 0.6, 10.0
"""Bounds of the factor by which the size of a change scales the needed margin."""
POINTS_BEFORE, POINTS_AFTER = 192, 128
"""The points before and after a change from which it is seen how much the host wanders."""
MAX_POINTS = 512
"""If there are more runs, means of successive runs are judged instead."""
MAX_UNCUT_POINTS = 64
"""If there are more, they are cut to a multiple of ``_LENGTH_STEP``, so that few spectra need to be stored."""
MAX_STORED_SPECTRA = 128
"""The number of lengths whose spectra are stored: at most 0.5 MB for each length."""
MIN_SQUARES = 1e-9
"""Added to the sum of squares, in squared sigma, so that it is not 0 if all runs agree."""
EXTRA_MARGIN = 6.0
"""How much larger the margin must be if the noise around the change wanders as well."""
_CORNERS = (0.0, 0.05, 0.2, 0.5, 1.3)
"""The corner frequencies of the considered noises: from a random walk to noise that depends little on its past."""
_POWERS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""The powers of their slow parts, relative to the white noise: so dense that one of them is near the best power."""
_LENGTH_STEP = 8
"""If there are many runs, their number is cut to a multiple of this."""


def is_jump(size: float, noise: Noise) -> bool:
    """Return whether a change is larger than any wander of a host, which is larger if runs are autocorrelated."""
    return size >= MIN_JUMP_SIGMA * _compute_wander_unit(noise)


def exceeds_wander(size: float, noise: Noise) -> bool:
    """Return whether a change is larger than a host is assumed to wander; unlike a jump, it is not certain for this."""
    return size > MAX_WANDER_SIGMA * _compute_wander_unit(noise)


def _compute_wander_unit(noise: Noise) -> float:
    """Return the unit in which wander is measured: sigma, enlarged if runs are autocorrelated."""
    return math.sqrt(noise.inflation) * noise.sigma


def find_needed_margin(size: float, min_runs: int, noise: Noise, small_steps: Sequence[float] = ()) -> float:
    """Return the margin over wander that makes a change certain: a difference between log-likelihoods.

    Parameters
    ----------
    size
        The absolute size of the change, in the unit of the series.
    min_runs
        The number of runs of its shorter level.
    noise
        The noise of the series.
    small_steps
        The sizes of the other small steps among the runs around the change.
    """
    # The margin grows with the autocorrelation, which leaves few independent runs.
    rho = min(MAX_RHO, noise.rho + RHO_STANDARD_ERRORS / math.sqrt(max(1, noise.points)))
    margin: float = MIN_MARGIN * ((1 + rho) / (1 - rho)) ** RHO_EXPONENT * (1 + DOUBLING_RUNS / max(1, min_runs))
    if noise.has_modes:
        return margin  # only the order of the runs is judged, and it does not show how large a step is

    # The margin is also larger for a change that is small compared with how far this host wanders: twice the root mean
    # square of its small steps.
    observed_wander = 2 * math.sqrt(sum(step * step for step in small_steps) / len(small_steps)) if small_steps else 0.0
    wander = min(max(observed_wander / noise.mode_sigma, MIN_WANDER_SIGMA), MAX_WANDER_SIGMA)
    factor = (wander * noise.mode_sigma / size) ** 2 if size > 0 else math.inf
    return margin * min(max(factor, MIN_SIZE_FACTOR), MAX_SIZE_FACTOR)


class Shape(NamedTuple):
    """A change from one level to another: a step at ``low`` if it equals ``high``, otherwise a ramp between the two."""

    low: int
    high: int

    def compute_levels(self, start: int, stop: int) -> Floats:
        """Return the completed share of the change, 0 … 1, at each of the positions ``start … stop - 1``."""
        ramp = (np.arange(start, stop) - self.low + 1) / (self.high - self.low + 1)
        return np.minimum(np.maximum(ramp, 0.0), 1.0)


@lru_cache(maxsize=MAX_STORED_SPECTRA)
def _compute_twiddle_factors(n: int) -> NDArray[np.complex128]:
    """Return the factors that convert the Fourier transform of n values and their mirror image to their DCT-II.

    The DCT-II is orthonormal, and lacks its constant term.
    """
    factors: NDArray[np.complex128] = np.exp(-0.5j * math.pi * np.arange(1, n) / n) / math.sqrt(2 * n)
    return factors


def compute_cosine_transform(values: Floats) -> Floats:
    """Return the orthonormal cosine transforms (DCT-II) of rows of n values, without the constant term.

    They are computed from the Fourier transform of each row followed by its mirror image. A product with the matrix of
    the transform would start threads of the linear algebra library, which then keep spinning.
    """
    n = values.shape[-1]
    spectrum = np.fft.rfft(np.concatenate([values, values[..., ::-1]], axis=-1))[..., 1:n]
    transform: Floats = (spectrum * _compute_twiddle_factors(n)).real
    return transform


@lru_cache(maxsize=MAX_STORED_SPECTRA)
def _compute_wander_spectra(n: int) -> tuple[Floats, Floats]:
    """Return the inverse spectra of the considered noises, one per row, and half the logarithm of their determinants.

    A spectrum is ``1 + power / (frequency + corner)``: white noise plus an autoregressive process, or plus a random
    walk if ``corner`` is 0. The first row is white noise only.
    """
    # The eigenvalues of the second difference: a random walk has the power 1 / frequency.
    frequency = 2 - 2 * np.cos(math.pi * np.arange(1, n) / n)
    spectra = [np.ones(n - 1), *(1 + power / (frequency + corner) for corner in _CORNERS for power in _POWERS)]
    stacked_spectra = np.array(spectra)
    return 1 / stacked_spectra, np.log(stacked_spectra).sum(axis=1) / 2


class Explanations:
    """Computes by how much changes of level explain runs better than the most likely wander without them.

    All log-likelihoods are those of normal noise, maximised over its scale and the sizes of the changes. The cosine
    transform diagonalises the covariances of the noises: its basis vectors are the eigenvectors of the second
    difference with free ends (Strang, "The discrete cosine transform", SIAM Review 41, 1999).

    Parameters
    ----------
    runs : array of n floats
        The runs around the changes.
    shapes : array of k rows of n floats
        For each change, its completed share, 0 … 1, at each run.
    """

    def __init__(self, runs: Floats, shapes: Floats) -> None:
        self._half_degrees_of_freedom = (len(runs) - 1) / 2
        inverse, self._half_log_determinants = _compute_wander_spectra(len(runs))
        y = compute_cosine_transform(runs)
        x = compute_cosine_transform(shapes)
        weighted_shapes = inverse[:, None, :] * x
        # The two sides of the normal equations: products of the shapes with each other, and with the runs.
        self._gram = weighted_shapes @ x.T
        self._products_with_runs = weighted_shapes @ y
        # If a shape is a combination of others, the projection leaves only rounding errors, smaller than this.
        self._min_square = 1e-9 * np.trace(self._gram, axis1=1, axis2=2)[:, None] + 1e-300
        self._total_squares = inverse @ (y * y) + MIN_SQUARES
        self._best_without_changes = float(self._compute_likelihoods(np.zeros((len(self._total_squares), 1))).max())

    def _compute_likelihoods(self, explained_squares: Floats) -> Floats:
        """Return the log-likelihood for each noise (rows) and each explained part of the sum of squares (columns)."""
        total = self._total_squares[:, None]
        unexplained_squares = np.maximum(total - explained_squares, 1e-12 * total)  # rounding may leave less than 0
        likelihoods: Floats = (
            -self._half_degrees_of_freedom * np.log(unexplained_squares) - self._half_log_determinants[:, None]
        )
        return likelihoods

    def _compute_advantages(self, explained_squares: Floats) -> Floats:
        """Return, for each column of explained squares, the gain in log-likelihood over the best noise without changes.

        Noise that wanders although there are changes explains more than white noise, so it costs an extra margin.
        """
        likelihoods = self._compute_likelihoods(explained_squares)  # the first row is that of white noise
        advantages: Floats = (
            np.maximum(likelihoods[0], likelihoods.max(axis=0) - EXTRA_MARGIN) - self._best_without_changes
        )
        return advantages

    def compute_margin(self, change_index: int) -> float:
        """Return by how much one change is likelier than wander, in log-likelihood; ``change_index`` is its row number.

        The margin is the larger of two:

        - The changes are selected one by one, the strongest first, until this change is selected. The margin is the
          smallest gain in log-likelihood of these steps.
        - All changes are judged together, because one end of an excursion explains little without the other. The margin
          is their common gain, less a cost for each further change.

        Each selected change is projected out of the remaining ones, so that these show only what they would add.
        """
        gram = self._gram.copy()
        products = self._products_with_runs.copy()
        min_square = self._min_square
        explained_squares = np.zeros((len(products), 1))
        _, n_changes = products.shape
        remaining_indices = list(range(n_changes))
        margin = math.inf
        previous_advantage = advantage = 0.0
        while remaining_indices:
            # Compute what each of the remaining changes would add, and select the strongest.
            explained_with_each = explained_squares + products[:, remaining_indices] ** 2 / np.maximum(
                gram[:, remaining_indices, remaining_indices], min_square
            )
            advantages = self._compute_advantages(explained_with_each)
            strongest_index = int(advantages.argmax())
            advantage = float(advantages[strongest_index])
            if change_index in remaining_indices:
                margin = min(margin, advantage - previous_advantage)
            previous_advantage = advantage
            explained_squares = explained_with_each[:, strongest_index : strongest_index + 1]
            selected_index = remaining_indices.pop(strongest_index)
            # Project the selected change out of the remaining ones.
            projection = gram[:, selected_index] / np.maximum(gram[:, selected_index, selected_index, None], min_square)
            products -= projection * products[:, selected_index, None]
            gram -= projection[:, :, None] * gram[:, selected_index, None, :]
        joint_margin: float = advantage - MARGIN_PER_CHANGE * (n_changes - 1)
        return max(margin, joint_margin)


def compute_margin_over_wander(
    runs_around: Floats, start: int, change: Shape, noise: Noise, other_changes: Sequence[Shape] = ()
) -> float:
    """Return by how much the log-likelihood of a change exceeds that of the best wander, given the runs around it.

    If a host wanders, several small changes follow each other, and each of them seems to explain the runs around it
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
        The noise of the series. With autocorrelation, outliers lie further off. If the series has modes, a small step
        is judged only by the order of the runs.
    """
    stop = start + len(runs_around)
    # Levels between the changes, and their sizes.
    changes = sorted([change, *other_changes])
    edges = [(start, start), *((shape.low, shape.high) for shape in changes), (stop, stop)]
    # Each level has at least one run, even if a ramp ends with the last run or two changes meet.
    level_ranges = [(min(begin, stop - 1), max(end, begin + 1)) for (_, begin), (end, _) in pairwise(edges)]
    levels = [_compute_median(runs_around[begin - start : end - start]) for begin, end in level_ranges]
    sizes = [after - before for before, after in pairwise(levels)]
    change_shapes = [shape.compute_levels(start, stop) for shape in changes]

    # Replace outliers, which are not wander. A step cuts the runs into two sides, so that a few runs beside it are not
    # taken for outliers; a ramp has no cut.
    is_step = change.low == change.high
    cut_index = min(max(change.low - start, 1), len(runs_around) - 1) if is_step else len(runs_around)
    runs = replace_outliers(runs_around, cut_index, CLIP_SIGMA * math.sqrt(noise.inflation))

    # This change and the small ones are judged together; the other large ones are subtracted from the runs.
    change_number = changes.index(change)
    jointly_judged_indices = [i for i, size in enumerate(sizes) if i == change_number or abs(size) < LARGE_STEP_SIGMA]
    for i in set(range(len(changes))).difference(jointly_judged_indices):
        runs -= sizes[i] * change_shapes[i]

    # Compare these changes with wander.
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
    """Return the runs, or if there are more than ``MAX_POINTS``, at most that many means of successive runs.

    If more than ``MAX_UNCUT_POINTS`` remain, the first few are left out, so that their number is a multiple of
    ``_LENGTH_STEP``.
    """
    # What does not fit is left out at the old end both times, because the newest level may have only a few runs.
    runs_per_mean = -(-len(runs) // MAX_POINTS)  # rounded up
    means = runs
    if runs_per_mean > 1:
        means = runs[len(runs) % runs_per_mean :].reshape(-1, runs_per_mean).mean(axis=1)
    return means[len(means) % _LENGTH_STEP :] if len(means) > MAX_UNCUT_POINTS else means
