"""Shows the progress and the remaining time of a history: a bar on a terminal, otherwise a line for each run."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from runner.campaigns.history_measurement import MAX_FOLLOW_UPS
from runner.cli.activity import INTERVAL_SECONDS, Activity, format_time_left, write_lines
from runner.cli.formatting import escape_text, format_value
from runner.cli.time_estimate import Pace
from runner.contract.level import compute_median
from runner.contract.number_text import format_count
from runner.contract.plan import PlannedRun, Reason
from runner.contract.report import Case, Outcome, Report, Revision

_REASON_LABELS = {
    Reason.ANCHOR: "to measure again because the environment changed",
    Reason.CROSS_MEASUREMENT: "to measure in the other environment to separate the effects of commit and environment",
    Reason.RERUN: "to measure again to confirm a level change",
}
_ELLIPSIS: dict[str, Any] = {"no_wrap": True, "overflow": "ellipsis"}
_NO_WRAP: dict[str, Any] = {"soft_wrap": True}
_MAX_TITLE_CHARACTERS = 50
"""How many characters of the title of the current commit are shown next to the bar."""


class ProgressBar:
    """A :class:`runner.campaigns.history_measurement.HistoryObserver` that draws on a console."""

    def __init__(
        self,
        console: Console,
        title: str,
        clock: Callable[[], float] = time.monotonic,
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        """Create the display; nothing is drawn yet.

        Parameters
        ----------
        interval_seconds
            Seconds between two lines of progress in a log, which show that the command is alive during a long build.
        """
        self._console = console
        self._activity = Activity(title, clock, self._format_time_left)
        self._interval_seconds = interval_seconds
        self._heartbeat = ExitStack()
        self._title = title
        self._clock = clock
        self._pace = Pace(clock())
        self._planned_runs = 0
        self._finished_runs = 0
        self._planned_executions = 0
        self._follow_ups = 0
        """The number of successive plans of reruns so far. More may follow, up to a limit."""
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.fields[runs]} executions"),
            _TimeLeftColumn(self._format_time_left),
            TextColumn("{task.fields[current_run]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(title, total=None, current_run="", runs="?")
        self._failures: dict[str, list[Report]] = {}
        """The failures by message. The first with a message is printed at once, the others are summarised later."""
        self._is_rerunning = False
        self._reruns: dict[str, list[str]] = {}
        """The counts of reruns by commit and case, which are printed together, because each rerun has its own plan."""

    def __enter__(self) -> Self:
        self._progress.start()
        if not (self._console.is_terminal or self._console.quiet):
            self._heartbeat.enter_context(write_lines(self._activity, self._interval_seconds, self._print_heartbeat))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._heartbeat.close()
        self._print_reruns()
        self._print_failures()
        self._progress.stop()

    def on_plan(self, planned_runs: Sequence[PlannedRun], n_stored: int, n_executions: int) -> None:
        """Print the plan, and estimate its time from now on; successive plans of reruns count as one plan."""
        self._is_rerunning = bool(planned_runs) and all(run.reason is Reason.RERUN for run in planned_runs)
        self._follow_ups = self._follow_ups + 1 if self._is_rerunning else 0
        if self._follow_ups <= 1:
            # Discard the earlier pace: a rerun takes less time than a run whose revision has to be built.
            self._pace = Pace(self._clock())
        self._planned_runs, self._finished_runs = len(planned_runs), 0
        self._planned_executions = n_executions
        total = self._progress.tasks[0].completed + n_executions
        self._progress.update(self._task, total=total, runs=f"{total:,.0f}")
        self._activity.set_remaining_steps(n_executions)
        if self._is_rerunning:
            return
        self._print_reruns()
        parts = [f"{len(planned_runs)} to measure", f"{n_stored} already stored"]
        for reason, label in _REASON_LABELS.items():
            number = sum(run.reason is reason for run in planned_runs)
            if number:
                parts.append(f"{number} {label}")
        self._console.print(f"[bold]{escape_text(self._title)}[/]: {', '.join(parts)}", soft_wrap=True)

    def on_missing_commit(self, commit: str, n_runs: int) -> None:
        """Print how many runs cannot be measured because this clone lacks their commit, and expect them no more."""
        missing_executions = round(self._planned_executions * n_runs / self._planned_runs)
        self._planned_runs -= n_runs
        self._planned_executions -= missing_executions
        self._add_unplanned_executions(-missing_executions)
        text = f"  {commit[:10]} is not in this clone, so {format_count(n_runs, 'run')} of it cannot be measured"
        self._console.print(f"[yellow]{text}[/]", highlight=False, soft_wrap=True)

    def on_run_start(self, revision: Revision, case: Case) -> None:
        """Show what is being measured."""
        current_run = f"{revision.commit[:10]} {revision.title[:_MAX_TITLE_CHARACTERS]}"
        self._progress.update(self._task, current_run=escape_text(current_run))
        self._activity(f"{self._title}: {revision.commit[:10]} {case.name}")

    def on_execution(self) -> None:
        """Advance by one execution."""
        self._progress.advance(self._task)
        self._activity.advance()

    def on_report(self, report: Report, skipped_executions: int) -> None:
        """Advance the progress, and print the count of a run, or the reason why there is no count.

        A log also shows the remaining time. Counts of reruns are collected and printed together; of equal failures,
        only the first is printed.

        Parameters
        ----------
        skipped_executions
            How many of the planned executions the run did not need; negative if it needed more than planned.
        """
        if skipped_executions >= 0:
            self._progress.advance(self._task, skipped_executions)
            self._activity.advance(skipped_executions)
        else:
            self._add_unplanned_executions(-skipped_executions)
        self._finished_runs += 1
        self._pace.advance(self._clock())
        label = escape_text(f"{report.revision.commit[:10]} {report.case.name}")
        if report.outcome is Outcome.MEASURED:
            count = _format_count(report)
            if self._is_rerunning:
                self._reruns.setdefault(label, []).append(count)
                return
            origin = f"reused from {report.reused.commit[:10]}  " if report.reused else ""
            text = f"  {label} {count}  [dim]{origin}{escape_text(report.revision.title)}[/]"
            # A terminal shows one line for each run, however narrow it is; a log has room for the full title.
            self._console.print(text, highlight=False, **_ELLIPSIS if self._console.is_terminal else _NO_WRAP)
        elif report.failure:
            message = f"{report.failure.stage.noun} failed: {report.failure.explained}"
            same_failures = self._failures.setdefault(message, [])
            same_failures.append(report)
            if len(same_failures) == 1:
                self._console.print(f"  {label} [yellow]{escape_text(message)}[/]", highlight=False, soft_wrap=True)
        # A log shows the remaining time after two runs, when a first estimate is possible, and after half of the runs,
        # when the estimate is better.
        is_estimate_due = self._finished_runs in {2, self._planned_runs // 2}
        if is_estimate_due and not self._console.is_terminal and not self._is_rerunning:
            time_left = self._format_time_left()
            if time_left:
                self._console.print(
                    f"  {time_left}, not counting reruns to confirm level changes", highlight=False, soft_wrap=True
                )

    def _add_unplanned_executions(self, n_executions: int) -> None:
        """Correct the total number of executions by those that were not planned; negative if they are not needed."""
        total = (self._progress.tasks[0].total or 0) + n_executions
        self._progress.update(self._task, total=total, runs=f"{total:,.0f}")
        self._activity.add_unplanned_steps(n_executions)

    def _format_time_left(self) -> str:
        """Return the remaining time; for reruns, the upper limit, because the next one may already end the doubt."""
        remaining_runs = self._planned_runs - self._finished_runs
        if self._is_rerunning:
            remaining_runs += self._planned_runs * max(0, MAX_FOLLOW_UPS - self._follow_ups)
        time_left = format_time_left(self._pace.estimate_time_left(self._clock(), remaining_runs))
        return f"at most {time_left}" if time_left and self._is_rerunning else time_left

    def _print_heartbeat(self, line: str) -> None:
        self._console.print(f"  [dim]{escape_text(line)}[/]", highlight=False, soft_wrap=True)

    def _print_reruns(self) -> None:
        """Print one line for each commit and case that was measured again, with all its reruns."""
        for label, counts in self._reruns.items():
            occurrences = f"{len(counts)} times" if len(counts) > 1 else "once"
            values = ", ".join(dict.fromkeys(count.strip() for count in counts))
            text = f"  {label}  {values}  [dim]measured again {occurrences} to confirm a level change[/]"
            self._console.print(text, highlight=False, soft_wrap=not self._console.is_terminal)
        self._reruns.clear()

    def _print_failures(self) -> None:
        """Print, for each message that was already printed, how many more runs failed with it."""
        for first_failure, *repetitions in self._failures.values():
            if repetitions:
                commits = list(dict.fromkeys(report.revision.commit[:10] for report in repetitions))
                commit_text = commits[0] if len(commits) == 1 else f"{commits[0]}…{commits[-1]}"
                more_runs = f"{format_count(len(repetitions), 'more run')} ({commit_text})"
                label = f"{first_failure.revision.commit[:10]} {first_failure.case.name}"
                text = escape_text(f"{more_runs} failed with the same message as {label}")
                self._console.print(f"  [yellow]{text}[/]", highlight=False, soft_wrap=True)
        self._failures.clear()


class _TimeLeftColumn(ProgressColumn):
    """Shows the remaining time, updated even during a long step."""

    max_refresh = 1.0

    def __init__(self, format_left: Callable[[], str]) -> None:
        super().__init__()
        self._format_time_left = format_left

    def render(self, task: Task) -> Text:
        """Return the text of the column."""
        return Text(self._format_time_left())


def _format_count(report: Report) -> str:
    """Return the level of a run's faults, with their range if they vary."""
    values = report.list_values("minor-faults")
    level = compute_median(values)
    if level is None:
        return "minor faults not counted"
    count = f"{format_value('minor-faults', level):>12} minor faults"
    return count if min(values) == max(values) else f"{count} ({min(values):,} – {max(values):,})"
