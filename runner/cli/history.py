"""``faultwatch history``: measure a range of a repository's history."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from runner.campaigns.history_measurement import HistoryMeasurement, HistorySummary
from runner.cli.options import (
    again_option,
    env_option,
    json_option,
    options,
    samples_option,
    sandbox_option,
    set_option,
)
from runner.cli.terminal import terminal
from runner.cli.workbench import host_turn, prepare_workbench
from runner.contract.report import Case, Revision
from runner.errors import FaultwatchError
from runner.host.lock import HostTurn
from runner.measuring.preflight import Workbench, wants_sandbox
from runner.reporting.client import Service
from runner.reporting.spool import Spool
from runner.settings import Settings, load_settings
from runner.subject.lookup import refuse_dirty
from runner.subject.registry import register_subject
from runner.subject.repository import Repository, open_repository
from runner.workload import Workload, cases
from runner.workload.lookup import find_workload


@click.command(name="history")
@options(
    click.option("--repo", required=True, metavar="PATH|URL", help="The repository under test."),
    click.option(
        "--range", "span", default="HEAD", show_default=True, metavar="A..B", help="The range of commits, without A."
    ),
    click.option("--workload", "workload_name", metavar="PATH|NAME", help="Default: workload.toml in the repository."),
    set_option,
    env_option,
    samples_option,
    sandbox_option,
    click.option("--committed-only", is_flag=True, help="Ignore uncommitted changes in the work tree."),
    click.option("--all-parents", is_flag=True, help="Include the commits of merged branches."),
    click.option(
        "--build-jobs",
        type=click.IntRange(1, 256),
        metavar="N",
        help="Number of revisions to build at once; they pause while a program is measured. Default: one for each "
        "processor.",
    ),
    again_option,
    click.option(
        "--measure-all",
        is_flag=True,
        help="Measure also the revisions whose program has the same bytes as the one measured before. Default: take "
        "its counts over, and measure one in twenty to check the host. Also build those that change only files which "
        "the last build did not read.",
    ),
    json_option,
)
def command(
    repo: str,
    span: str,
    workload_name: str | None,
    choices: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    confined: bool | None,
    committed_only: bool,
    all_parents: bool,
    build_jobs: int | None,
    again: bool,
    measure_all: bool,
    as_json: bool,
) -> None:
    """Measure every commit of a range that is not stored yet, oldest first.

    A revision that does not build is recorded with its log, and the command continues. It also continues if the
    service fails; unsent reports wait on disk (see `faultwatch spool`). What failed because of the host, such as a
    full disk or a time-out, is measured again up to three times. A revision whose program has the same bytes as the
    one measured before is not measured: its counts are taken over. One that changes only files which the last build did
    not read uses that build. Exit code 1 if something failed and nothing was
    measured, if reports wait, if the service refused one, or if this host counted the same bytes differently.
    """
    from runner.reporting.embedded import connect

    settings = load_settings()
    with host_turn(settings) as turn:
        prepared = prepare(
            settings,
            turn,
            repo=repo,
            span=span,
            workload_name=workload_name,
            choices=choices,
            assignments=variables,
            samples=samples,
            confined=confined,
            committed_only=committed_only,
            first_parent=not all_parents,
            build_jobs=build_jobs or settings.build_jobs,
            again=again,
            measure_all=measure_all,
        )
        with connect(settings) as service:
            summary = prepared.measure(service)
            turn.end()
            # While reports wait, the service cannot know all drifts.
            drifts = [] if summary.waiting else service.drifts(subject=prepared.repository.name)
    if as_json:
        click.echo(json.dumps(document(summary, drifts), indent=2))
    else:
        from runner.cli.history_tables import show_history

        show_history(summary, drifts)
    if summary.waiting or summary.refused or summary.contradicted or (summary.failed and not summary.measured):
        raise click.exceptions.Exit(1)


@dataclass(frozen=True, slots=True)
class PreparedHistory:
    """A history ready to be measured: the whole request has been checked."""

    settings: Settings
    repository: Repository
    span: str
    revisions: tuple[Revision, ...]
    workload: Workload
    cases: tuple[Case, ...]
    workbench: Workbench
    samples: int | None
    build_jobs: int = 1
    again: bool = False
    measure_all: bool = True
    beside: tuple[Revision, ...] = ()
    """The commits of merged branches, which are not measured."""

    def measure(self, service: Service) -> HistorySummary:
        """Measure what is not stored yet, with a progress bar."""
        from runner.cli.progress_bar import ProgressBar

        measurement = HistoryMeasurement(
            repository=self.repository,
            workload=self.workload,
            cases=self.cases,
            bench=self.workbench.bench,
            builder=self.workbench.builder,
            service=service,
            spool=Spool(self.settings.spool),
            samples=self.samples,
            beside=self.beside,
            build_jobs=self.build_jobs,
            again=self.again,
            measure_all=self.measure_all,
        )
        with ProgressBar(terminal(), f"{self.repository.name} {self.span}") as watcher:
            return measurement.measure(self.revisions, watcher)


def prepare(
    settings: Settings,
    turn: HostTurn,
    *,
    repo: str,
    span: str,
    workload_name: str | None,
    choices: tuple[str, ...] = (),
    assignments: tuple[str, ...] = (),
    samples: int | None = None,
    confined: bool | None = None,
    committed_only: bool = False,
    first_parent: bool = True,
    build_jobs: int = 1,
    again: bool = False,
    measure_all: bool = True,
) -> PreparedHistory:
    """Check a request before anything is started; then begin the turn on this host.

    Raises
    ------
    FaultwatchError
        The repository, the range, the workload or this host does not allow it.
    """
    repository = open_repository(repo, settings.clones)
    refuse_dirty(repository, allow=committed_only)
    revisions = repository.revisions(span, first_parent=first_parent)
    measured = {revision.commit for revision in revisions}
    merged = repository.revisions(span, first_parent=False) if first_parent else ()
    workload = find_workload(workload_name or str(_default_workload(repository.path)))
    register_subject(settings, repository, workload)
    return PreparedHistory(
        settings=settings,
        repository=repository,
        span=span,
        revisions=revisions,
        workload=workload,
        cases=cases(workload, choices),
        workbench=prepare_workbench(
            settings, assignments, turn=turn, confined=wants_sandbox(confined, repository, settings), again=again
        ),
        samples=samples,
        build_jobs=build_jobs,
        again=again,
        measure_all=measure_all,
        beside=tuple(revision for revision in merged if revision.commit not in measured),
    )


def _default_workload(folder: Path) -> Path:
    file = folder / "workload.toml"
    if not file.exists():
        raise FaultwatchError(
            f"{folder} has no workload.toml",
            "name one with --workload; docs/reference/workloads.md shows how to write one",
        )
    return file


def document(summary: HistorySummary, drifts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the result of a history as --json prints it."""
    failed = [
        {
            "revision": report.revision.commit,
            "case": report.case.name,
            "stage": report.failure.stage,
            "message": report.failure.message,
        }
        for report in summary.failed
        if report.failure
    ]
    return {
        "revisions": summary.revisions,
        "stored": summary.stored,
        "measured": summary.measured,
        "taken_over": summary.taken_over,
        "failed": failed,
        "contradicted": [
            {
                "revision": report.revision.commit,
                "case": report.case.name,
                "message": report.same_bytes_check.sentence,
            }
            for report in summary.contradicted
            if report.same_bytes_check
        ],
        "waiting": summary.waiting,
        "waiting_before": summary.waiting_before,
        "refused": summary.refused,
        "drifts": drifts,
    }
