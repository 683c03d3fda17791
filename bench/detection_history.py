"""A real history with silver labels: runs in one CSV, steps in another."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.detection_score import Score, match_changes

NEAR = 8  # runs within which a hit counts
STRICT = 3  # runs within which it counts strictly


@dataclass
class History:
    """The page faults of one benchmark, oldest run first, and its labelled steps."""

    values: list[int]
    labels: list[int] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    confirmed: list[bool] = field(default_factory=list)


def load_histories(folder: Path) -> dict[str, History]:
    """Read the one ``*.csv.gz`` of runs and the one ``*-steps.csv`` of labels in a folder."""
    (runs,) = folder.glob("*.csv.gz")
    (steps,) = folder.glob("*-steps.csv")
    rows: dict[str, list[tuple[str, int]]] = defaultdict(list)
    with gzip.open(runs, "rt", newline="") as file:
        for row in csv.DictReader(file):
            rows[row["benchmark"]].append((row["started_at"], round(float(row["page_faults"]))))
    histories = {name: History([value for _, value in sorted(points)]) for name, points in rows.items()}
    place = {name: {at: i for i, (at, _) in enumerate(sorted(points))} for name, points in rows.items()}
    with steps.open(newline="") as file:
        for row in csv.DictReader(file):
            history = histories[row["benchmark"]]
            history.labels.append(place[row["benchmark"]][row["first_after"]])
            history.sizes.append(abs(float(row["level_after"]) - float(row["level_before"])))
            history.confirmed.append(row["tier"] == "A")
    return histories


def _is_shifted(x: np.ndarray, at: int) -> bool:
    """Return whether the medians of eight runs before and after differ by at least three sigma."""
    before, after = x[max(0, at - NEAR) : at], x[at : at + NEAR]
    if len(before) < 2 or len(after) < 2:
        return False
    sigma = max(0.5, 1.4826 * float(np.median(np.abs(np.diff(x)))) / 2**0.5)
    return bool(abs(np.median(after) - np.median(before)) >= 3 * sigma)


def score_changes(histories: dict[str, History], found: dict[str, list[int]]) -> dict[str, float]:
    """Score found changes: F1 strict and lenient, recall of confirmed and of small steps, hard false alarms."""
    strict, lenient = Score(), Score()
    hard = points = confirmed = small = all_confirmed = all_small = 0
    for name, history in histories.items():
        x = np.array(history.values, dtype=float)
        strict.add(history.labels, found[name], STRICT)
        pairs = match_changes(history.labels, found[name], NEAR)
        taken = set(pairs.values())
        false = [
            at
            for at in found[name]
            if at not in taken
            and min((abs(at - label) for label in history.labels), default=99) > NEAR
            and not _is_shifted(x, at)
        ]
        lenient.hits += len(pairs)
        lenient.missed += len(history.labels) - len(pairs)
        lenient.false += len(false)
        hard += len(false)
        points += len(x)
        for label, size, sure in zip(history.labels, history.sizes, history.confirmed, strict=True):
            if sure:
                all_confirmed += 1
                confirmed += label in pairs
                all_small += size <= 16
                small += label in pairs and size <= 16
    return {
        "f1_lenient": round(lenient.f1, 4),
        "f1_strict": round(strict.f1, 4),
        "recall_tier_a": round(confirmed / max(1, all_confirmed), 4),
        "recall_tier_a_small": round(small / max(1, all_small), 4),
        "hard_false_in_10000": round(hard / points * 1e4, 2),
    }
