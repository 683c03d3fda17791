"""Measure the detector: labelled series, a real history, run by run, suite-wide, speed; peers on the same series.

``python -m bench.detection [--history FOLDER] [--seed N] [--quick]``. The history folder, also from the environment
variable FAULTWATCH_HISTORY, holds one ``*.csv.gz`` of runs and one ``*-steps.csv`` of labels. Ends with one line of
JSON; exit 1 where a line does not hold.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from bench import detection_history, detection_online, detection_speed
from bench.detection_peers import Peer, start_peers
from bench.detection_score import Score
from bench.detection_series import KINDS, Setting, draw_quiet, draw_series, ramp
from bench.report import finish_report, show_steps
from service.rules.detect import LevelChangeDetector, find_level_changes

SETTINGS = (
    Setting(),
    Setting(steps=(1, 3), spacing=30, strength=(3.5, 8.0), level=(200.0, 2e6)),
    Setting(steps=(2, 5), spacing=20, strength=(5.0, 20.0), level=(2000.0, 50_000.0)),
)
QUIET = ("jitter", "gaussian", "outliers", "bimodal", "autocorrelated")


class Report:
    """Prints each figure beside what it must be, and remembers the misses."""

    def __init__(self) -> None:
        self.figures: dict[str, object] = {}
        self.misses: list[str] = []

    def figure(self, name: str, value: float, most: float | None = None, least: float | None = None) -> None:
        """Note one figure and whether it holds."""
        holds = (most is None or value <= most) and (least is None or value >= least)
        wanted = f"≤ {most:g}" if most is not None else f"≥ {least:g}" if least is not None else ""
        print(f"  {name:<52} {value:>10.4g}  {wanted:<10} {'' if holds else 'MISSED'}")
        self.figures[name] = round(value, 6)
        if not holds:
            self.misses.append(f"{name}: {value:.4g}, wanted {wanted}")


def detect_as_service(values: list[float]) -> list[int]:
    """Detect as the service does."""
    whole = [int(v) for v in values] if all(float(v).is_integer() for v in values) else values
    return [drift.index for drift in find_level_changes(whole)]


def score_labelled_series(report: Report, seed: int, series: int, others: dict[str, Peer]) -> None:
    """Score all kinds of labelled series, every detector on the same ones."""
    print(f"Labelled series of 200 points, {series} of each kind and setting, match within 3, seed {seed}")
    rng = np.random.default_rng(seed)
    drawn = [draw_series(kind, rng, setting) for kind in KINDS for setting in SETTINGS for _ in range(series)]
    scores = {name: {kind: Score() for kind in KINDS} for name in ("faultwatch", *others)}
    for each in drawn:
        scores["faultwatch"][each.kind].add(each.changes, detect_as_service(each.values), 3)
        for name, detect in others.items():
            scores[name][each.kind].add(each.changes, detect(each.values), 3)
    for kind in KINDS:
        report.figure(f"F1 {kind}", scores["faultwatch"][kind].f1, least=0.9)
    for name, kinds in scores.items():
        macro = float(np.mean([score.f1 for score in kinds.values()]))
        report.figure(f"macro F1 {name}", macro, least=0.98 if name == "faultwatch" else None)
    for kind in QUIET:
        found = [drift for _ in range(50) for drift in find_level_changes(draw_quiet(kind, rng).values)]
        report.figure(f"false alarms in 10,000 quiet points, {kind}", sum(not d.wants_rerun for d in found), most=2)


def count_ramps(report: Report, seed: int) -> None:
    """Count how gradual drifts are reported."""
    print("Ramps")
    rng = np.random.default_rng(seed)
    n = 10_000
    climb = 100_000 * (1 + 0.02 * np.arange(n) / n)
    told = [[d.rule for d in find_level_changes((climb + rng.normal(0, 300, n)).tolist())] for _ in range(40)]
    report.figure("findings on a ramp of 0 → 2 % over 10,000 points", len(told[0]), most=1, least=None)
    report.figure("of them named a ramp", told[0].count("ramp"), least=1)
    report.figure("part of 40 such ramps told as one ramp", told.count(["ramp"]) / len(told))
    short = [find_level_changes(ramp(rng, Setting(), 200)[0].tolist()) for _ in range(100)]
    report.figure(
        "part of short ramps told as one ramp", float(np.mean([[d.rule for d in s] == ["ramp"] for s in short]))
    )


def history(report: Report, folder: Path | None, others: dict[str, Peer]) -> None:
    """Score the real history."""
    if folder is None or not folder.is_dir():
        print("Real history: no folder given (--history or FAULTWATCH_HISTORY): not judged")
        return
    histories = detection_history.load_histories(folder)
    print(f"Real history: {len(histories)} benchmarks, {sum(len(h.values) for h in histories.values())} runs")
    changes = {name: find_level_changes(history.values) for name, history in histories.items()}
    certain = {name: [change.index for change in each if not change.wants_rerun] for name, each in changes.items()}
    wanted = {"f1_lenient": 0.975, "f1_strict": 0.85, "recall_tier_a": 0.99, "recall_tier_a_small": 0.97}
    for name, value in detection_history.score_changes(histories, certain).items():
        most = 2 if name == "hard_false_in_10000" else None
        report.figure(f"history {name}", value, least=wanted.get(name), most=most)
    together = {name: [change.index for change in each] for name, each in changes.items()}
    for name, value in detection_history.score_changes(histories, together).items():
        report.figure(f"history {name}, suspicions included", value)
    for peer, detect in others.items():
        figures = detection_history.score_changes(
            histories, {name: detect(list(h.values)) for name, h in histories.items()}
        )
        for name in ("f1_lenient", "f1_strict"):
            report.figure(f"history {name} {peer}", figures[name])


def judge_online(report: Report, seed: int, runs: int) -> None:
    """Judge run by run, reruns included."""
    print(f"Run by run, {runs} runs without a change")
    rng = np.random.default_rng(seed)
    for name, noise in (
        ("jitter", detection_online.draw_jitter),
        ("jitter and outliers", detection_online.draw_outliers),
        ("host", detection_online.draw_host_noise),
    ):
        alarms = detection_online.count_false_alarms(rng, noise, runs)
        report.figure(f"{name}: sure at once", alarms["at_once"], most=5)
        report.figure(f"{name}: false after reruns", alarms["after_reruns"], most=1)
        report.figure(f"{name}: reruns asked for", alarms["asked"])
        for step, most in ((8, 3), (16, 1)):
            delays = detection_online.measure_delay(rng, noise, step)
            report.figure(f"{name}: median delay at +{step}", delays["with_reruns"], most=most)
            report.figure(f"{name}: median delay at +{step} without reruns", delays["without"])
    pooled = detection_online.measure_pooled_shifts(rng)
    report.figure("suite-wide +2 in 40 benchmarks: false alarm", pooled["false_alarm"], most=1e-3)
    report.figure("suite-wide +2 in 40 benchmarks: power", pooled["power"], least=0.9)


def judge_zeros(report: Report) -> None:
    """Judge a history of zeros."""
    print("A history of zeros")
    told = [find_level_changes([0] * n + [1]) for n in (3, 10, 50, 500)]
    report.figure(
        "+1 told at run 1, a rerun asked for",
        sum([(d.index, d.wants_rerun) for d in t] == [(n, True)] for t, n in zip(told, (3, 10, 50, 500), strict=True)),
        least=4,
    )
    confirmed = [
        find_level_changes([0] * 50 + [1], samples=[[0]] * 50 + [[1, 1, 1]]),
        find_level_changes([0] * 50 + [1, 1, 1]),
    ]
    report.figure(
        "confirmed by two reruns",
        sum([(d.index, d.wants_rerun) for d in c] == [(50, False)] for c in confirmed),
        least=2,
    )
    series = LevelChangeDetector()
    values = [0] * 300
    values[150] = 1
    report.figure("a blip confirmed", sum(not d.wants_rerun for v in values for d in series.append(v)), most=0)


def time_detection(report: Report, seed: int, others: dict[str, Peer]) -> None:
    """Time whole series, appends and many series."""
    print("Speed (processor time)")
    rng = np.random.default_rng(seed)
    for n, most in ((1000, 2.0), (10_000, 20.0)):
        drawn = detection_speed.draw_all(rng, n)
        times = detection_speed.time_whole_series(drawn)
        worst = max(times, key=lambda kind: times[kind])
        report.figure(f"ms at {n} points, worst kind ({worst})", times[worst], most=most)
        for name, peer in others.items():
            theirs = max(detection_speed.time_peer(drawn, peer).values())
            report.figure(f"ms at {n} points, worst kind, {name}", theirs)
            if name == "otava":
                report.figure(f"times faster than otava at {n} points", theirs / times[worst], least=10)
    for n in (100, 1000, 10_000, 100_000):
        appends = detection_speed.time_appends(rng, n)
        worst = max(appends, key=lambda kind: appends[kind])
        report.figure(f"µs an append at {n} points, worst kind ({worst})", appends[worst], most=50)
    report.figure("s for 100,000 series of 500 points", detection_speed.time_many_series(rng), most=60)


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--history", type=Path, default=os.environ.get("FAULTWATCH_HISTORY"))
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--quick", action="store_true", help="fewer series and runs")
    options = parser.parse_args()
    folder = Path(options.history) if options.history else None
    report = Report()
    others = start_peers()
    if not others:
        print("Other detectors are not installed (make peers): not compared")
    parts = (
        lambda: score_labelled_series(report, options.seed, 6 if options.quick else 25, others),
        lambda: count_ramps(report, options.seed),
        lambda: history(report, folder, others),
        lambda: judge_online(report, options.seed, 2000 if options.quick else 10_000),
        lambda: judge_zeros(report),
        lambda: time_detection(report, options.seed, others),
    )
    for part in show_steps(parts, "parts"):
        part()
    finish_report("detection", report.misses, report.figures)


if __name__ == "__main__":
    main()
