"""Measures one case of one revision: a warm-up, then samples. The result is a report."""

from collections.abc import Callable
from pathlib import Path

from runner.contract.report import Build, Case, Report, Revision, Sample, Stage
from runner.measuring.cold_files import EvictionError
from runner.measuring.sampling import Sampling
from runner.measuring.trial import Bench, Subject, Trial
from runner.perf.session import ExecutionFailure
from runner.subject.build import Builder, BuildFailure, missing_programs
from runner.subject.built_tree import begin_session
from runner.subject.repository import Repository
from runner.workload import Workload


def measure(
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

    The first execution warms the page cache and is discarded, because the case does not cause what it reads from
    storage. It also shows which files the program maps. Those are prepared before the first sample.

    Parameters
    ----------
    sampling
        Decides how many samples are enough; by default from the workload.
    progress
        Called after each execution.

    Raises
    ------
    FaultwatchError
        If measuring is impossible on this host. If the program fails, the report contains the failure.
    """
    trial = Trial(workload, Subject(subject, revision, case, build), bench, tree)
    if trial.obstacle:
        return trial.skipped(trial.obstacle)
    rule = sampling or Sampling.of(workload)
    samples: list[Sample] = []
    try:
        begin_session(tree)
        trial.warm_up()
        progress()
        while rule.wants_more(samples):
            samples.append(trial.execute())
            progress()
    except EvictionError as error:
        return trial.skipped(str(error))
    except ExecutionFailure as failure:
        return trial.failed(failure.stage, failure.message, failure.log)
    return trial.measured(samples)


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
    """Build a revision, unless it is built already, and measure a case of it; a failed build is reported too."""
    try:
        tree, build = builder.build(repository, revision.commit, workload)
    except BuildFailure as failure:
        return failed_build(
            workload,
            case,
            bench=bench,
            subject=repository.name,
            revision=revision,
            message=failure.message,
            build=failure.build,
        )
    return measure(
        workload,
        case,
        tree,
        bench=bench,
        subject=repository.name,
        revision=revision,
        build=build,
        sampling=sampling,
    )


def failed_build(
    workload: Workload, case: Case, *, bench: Bench, subject: str, revision: Revision, message: str, build: Build
) -> Report:
    """Return the report of a revision whose build failed or is impossible on this host."""
    trial = Trial(workload, Subject(subject, revision, case, build), bench)
    if lacking := missing_programs(workload):
        return trial.skipped(lacking)
    return trial.failed(Stage.BUILD, message, build.log)
