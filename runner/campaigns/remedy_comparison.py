"""Prepare the comparison of a case with and without a remedy."""

from collections.abc import Mapping

from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.measuring.trial import Bench, Subject, Trial
from runner.subject.build import Builder, BuildFailure
from runner.subject.repository import Repository
from runner.workload import Workload
from runner.workload.remedy import with_remedy


def remedy_trials(
    repository: Repository,
    builder: Builder,
    workload: Workload,
    case: Case,
    *,
    bench: Bench,
    revision: str,
    settings: Mapping[str, str],
) -> tuple[Trial, Trial]:
    """Build a revision, and return the trials of a case without and with a remedy.

    Raises
    ------
    FaultwatchError
        The revision does not build, there is no such remedy, or one of the two cannot be measured on this host.
    """
    remedied = with_remedy(workload, settings)
    commit = repository.revision(revision)
    try:
        tree, build = builder.build(repository, commit.commit, workload)
    except BuildFailure as failure:
        raise FaultwatchError(f"{commit.commit[:10]} does not build: {failure.message}") from None
    subject = Subject(repository.name, commit, case, build)
    present, changed = (Trial(side, subject, bench, tree) for side in (workload, remedied))
    for label, trial in (("as it is", present), ("with the remedy", changed)):
        if trial.obstacle:
            raise FaultwatchError(f"{case.name} cannot be measured {label}: {trial.obstacle}")
    return present, changed
