"""Other change-point detectors, where they are installed, judged on the same series."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Detector = Callable[[Sequence[float]], list[int]]


def peers() -> tuple[dict[str, Detector], list[str]]:
    """Return the detectors that can be imported, and a line for each that cannot."""
    found: dict[str, Detector] = {}
    missing = []
    for name, load in (("otava", _otava), ("ruptures kernel", _kernel)):
        try:
            found[name] = load()
        except ImportError as error:
            missing.append(f"{name} is not installed ({error}): not compared")
    return found, missing


def _otava() -> Detector:
    from otava.analysis import compute_change_points  # noqa: PLC0415 - optional

    def detect(values: Sequence[float]) -> list[int]:
        result = compute_change_points(list(values), window_len=50, max_pvalue=0.001, min_magnitude=0.0)
        return [point.index for point in result[0]]

    return detect


def _kernel() -> Detector:
    from ruptures import KernelCPD  # noqa: PLC0415 - optional

    def detect(values: Sequence[float]) -> list[int]:
        x = np.asarray(values, dtype=float)
        spread = 1.4826 * float(np.median(np.abs(np.diff(x)))) / 2**0.5 or 1.0
        scaled = ((x - np.median(x)) / spread).clip(-1e6, 1e6).reshape(-1, 1)
        cpd = KernelCPD(kernel="rbf", min_size=2, params={"gamma": 0.1})
        return [int(at) for at in cpd.fit(scaled).predict(pen=8)[:-1]]

    return detect
