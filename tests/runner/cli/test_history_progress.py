"""The lines that a history prints while it measures."""

from __future__ import annotations

import io
import threading
import uuid
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from runner.cli.history_progress import ProgressBar
from runner.contract.plan import PlannedRun, Reason
from runner.contract.report import Case, Environment, Failure, Host, Outcome, Reading, Report, Revision, Sample, Stage

CASE = Case(workload="copy", definition="0" * 16, parameters={"mib": 8})


def commit(number: int) -> str:
    return f"{number:010x}" * 4


def report(number: int, faults: int) -> Report:
    now = datetime.now(UTC)
    values: dict[str, Any] = {
        "run_id": uuid.uuid4(),
        "subject": "demo",
        "revision": Revision(commit=commit(number), author="a", committed_at=now, title=f"Change {number}"),
        "case": CASE,
        "host": Host(name="box"),
        "environment": Environment(settings={}),
        "runner_version": "1",
        "started_at": now,
        "finished_at": now,
        "outcome": Outcome.MEASURED,
        "samples": (Sample(readings={"minor-faults": Reading(value=faults)}),),
    }
    return Report(**values)


def test_the_reruns_of_a_case_are_one_line() -> None:
    stream = io.StringIO()
    with ProgressBar(Console(file=stream, width=200), "demo") as bar:
        bar.on_plan([PlannedRun(revision=commit(1), case=CASE)], 0, 2)
        bar.on_report(report(1, 1000), 0)
        for faults in (1001, 1001, 1002):
            bar.on_plan([PlannedRun(revision=commit(2), case=CASE, reason=Reason.RERUN)], 0, 2)
            bar.on_report(report(2, faults), 0)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("1 to measure, 0 already stored")
    assert lines[1].split()[2:5] == ["1,000", "minor", "faults"]
    assert lines[2].strip() == (
        f"{commit(2)[:10]} copy[mib=8]  1,001 minor faults, 1,002 minor faults  "
        "measured again 3 times to confirm a level change"
    )


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_does_not_grow_during_a_build_and_reruns_are_bounded() -> None:
    stream, clock = io.StringIO(), Clock()
    bar = ProgressBar(Console(file=stream, width=200), "demo", clock)
    bar.on_plan([PlannedRun(revision=commit(number), case=CASE) for number in range(1, 11)], 0, 20)
    clock.now = 60
    bar.on_report(report(1, 1000), 0)
    assert bar._activity.time_left == "about 9 min left"
    clock.now = 115
    assert bar._activity.time_left == "about 8 min left"
    clock.now = 120
    bar.on_report(report(2, 1000), 0)
    assert "about 8 min left, not counting reruns to confirm level changes" in stream.getvalue()
    for _ in range(2):
        bar.on_plan([PlannedRun(revision=commit(2), case=CASE, reason=Reason.RERUN)], 0, 2)
        clock.now += 3
        bar.on_report(report(2, 1001), 0)
    assert bar._activity.time_left == "at most about 50 s left"


def test_a_failure_that_repeats_is_said_once_with_how_often() -> None:
    stream = io.StringIO()
    with ProgressBar(Console(file=stream, width=200), "demo") as bar:
        bar.on_plan([PlannedRun(revision=commit(number), case=CASE) for number in range(6)], 0, 12)
        for number in range(6):
            message = "`make` ended with exit code 2" if number != 3 else "`make` ended with exit code 1"
            failure = Failure(stage=Stage.BUILD, message=message)
            failed = {"outcome": Outcome.FAILED, "failure": failure, "samples": ()}
            bar.on_report(report(number, 1000).model_copy(update=failed), 2)
    lines = [line.strip() for line in stream.getvalue().splitlines() if "min" not in line][1:]
    first = f"{commit(0)[:10]} copy[mib=8]"
    assert lines == [
        f"{first} build failed: `make` ended with exit code 2",
        f"{commit(3)[:10]} copy[mib=8] build failed: `make` ended with exit code 1",
        f"4 more runs ({commit(1)[:10]}…{commit(5)[:10]}) failed with the same message as {first}",
    ]


def test_a_count_that_varies_shows_its_level_and_between_what_it_varies() -> None:
    stream = io.StringIO()
    samples = tuple(Sample(readings={"minor-faults": Reading(value=faults)}) for faults in (594, 1650, 606))
    with ProgressBar(Console(file=stream, width=200), "demo") as bar:
        bar.on_plan([PlannedRun(revision=commit(1), case=CASE)], 0, 1)
        bar.on_report(report(1, 0).model_copy(update={"samples": samples}), 0)
    assert "  606 minor faults (594 – 1,650)  " in stream.getvalue()


