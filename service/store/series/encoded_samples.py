"""Encodes the samples of a point as the columns of its row: samples that all equal the level are not stored."""

from __future__ import annotations

import json
from collections.abc import Sequence

from runner.contract.level import compute_median
from service.schemas import history


def encode_samples(samples: Sequence[history.Number]) -> tuple[str | None, int, str | None]:
    """Return the columns ``value``, ``n`` and ``samples`` of a point: its level as text, and its samples as JSON.

    Samples that all equal the level, as exact counts do, are not stored.
    """
    if not samples:
        return None, 0, None
    first_sample = samples[0]
    n = len(samples)
    if samples.count(first_sample) == n and len(set(map(type, samples))) == 1:
        return repr(first_sample), n, None
    samples_as_json = f"[{','.join(map(repr, samples))}]"  # five times faster than json.dumps
    return repr(compute_median(samples)), n, samples_as_json


def decode_samples(value: history.Number | None, n: int, samples_as_json: str | None) -> tuple[history.Number, ...]:
    """Return the samples of a point from its columns."""
    if samples_as_json is not None:
        return tuple(json.loads(samples_as_json))
    return () if value is None else (value,) * n
