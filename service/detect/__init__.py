"""Where a series of numbers changes its level: pure functions, no database, no clock, no web."""

from service.detect.detector import DriftSeries
from service.detect.drift import Drift, Kind, Number
from service.detect.find import find_drifts
from service.detect.pooled import PooledShift, find_pooled_shift

__all__ = ["Drift", "DriftSeries", "Kind", "Number", "PooledShift", "find_drifts", "find_pooled_shift"]
