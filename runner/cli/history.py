"""``faultwatch history``: measure a range of a repository's history."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from runner.campaigns.history_measurement import HistoryMeasurement, HistorySummary
from runner.cli.arguments import is_range, workload_and_range
from runner.cli.options import (
    again_option,
    choice_options,
    committed_only_option,
    env_option,
    options,
    repo_option,
    result_options,
    revision_option,
    samples_option,
    sandbox_option,
)
from runner.cli.result import give_result
from runner.cli.suggestion import TypedTarget
from runner.cli.terminal import say, terminal
from runner.cli.workbench import find_target, host_turn, prepare_workbench
from runner.contract.report import Case, Revision
from runner.host.lock import HostTurn
from runner.measuring.preflight import Workbench, wants_sandbox
from runner.reporting.client import Service
from runner.reporting.spool import Spool
from runner.settings import Settings, load_settings
from runner.subject.lookup import refuse_dirty
from runner.subject.presence import refuse_incomplete
from runner.subject.registry import register_subject
from runner.subject.repository import Repository
from runner.workload import Workload
from runner.workload.lookup import choose_cases

_MAX_CHARTS = 3
"""Addresses at the end, so that a matrix does not fill the screen."""


@click.command(name="history")
@options(
    workload_and_range(),
    repo_option,
    revision_option("Without a RANGE: the last commit of the history."),
    choice_options,
    env_option,
    samples_option,
    sandbox_option(),
    committed_only_option,
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
        help=(
            "Build and measure every revision. By default, a revision that changes only files that the last build "
            "did not read is not built, one whose program finds the same files reuses the counts, and one in twenty "
            "of those is measured to check the host."
        ),
    ),
    result_options,
)
def command(
    workload_name: str | None,
    span: str | None,
    repo: str | None,
    revision: str,
    choices: tuple[str, ...],
    case_names: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    confined: bool | None,
    committed_only: bool,
    all_parents: bool,
    build_jobs: int | None,
    again: bool,
    measure_all: bool,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Measure every commit of a RANGE, A..B, that is not stored yet, oldest first. A itself is not measured.

    Without a RANGE, the whole history up to --revision is measured. A revision that does not build is recorded with
    its log, and the command continues. It also continues if the service fails; unsent reports wait on disk (see
    `faultwatch spool`). A measurement that failed because of the host, such as a full disk or a time-out, is repeated
    up to three times. A revision is not measured if its program finds the same files as in the revision measured
    before: its counts are reused. The last revision, and the last one before a different count, are always measured. A
    revision that changes only files that the last build did not read uses that build. Exit code 1 if something failed
    and nothing was measured, if reports wait, or if the service refused one.
    """
    from runner.cli.page_address import is_served
    from runner.reporting.embedded import connect

    if span and is_range(span) and revision != "HEAD":
        raise click.UsageError("RANGE and --revision both set the last commit: pass only one of them.")
    settings = load_settings()
    with host_turn(settings) as turn:
        prepared = prepare(
            settings,
            turn,
            repo=repo,
            span=span or revision,
            workload_name=workload_name,
            choices=choices,
            case_names=case_names,
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
            if prepared.begins_new_series(service):
                say(
                    f"The file of {prepared.workload.name}, or another file in its folder, has changed since the last "
                    f"measurement here. This begins new series, so every revision is measured again."
                )
            summary = prepared.measure(service)
            turn.end()
            # While reports wait, the service cannot know all drifts.
            drifts = [] if summary.waiting else prepared.drifts(service.patient(say))
            charts = [] if summary.waiting else _charts(service, prepared)
    target = TypedTarget(prepared.workload.name, workload_name, repo, variables)
    served = is_served(prepared.settings)
    give_history(summary, drifts, target, charts, served=served, as_json=as_json, output_file=output_file)
    if summary.waiting or summary.refused or (summary.failed and not summary.measured):
        raise click.exceptions.Exit(1)


def _charts(service: "Service", prepared: "PreparedHistory") -> list[str]:
    """Return the addresses of the charts of the first cases' faults on this host."""
    from runner.cli.page_address import page_address

    shown = prepared.cases[:_MAX_CHARTS]
    where = {**prepared.own, "metric": "minor-faults"}
    charts = [one for case in shown for one in service.series(**where, case=case.name)[:1]]
    return [page_address(prepared.settings, f"/series/{one['id']}") for one in charts]


class PreparedHistory(Struct, frozen=True):
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

    @property
    def own(self) -> dict[str, str]:
        """Return what selects the series of this workload, as it is now, on this host."""
        return {
            "subject": self.repository.name,
            "host": self.settings.host,
            "definition": self.workload.definition,
        }

    def drifts(self, service: Service) -> list[dict[str, Any]]:
        """Return the drifts in the range, of the measured cases: the series can have others, and older ones too."""
        commits = {revision.commit for revision in self.revisions}
        cases = {case.name for case in self.cases}
        detected = service.drifts(**self.own)
        return [drift for drift in detected if drift["revision"] in commits and drift["case"] in cases]

    def begins_new_series(self, service: Service) -> bool:
        """Return whether only other definitions of the first case have been measured on this host."""
        where = {"subject": self.repository.name, "host": self.settings.host, "case": self.cases[0].name}
        definitions = {str(one["definition"]) for one in service.series(**where, metric="minor-faults")}
        return bool(definitions) and self.workload.definition not in definitions

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
            planner=service.patient(say),
            spool=Spool(self.settings.spool),
            samples=self.samples,
            beside=self.beside,
            build_jobs=self.build_jobs,
            again=self.again,
            measure_all=self.measure_all,
        )
        with ProgressBar(terminal(), f"{self.repository.name} {self.span}") as watcher:
            summary = measurement.measure(self.revisions, watcher)
        return replace(summary, left_out=len(self.beside))


def prepare(
    settings: Settings,
    turn: HostTurn,
    *,
    repo: str | None,
    span: str,
    workload_name: str | None,
    choices: tuple[str, ...] = (),
    case_names: tuple[str, ...] = (),
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
    workload, repository = find_target(settings, workload_name, repo)
    chosen = choose_cases(workload, choices, case_names)
    refuse_dirty(repository, workload, allow=committed_only)
    revisions = repository.revisions(span, first_parent=first_parent)
    # The newest first: it is the most likely to be whole.
    refuse_incomplete(repository, workload, reversed(revisions))
    measured = {revision.commit for revision in revisions}
    merged = repository.revisions(span, first_parent=False) if first_parent else ()
    register_subject(settings, repository, workload)
    return PreparedHistory(
        settings=settings,
        repository=repository,
        span=span,
        revisions=revisions,
        workload=workload,
        cases=chosen,
        workbench=prepare_workbench(
            settings, assignments, turn=turn, confined=wants_sandbox(confined, repository, settings), again=again
        ),
        samples=samples,
        build_jobs=build_jobs,
        again=again,
        measure_all=measure_all,
        beside=tuple(revision for revision in merged if revision.commit not in measured),
    )


def give_history(
    summary: HistorySummary,
    drifts: list[dict[str, Any]],
    target: TypedTarget,
    charts: Sequence[str] = (),
    *,
    served: bool = True,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Print the result of a history, and write it to the file of --output."""
    from runner.cli.history_tables import show_history

    give_result(
        document(summary, drifts),
        as_json=as_json,
        output_file=output_file,
        show=lambda: show_history(summary, drifts, target, charts, served=served),
    )


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
        "left_out": summary.left_out,
        "stored": summary.stored,
        "measured": summary.measured,
        "reused": summary.reused,
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
