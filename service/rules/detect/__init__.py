"""Detects where a series of numbers changes its level."""

from service.rules.detect.detector import LevelChangeDetector, find_level_changes
from service.rules.detect.level_change import LevelChange, Number
from service.rules.detect.pooled_shift import PooledShift, find_pooled_shift

__all__ = [
    "LevelChange",
    "LevelChangeDetector",
    "Number",
    "PooledShift",
    "find_level_changes",
    "find_pooled_shift",
]