class Log(io.StringIO):
    """A log, of which one waits for lines."""

    def __init__(self) -> None:
        super().__init__()
        self.alive = threading.Event()

    def write(self, text: str) -> int:
        if "of 9" in text:
            self.alive.set()
        return super().write(text)


def test_a_log_says_that_a_long_build_goes_on() -> None:
    log = Log()
    with ProgressBar(Console(file=log, width=200), "demo", lambda: 100.0, interval_seconds=0.001) as bar:
        bar.on_plan([PlannedRun(revision=commit(1), case=CASE)], 0, 9)
        bar.on_run_start(report(1, 0).revision, CASE)
        bar.on_execution()
        assert log.alive.wait(60)
    assert f"  demo: {commit(1)[:10]} {CASE.name}, 1 of 9 steps, 0 s" in log.getvalue()
    assert "activity" not in {thread.name for thread in threading.enumerate()}


def test_executions_beyond_the_plan_do_not_let_the_progress_go_back() -> None:
    bar = ProgressBar(Console(file=io.StringIO(), width=100), "demo")
    bar.on_plan([PlannedRun(revision=commit(number), case=CASE) for number in (1, 2)], 0, 6)
    for _ in range(9):
        bar.on_execution()
    before = bar._activity.done
    bar.on_report(report(1, 1000), -6)
    assert bar._activity.done == before
    assert bar._activity.total == 12, "three of the second run remain"


def test_runs_of_commits_that_the_clone_lacks_are_not_waited_for() -> None:
    stream, clock = io.StringIO(), Clock()
    bar = ProgressBar(Console(file=stream, width=100), "demo", clock)
    bar.on_plan([PlannedRun(revision=commit(number), case=CASE) for number in (1, 2, 3, 4)], 0, 12)
    bar.on_missing_commit(commit(4), 1)
    bar.on_missing_commit(commit(3), 1)
    assert bar._activity.total == 6
    clock.now = 60
    bar.on_report(report(1, 1000), 3)
    assert bar._activity.time_left == "about 60 s left", "one run is left"
    assert f"{commit(4)[:10]} is not in this clone, so 1 run of it cannot be measured" in stream.getvalue()


def test_a_program_that_prints_its_usage_or_draws_on_a_terminal_is_quoted_with_what_is_wrong() -> None:
    usage = "usage: copy [-n N] FILE\n  -n N  how often\n  --help  show this help\n"
    for log, said in (
        (usage, "usage: copy [-n N] FILE"),
        (f"copy: FILE is missing\n{usage}", "copy: FILE is missing"),
        (f"{usage}copy: error: FILE is missing\n", "copy: error: FILE is missing"),
        ("--- standard error\n\x1b[31mno terminal\x1b[0m\n--- standard output\n\x1b[6n\x1b[2J ready", "no terminal"),
        ("--- standard error\n\x1b[2J\n--- standard output\n\x1b]0;title\x07\x1b[999Bonly this", "only this"),
        ("x.js:3\n  throw e;\nError: no lib/x.js\n    at f (x.js:3)\n\nNode.js v20.1.0\n", "Error: no lib/x.js"),
        ("╔══════╗\nFILE is missing\n╚══════╝\n", "FILE is missing"),
    ):
        failure = Failure(stage=Stage.RUN, message="it ended with exit code 2", log=log)
        assert failure.explained == f"it ended with exit code 2: {said}"
    drawn = Failure(stage=Stage.RUN, message="it ended with exit code 2", log="--- standard output\n\x1b[6n\x1b[2J")
    assert drawn.explained == "it ended with exit code 2"


def test_a_program_that_failed_is_quoted() -> None:
    stream = io.StringIO()
    failure = Failure(stage=Stage.RUN, message="`./copy` ended with exit code 1", log="reading\ncopy: no such file\n\n")
    changes = {"outcome": Outcome.FAILED, "failure": failure, "samples": ()}
    with ProgressBar(Console(file=stream, width=200), "demo") as bar:
        bar.on_plan([PlannedRun(revision=commit(1), case=CASE)], 0, 1)
        bar.on_report(report(1, 1000).model_copy(update=changes), 0)
    assert stream.getvalue().rstrip().endswith("run failed: `./copy` ended with exit code 1: copy: no such file")
    assert failure.model_copy(update={"stage": Stage.BUILD}).explained == failure.message, "a build says it earlier"
