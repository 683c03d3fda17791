"""Where a series of numbers changes its level: pure functions, no database, no clock, no web."""

from service.rules.detect.detector import DriftSeries
from service.rules.detect.drift import Drift, Kind, Number
from service.rules.detect.find import find_drifts
from service.rules.detect.pooled import PooledShift, find_pooled_shift

__all__ = ["Drift", "DriftSeries", "Kind", "Number", "PooledShift", "find_drifts", "find_pooled_shift"]
