"""``faultwatch compare``: measure two revisions in turns in one session, and show the verdict on each metric."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.options import (
    env_option,
    json_option,
    options,
    repo_option,
    samples_option,
    sandbox_option,
    set_option,
    workload_option,
)
from runner.cli.terminal import activity, say
from runner.cli.workbench import host_turn, prepare_workbench
from runner.contract.gate import BaseQuery
from runner.contract.report import Build, Case, Outcome, Revision, Stage
from runner.measuring.comparison import Compared, Pairs, compare, compare_with_stored, undecided
from runner.measuring.preflight import Workbench, wants_sandbox
from runner.measuring.trial import Subject, Trial
from runner.reporting.client import Service
from runner.settings import load_settings
from runner.subject.lookup import workload_and_repository
from runner.subject.repository import Repository
from runner.workload import Workload, cases

if TYPE_CHECKING:
    from runner.subject.build import BuildFailure


@click.command(name="compare")
@options(
    click.argument("base"),
    click.argument("head"),
    workload_option,
    repo_option,
    set_option,
    env_option,
    samples_option,
    sandbox_option,
    json_option,
)
def command(
    base: str,
    head: str,
    workload_name: str | None,
    repo: str | None,
    choices: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    confined: bool | None,
    as_json: bool,
) -> None:
    """Measure BASE and HEAD in turns until every change is decided or the workload's max_samples are taken.

    With --samples, measure that many pairs. Exit code 1 if a metric got worse by more than its budget, or if a case
    failed.
    """
    from runner.reporting.embedded import connect

    settings = load_settings()
    workload, repository = workload_and_repository(settings, workload_name, repo)
    confinement = wants_sandbox(confined, repository, settings)
    with connect(settings) as service, host_turn(settings) as turn:
        service.check()
        workbench = prepare_workbench(settings, variables, turn=turn, confined=confinement)
        patient = service.patient(say)
        results = compare_cases(patient, repository, workload, workbench, (base, head), choices, samples)
    if as_json:
        click.echo(json.dumps([document(result) for result in results], indent=2))
    else:
        from runner.cli.comparison_tables import show_comparison

        for result in results:
            show_comparison(result)
    if any(_is_bad(result) for result in results):
        raise click.exceptions.Exit(1)


def compare_cases(
    service: Service,
    repository: Repository,
    workload: Workload,
    workbench: Workbench,
    names: tuple[str, str],
    choices: Sequence[str] = (),
    samples: int | None = None,
    *,
    from_store: bool = False,
) -> list[Compared]:
    """Build base and head, and measure them in turns, case by case.

    Parameters
    ----------
    from_store
        Skip measuring base if its stored run shows that head is the same.
    """
    chosen = cases(workload, choices)
    base, head = (_Side(repository, workload, workbench, repository.revision(name)) for name in names)
    pairs = Pairs.of(workload, samples)
    results = []
    with activity("comparing") as say:
        for number, case in enumerate(chosen, 1):
            say(f"comparing {case.name} ({number} of {len(chosen)})")
            stored = _compare_with_stored(base, head, case, service, pairs, len(chosen)) if from_store else None
            results.append(stored or _compare((base, head), case, service, pairs, len(chosen)))
    return results


@dataclass(frozen=True, slots=True)
class _Built:
    """A built revision, or why it does not build."""

    tree: Path
    build: Build
    failure: "BuildFailure | None" = None


@dataclass(frozen=True)
class _Side:
    """A revision that is built when needed."""

    repository: Repository
    workload: Workload
    workbench: Workbench
    revision: Revision

    @cached_property
    def built(self) -> _Built:
        from runner.subject.build import BuildFailure

        try:
            return _Built(*self.workbench.builder.build(self.repository, self.revision.commit, self.workload))
        except BuildFailure as failure:
            return _Built(Path(), failure.build, failure)

    def trial(self, case: Case) -> Trial:
        subject = Subject(self.repository.name, self.revision, case, self.built.build)
        return Trial(self.workload, subject, self.workbench.bench, self.built.tree)


def _compare_with_stored(
    base: _Side, head: _Side, case: Case, service: Service, pairs: Pairs, cases: int
) -> Compared | None:
    """Compare head with the stored run of base; None if that does not show that they are the same.

    Noisy metrics must be measured in turns.
    """
    if head.workload.metrics.judging.requested or head.built.failure:
        return None
    trial = head.trial(case)
    if trial.obstacle:
        return None
    query = BaseQuery(
        subject=head.repository.name,
        revision=base.revision.commit,
        case=case,
        host=trial.host.name,
        environment=trial.environment.hash,
    )
    stored = service.stored_base(query)
    return compare_with_stored(stored, trial, service.compare, pairs=pairs, cases=cases) if stored else None


def _compare(sides: Sequence[_Side], case: Case, service: Service, pairs: Pairs, cases: int) -> Compared:
    base, head = (side.trial(case) for side in sides)
    failed = {
        trial: trial.failed(Stage.BUILD, failure.message, failure.build.log, temporary=failure.temporary)
        for side, trial in zip(sides, (base, head), strict=True)
        if (failure := side.built.failure)
    }
    for trial in (base, head):
        if trial not in failed and trial.obstacle:
            failed[trial] = trial.skipped(trial.obstacle)
    if failed:
        return undecided(base, head, failed)
    return compare(base, head, service.compare, pairs=pairs, cases=cases)


def document(result: Compared) -> dict[str, Any]:
    """Return the result of a case as --json prints it."""
    return {
        "base": result.base.model_dump(mode="json"),
        "head": result.head.model_dump(mode="json"),
        "comparison": result.comparison.model_dump(mode="json") if result.comparison else None,
        "base_stored": result.base_stored,
    }


def _is_bad(result: Compared) -> bool:
    if result.comparison is None:
        return Outcome.FAILED in {result.base.outcome, result.head.outcome}
    return any(metric_verdict.over for metric_verdict in result.comparison.metrics)
