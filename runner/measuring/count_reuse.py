"""Reuses the counts of a measured build for builds in which the program's file lookups have the same answers.

A revision can change a count only through the kernel's answers to the program's questions about its tree: contents,
sizes, modes, times, links, the names in folders, and missing files. All questions were recorded when the program was
measured. If the answers are the same in another build, the program does the same there. One build in twenty is measured
nevertheless, to check the host. The last revision of a history, and the last one before a different count, are measured
too, because the conclusions rest on them.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from runner.contract.level import Number
from runner.contract.mapped_files import CacheState
from runner.contract.metrics import get_metric
from runner.contract.report import Build, Case, Outcome, Report, Revision, Status
from runner.contract.reused_counts import SameBytesCheck
from runner.dependencies.lookup_answers import AnsweredLookups
from runner.errors import FaultwatchError
from runner.measuring.sampling import compute_levels
from runner.measuring.trial import Bench, Subject, Trial
from runner.perf.program_failure import ExecutionFailure
from runner.subject.checked_commits import is_measured_anyway
from runner.subject.session_tree_restorer import read_build_start, restore_tree
from runner.workload import Workload

MIN_AGREEING_RUNS = 12
"""How many successive measured runs must agree before counts are reused. Reused counts are no evidence for a level. The
detector is sure of a new level after three runs if at least 12 measured runs precede them: by chance, the three would
come last in one of C(15, 3) = 455 orders, and it requires one of at least 400."""
_ALL_MEASURED = "from now on, this command measures every revision of this case"
_OTHER_FILES_REMARK = (
    "the files that the program used at {} are unchanged in this build, but this run used other files or ran in "
    "another environment; " + _ALL_MEASURED
)
_VARIES_REMARK = (
    "the program is byte-identical to the one at {}, so the count varies without a code change: {}; " + _ALL_MEASURED
)


class _ReusableRun(Struct, frozen=True):
    """The newest measured run of a case, with the file lookups of its program.

    Attributes
    ----------
    n_agreeing_runs
        The number of successive measured runs with the same counts, including this one.
    """

    report: Report
    answered_lookups: AnsweredLookups
    n_agreeing_runs: int


class CountReuse:
    """Finds revisions that need no measurement, because the file lookups of their program have the same answers.

    It compares with the newest measured run of each case.
    """

    def __init__(self, workload: Workload, bench: Bench) -> None:
        """Begin without a run whose counts can be reused."""
        self._workload = workload
        self._bench = bench
        # Noisy metrics, and counts of processes that run at the same time, can differ at each measurement.
        # If the number of processes is a placeholder, its value is unknown here, and taken for more than one.
        self._can_reuse = workload.run.processes in {1, "1"} and all(
            get_metric(name).exact for name in workload.metrics.judge
        )
        self._newest_runs: dict[str, _ReusableRun] = {}
        self._unusable_cases: set[str] = set()
        self._cases_with_failed_check: set[str] = set()

    def find_source(self, case: Case, tree: Path) -> Report | None:
        """Return a run whose counts can be reused for a built tree; None if the case has to be measured."""
        newest_run = self._newest_runs.get(case.name)
        if newest_run is None or case.name in self._unusable_cases:
            return None
        has_same_answers = newest_run.answered_lookups.has_same_answers_in(tree.resolve(), read_build_start(tree))
        return newest_run.report if has_same_answers else None

    def reuse_counts(self, source: Report, revision: Revision, build: Build, tree: Path) -> Report | None:
        """Return the report of a revision with the counts of a run; None if the revision has to be measured.

        A revision has to be measured in these cases: fewer than ``MIN_AGREEING_RUNS`` successive measured runs agree;
        a count of the run varies; an earlier measurement contradicted the reused counts; it is the one in twenty that
        checks the host; one untraced execution fails or has different counts; or the environment has changed, the case
        has an obstacle, or it is cold. The counts differ if the program looks up other files while it is traced, or
        depends on more than the answers to its lookups.
        """
        name = source.case.name
        if self._newest_runs[name].n_agreeing_runs < MIN_AGREEING_RUNS or name in self._cases_with_failed_check:
            return None
        if is_measured_anyway(revision.commit, source.case):
            return None
        subject = Subject(source.subject, revision, source.case, build)
        expected_counts = _collect_exact_counts(source)
        if not expected_counts:
            return None
        try:
            trial = Trial(self._workload, subject, self._bench, tree)
            restore_tree(tree)
            readings = trial.execute_untraced().readings
        except (ExecutionFailure, FaultwatchError):
            return None
        for metric_name, expected_count in expected_counts.items():
            if metric_name not in readings or readings[metric_name].value != expected_count:
                return None
        return trial.build_reused_report(source, expected_counts)

    def attach_check(self, report: Report, source: Report) -> Report:
        """Return a measured report with the comparison of its counts with those that could have been reused.

        It gets a remark instead if the two runs do not have the same bytes after all, or if the count varies. In these
        cases, and if the counts differ, no counts of the case are reused any more.
        """
        if report.outcome is not Outcome.MEASURED:
            return report
        if not _have_same_bytes_and_environment(report, source):
            self._unusable_cases.add(report.case.name)
            remark = _OTHER_FILES_REMARK.format(source.revision.commit[:10])
            return report.model_copy(update={"remarks": (*report.remarks, remark)})
        expected_counts, counts = _collect_exact_counts(source) or {}, compute_levels(report.samples)
        if varying_counts := _describe_varying(report, expected_counts, counts):
            self._cases_with_failed_check.add(report.case.name)
            remark = _VARIES_REMARK.format(source.revision.commit[:10], "; ".join(varying_counts))
            return report.model_copy(update={"remarks": (*report.remarks, remark)})
        check = SameBytesCheck(
            run_id=source.run_id,
            commit=source.revision.commit,
            expected=expected_counts,
            counted={name: counts[name] for name in expected_counts if name in counts},
        )
        if not check.holds:
            self._cases_with_failed_check.add(report.case.name)
        return report.model_copy(update={"same_bytes_check": check})

    def remember_source(self, report: Report) -> None:
        """Remember a measured run if its counts are exact, so that later builds with the same bytes can reuse them.

        If they are not, the earlier run of the case is forgotten. A run whose check failed changes nothing.
        """
        if report.same_bytes_check and not report.same_bytes_check.holds:
            return
        name = report.case.name
        previous_run = self._newest_runs.pop(name, None)
        answered_lookups = self._bench.known_files.answered.get(name)
        if self._can_reuse and answered_lookups and _are_counts_certain(report):
            n_agreeing_runs = 1
            if previous_run and _do_agree(previous_run.report, report):
                n_agreeing_runs += previous_run.n_agreeing_runs
            self._newest_runs[name] = _ReusableRun(report, answered_lookups, n_agreeing_runs)


def _are_counts_certain(report: Report) -> bool:
    """Return whether each count of a run repeats in all samples and cannot depend on the page cache."""
    files = report.files
    return (
        report.outcome is Outcome.MEASURED
        and not report.quarantine
        and files is not None
        and bool(files.own_bytes and files.system_bytes)
        and all(file.cache is not CacheState.UNPREPARED for file in files.mapped)
        and bool(_collect_exact_counts(report))
    )


def _do_agree(report: Report, other_report: Report) -> bool:
    """Return whether two runs have the same exact counts in the same environment: others are in another series."""
    has_same_environment = report.environment.hash == other_report.environment.hash
    return has_same_environment and _collect_exact_counts(report) == _collect_exact_counts(other_report)


def _collect_exact_counts(report: Report) -> Mapping[str, Number] | None:
    """Return the exact counts of a run by metric; None if one of them varies or was not counted in each sample."""
    counts: dict[str, Number] = {}
    for name in report.metrics:
        if not get_metric(name).exact:
            continue
        readings = report.list_readings(name)
        values = {reading.value for reading in readings if reading.status is Status.COUNTED}
        count = readings[0].value
        if len(readings) != len(report.samples) or count is None or values != {count}:
            return None
        counts[name] = count
    return counts


def _describe_varying(report: Report, expected_counts: Mapping[str, Number], counts: Mapping[str, Number]) -> list[str]:
    """Return the counts that differ from the expected ones because they vary, as clauses.

    Empty if the variation does not explain all differences. A program whose threads allocate memory in random order may
    take a fault more or fewer. The host is not distrusted for this if the counts differ from the expected count by no
    more than they differ from each other.
    """
    clauses = []
    for name, expected_count in expected_counts.items():
        values = [reading.value for reading in report.list_readings(name) if reading.value is not None]
        if not values:
            return []
        low, high = min(values), max(values)
        if max(low - expected_count, expected_count - high) > high - low:
            return []
        if low < high and counts.get(name) != expected_count:
            clauses.append(f"{name} {expected_count:,} at that commit, {low:,} – {high:,} now")
    return clauses


def _have_same_bytes_and_environment(report: Report, source: Report) -> bool:
    """Return whether two runs have the same bytes in the same environment."""
    files, source_files = report.files, source.files
    has_same_bytes = (
        files
        and source_files
        and (files.own_bytes, files.system_bytes) == (source_files.own_bytes, source_files.system_bytes)
    )
    return bool(has_same_bytes) and report.environment.hash == source.environment.hash


def has_contradicting_counts(report: Report) -> bool:
    """Return whether the counts of a run differ from those of an earlier run with the same bytes."""
    return report.same_bytes_check is not None and not report.same_bytes_check.holds


def differs_from_reused_counts(report: Report, reused_report: Report) -> bool:
    """Return whether the counts of a measured run differ from the reused counts of another run."""
    counts = compute_levels(report.samples)
    return report.outcome is Outcome.MEASURED and any(
        name in counts and counts[name] != count for name, count in compute_levels(reused_report.samples).items()
    )
