"""The order in which metrics are shown: first the catalogue's, in its order, then those of workloads, by name."""

from __future__ import annotations

from runner.contract import CATALOGUE

_CATALOGUE_RANKS = {name: rank for rank, name in enumerate(CATALOGUE)}


def rank_metric(metric: str) -> tuple[int, str]:
    """Return the sort key of a metric's name."""
    return _CATALOGUE_RANKS.get(metric, len(_CATALOGUE_RANKS)), metric
