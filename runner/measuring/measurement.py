"""Measure one case of one revision: a warm-up, then its samples, as a report."""

from collections.abc import Callable
from pathlib import Path

from runner.contract.report import Build, Case, Report, Revision, Sample, Stage
from runner.measuring.page_cache import StaysWarm
from runner.measuring.sampling import Sampling
from runner.measuring.trial import Bench, Subject, Trial
from runner.perf.session import ExecutionFailure
from runner.subject.build import Builder, BuildFailure, missing_programs
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
    """Run a case in a built tree and return what was counted, or why nothing could be.

    The first execution warms the page cache and is discarded: what it reads from storage is not the case's doing. It
    shows which files the program maps, too, and how those lie in the page cache is defined before the first sample.

    Parameters
    ----------
    sampling
        When enough executions are measured; by default what the workload says.
    progress
        Called after each execution.

    Raises
    ------
    FaultwatchError
        Where measuring itself is impossible here; a failing program makes a report of its failure instead.
    """
    trial = Trial(workload, Subject(subject, revision, case, build), bench, tree)
    if trial.obstacle:
        return trial.skipped(trial.obstacle)
    wanted = sampling or Sampling.of(workload)
    taken: list[Sample] = []
    try:
        trial.warm_up()
        progress()
        while wanted.wants_more(taken):
            taken.append(trial.execute())
            progress()
    except StaysWarm as error:
        return trial.skipped(str(error))
    except ExecutionFailure as failure:
        return trial.failed(Stage.RUN, failure.message, failure.log)
    return trial.measured(taken)


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
    """Build a revision, if that was not done before, and measure a case of it; a failing build makes a report too."""
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
    """Return the report of a revision that does not build, or cannot be built on this host."""
    trial = Trial(workload, Subject(subject, revision, case, build), bench)
    if lacking := missing_programs(workload):
        return trial.skipped(lacking)
    return trial.failed(Stage.BUILD, message, build.log)
