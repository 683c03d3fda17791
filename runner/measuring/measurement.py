"""Measures one case of one revision: a warm-up, then samples. The result is a report."""

import errno
import traceback
from collections.abc import Callable
from pathlib import Path

from runner.contract.report import Build, Case, Report, Revision, Sample, Stage
from runner.errors import FaultwatchError
from runner.execution.background_thread import start_in_background
from runner.installed_version import get_version
from runner.measuring.environment_change import InvalidSession
from runner.measuring.sampling import Sampling
from runner.measuring.trial import Bench, Subject, Trial
from runner.perf.program_failure import ExecutionFailure
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_record import DamagedBuild
from runner.subject.repository import Repository
from runner.subject.session_tree_restorer import restore_tree
from runner.workload import Workload

_HOST_ERRORS = frozenset(
    {
        *(errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM),
        *(errno.ENOSPC, errno.EPIPE, errno.EROFS, errno.ESTALE),
    }
)
"""Errors of the kernel that no revision causes: the next revision would meet them too."""


def measure_case(
    workload: Workload,
    case: Case,
    tree: Path,
    *,
    bench: Bench,
    subject: str,
    revision: Revision,
    build: Build | None = None,
    sampling: Sampling | None = None,
    progress: Callable[[], None] = lambda: None,
) -> Report:
    """Execute a case in a built tree, and return a report with its samples or with the reason why there are none.

    The first execution warms the page cache and is discarded, because its reads from storage depend on what ran before,
    not on the case. It also shows which files the program maps; they are prepared before the first sample.

    Parameters
    ----------
    sampling
        Decides how many samples are enough; by default as the workload says.
    progress
        Called after each execution.

    Raises
    ------
    FaultwatchError
        If measuring is impossible on this host. If the program fails, the report contains the failure.
    """
    trial_subject = Subject(subject, revision, case, build)
    try:
        return _measure_case(
            Trial(workload, trial_subject, bench, tree), sampling or Sampling.from_workload(workload), progress
        )
    except Exception as error:
        if not _is_caused_by_revision(error):
            raise
        # A program can cause unexpected errors, which must not prevent the measurement of other commits.
        message = f"this revision reveals a bug in Faultwatch: {type(error).__name__}: {error}"
        return Trial(workload, trial_subject, bench).build_failure_report(
            Stage.MEASURE, message, traceback.format_exc(), temporary=True
        )


def _measure_case(trial: Trial, sampling: Sampling, progress: Callable[[], None]) -> Report:
    """Execute a trial until it has enough samples, and return its report, or why there is no result."""
    if trial.obstacle:
        return trial.build_skipped_report(trial.obstacle)
    samples: list[Sample] = []
    try:
        restore_tree(trial.tree)
        wait_for_models = start_in_background(_preload_report_models)
        try:
            trial.warm_up()
        finally:
            wait_for_models()
        progress()
        while sampling.needs_more_samples(samples):
            samples.append(trial.execute())
            progress()
        return trial.build_measured_report(samples)
    except DamagedBuild as damage:
        return trial.build_skipped_report(f"the build cannot be used: {damage}", temporary=True)
    except InvalidSession as error:
        return trial.build_skipped_report(str(error), temporary=True)
    except ExecutionFailure as failure:
        return trial.build_failure_report(failure.stage, failure.message, failure.log, temporary=failure.temporary)


def _preload_report_models() -> None:
    """Build the models of reports and look up the version in advance, while the warm-up runs."""
    Report.model_rebuild()
    get_version()  # The version is cached.


def _is_caused_by_revision(error: Exception) -> bool:
    """Return whether an unexpected error may be caused by the revision, so that other revisions can be measured."""
    cause: BaseException | None = error
    while cause is not None:
        # The causes are examined too: if Ctrl-C interrupts the creation of a class, Python raises another error.
        if isinstance(cause, FaultwatchError | KeyboardInterrupt | MemoryError):
            return False
        if isinstance(cause, OSError) and cause.errno in _HOST_ERRORS:
            return False
        cause = cause.__cause__ or cause.__context__
    return True


def measure_revision(
    repository: Repository,
    builder: Builder,
    workload: Workload,
    case: Case,
    *,
    bench: Bench,
    revision: Revision,
    sampling: Sampling | None = None,
) -> Report:
    """Build a revision unless it is built already, measure a case of it, and return the report, also of a failure."""
    try:
        tree, build = builder.build(repository, revision.commit, workload)
    except BuildFailure as failure:
        return report_failed_build(workload, case, failure, bench=bench, subject=repository.name, revision=revision)
    return measure_case(
        workload,
        case,
        tree,
        bench=bench,
        subject=repository.name,
        revision=revision,
        build=build,
        sampling=sampling,
    )


def report_failed_build(
    workload: Workload, case: Case, failure: BuildFailure, *, bench: Bench, subject: str, revision: Revision
) -> Report:
    """Return the report of a case of a revision whose build failed or is impossible on this host."""
    trial = Trial(workload, Subject(subject, revision, case, failure.build), bench)
    if failure.lacks_programs:
        return trial.build_skipped_report(failure.message, temporary=True)
    return trial.build_failure_report(failure.stage, failure.message, failure.build.log, temporary=failure.temporary)
