"""Explains the rules that flag drifts, each in one sentence, to readers of the evidence of a drift."""

from __future__ import annotations

from collections.abc import Mapping

DETECTION_RULES: Mapping[str, str] = {
    "exact": "The counts repeat, so successive runs have the same value, and none of the runs after them has it.",
    "step": "The counts vary from run to run, and the level moves by more than noise and a wandering host do.",
    "newest": "The counts vary from run to run, and the newest runs lie off the level of the runs before them.",
    "ramp": "The level climbs or declines over several runs, so no single run separates the two levels.",
    "nominated": "The best split of a few runs that vary. Chance seldom splits them so clearly, but can.",
    "paired": "Two commits were measured in turn on one host, in so many pairs that chance is excluded.",
    "pooled": "A whole suite moved in the same direction by so little that no case is certain by itself.",
    "expected": "Somebody decided that the new level is intended, so later runs are judged from it.",
}
"""What each rule says about the runs, by the rule's name."""
