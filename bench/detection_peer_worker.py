"""Other change-point detectors, in their own environment: a line of JSON in, a line of JSON out.

Started by ``bench.detection_peers``; answers each ``{"detector": NAME, "values": [...]}`` with the changes found and
the processor time that took.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from otava.analysis import compute_change_points
from ruptures import KernelCPD


def otava(values: list[float]) -> list[int]:
    """Apache Otava with its defaults, but for the least magnitude, which is a percentage."""
    found, _ = compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
    return [int(point.index) for point in found]


def kernel(values: list[float]) -> list[int]:
    """Kernel change points (radial basis functions) of the series in units of its noise."""
    x = np.asarray(values, dtype=float)
    spread = 1.4826 * float(np.median(np.abs(np.diff(x)))) / 2**0.5 or 1.0
    scaled = ((x - np.median(x)) / spread).clip(-1e6, 1e6).reshape(-1, 1)
    detector = KernelCPD(kernel="rbf", min_size=2, params={"gamma": 0.1})
    return [int(at) for at in detector.fit(scaled).predict(pen=8)[:-1]]


DETECTORS = {"otava": otava, "ruptures kernel": kernel}


def main() -> None:
    """Answer until the input ends."""
    print(json.dumps(list(DETECTORS)), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        begin = time.process_time()
        changes = DETECTORS[asked["detector"]](asked["values"])
        print(json.dumps({"changes": changes, "seconds": time.process_time() - begin}), flush=True)


if __name__ == "__main__":
    main()
