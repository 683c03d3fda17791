"""``faultwatch history``: measure a range of a repository's history."""

import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from runner.campaigns.commit_pairs import CommitPairs
from runner.campaigns.history_measurement import HistoryMeasurement, HistorySummary
from runner.campaigns.proving import ProofSummary, Prover, compute_proof_seconds
from runner.cli.activity import show_activity
from runner.cli.arguments import Duration, add_workload_and_range, is_range, parse_range
from runner.cli.measuring_setup import create_host_turn, find_target, prepare_workbench
from runner.cli.next_command import TypedTarget
from runner.cli.options import (
    again_option,
    apply_options,
    choice_options,
    committed_only_option,
    env_option,
    make_revision_option,
    make_sandbox_option,
    repo_option,
    result_options,
    samples_option,
)
from runner.cli.proof_progress import ProofProgress
from runner.cli.result_output import output_result
from runner.cli.terminal import get_console, print_message
from runner.contract.report import Case, Revision
from runner.errors import FaultwatchError
from runner.host.host_turn import HostTurn
from runner.measuring.preflight import Workbench, is_sandbox_needed
from runner.reporting.client import Service
from runner.reporting.spool import Spool
from runner.run_store.store import RunStore
from runner.settings import Settings, load_settings
from runner.subject.check_clone_before_turn import refuse_incomplete_checkouts
from runner.subject.repository import Repository
from runner.subject.repository_lookup import refuse_dirty_work_tree
from runner.subject.subject_registry import register_subject
from runner.workload import Workload
from runner.workload.case_choice import choose_cases

_MAX_CHARTS = 3
"""The largest number of charts whose addresses are printed, so that a parameter matrix does not fill the screen."""


@click.command(name="history")
@apply_options(
    add_workload_and_range(),
    repo_option,
    make_revision_option("Without a RANGE: the last commit of the history."),
    choice_options,
    env_option,
    samples_option,
    make_sandbox_option(),
    committed_only_option,
    click.option("--all-parents", is_flag=True, help="Include the commits of merged branches."),
    click.option(
        "--build-jobs",
        type=click.IntRange(1, 256),
        metavar="N",
        help="Number of revisions to build at once; builds pause while a program is measured. Default: one for each "
        "processor.",
    ),
    again_option,
    click.option(
        "--measure-all",
        is_flag=True,
        help=(
            "Build and measure every revision. By default, a revision is not built if it changes only files that the "
            "last build did not read, and not measured if its program finds the same files as before; one in twenty "
            "of these revisions is measured anyway, as a check on the host."
        ),
    ),
    click.option(
        "--prove-for",
        type=Duration(),
        default=-1.0,  # a negative time stands for the default that the help states
        metavar="TIME",
        help="Time for proofs, such as 90s or 10m. A proof measures the two commits of a likely change interleaved. "
        "Default: a tenth of the command's time, but at least two minutes, and always enough for the first pairs.",
    ),
    click.option("--no-prove", is_flag=True, help="Skip the proofs; likely changes remain unconfirmed."),
    click.option(
        "--store",
        "store_location",
        metavar="FOLDER|branch:NAME",
        help="Keep the runs as files in a folder, or in a branch of the repository, instead of in a service or a local "
        "database. Runs that are already stored are not measured again.",
    ),
    result_options,
)
def command(
    workload_name: str | None,
    commit_range: str | None,
    repo: str | None,
    revision: str,
    parameter_choices: tuple[str, ...],
    case_names: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    sandboxed: bool | None,
    committed_only: bool,
    all_parents: bool,
    build_jobs: int | None,
    retry_failed: bool,
    measure_all: bool,
    prove_for: float,
    no_prove: bool,
    store_location: str | None,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Measure every commit of a RANGE, A..B, that is not stored yet, oldest first, and A itself.

    If B does not descend from A, the range begins at their merge base. Without a RANGE, the whole history up to
    --revision is measured. A revision that does not build is recorded with its log, and the command continues. It also
    continues if the service fails; unsent reports wait on disk (see `faultwatch spool`). A measurement that failed
    because of the host, such as a full disk or a time-out, is repeated up to three times. A revision is not measured if
    its program finds the same files as at the previously measured revision: those counts are reused. The last revision,
    and the last one before a different count, are always measured. A revision that changes only files that the last
    build did not read uses that build.

    Likely changes are then proven or refuted: the two commits of each are measured interleaved, as in a gate. Exit
    code 1 if something failed and nothing was measured, if reports wait, or if the service refused one.
    """
    from runner.cli.page_address import is_served
    from runner.cli.stored_history import keep_history, suggest_publishing

    if commit_range and is_range(commit_range) and revision != "HEAD":
        raise click.UsageError("RANGE and --revision both set the last commit: pass only one of them.")
    # Check the whole request before the turn on this host begins.
    settings = load_settings()
    started_at = time.monotonic()
    with create_host_turn(settings) as turn:
        prepared = prepare_history(
            settings,
            turn,
            repo=repo,
            commit_range=commit_range or revision,
            workload_name=workload_name,
            parameter_choices=parameter_choices,
            case_names=case_names,
            assignments=variables,
            samples=samples,
            sandboxed=sandboxed,
            committed_only=committed_only,
            first_parent=not all_parents,
            build_jobs=build_jobs or settings.build_jobs,
            retry_failed=retry_failed,
            measure_all=measure_all,
            store_location=store_location,
        )
        # Measure, and request the drifts that the service has detected.
        with keep_history(settings, prepared.store, prepared.repository, prepared.all_revisions) as kept_history:
            service = kept_history.service
            if prepared.begins_new_series(service):
                print_message(
                    f"The workload file of {prepared.workload.name}, or another file in its folder, has changed since "
                    f"the last measurement on this host. This starts new series, so every revision is measured again."
                )
            proves = not no_prove and prove_for != 0
            summary = prepared.measure(service, kept_history.spool, leaves_doubts_to_pairs=proves)
            if not summary.n_waiting:
                # With --no-prove, the time is zero: nothing is proven, but likely changes are still listed.
                proof_seconds = 0.0 if no_prove else compute_proof_seconds(prove_for, time.monotonic() - started_at)
                has_default_time = prove_for < 0 and not no_prove
                summary.proofs = prepared.prove(service, proof_seconds, at_least_one=has_default_time)
            turn.end()
            # While reports wait on disk, the drifts of the service are incomplete.
            drifts = [] if summary.n_waiting else prepared.list_drifts(service.connect_with_retries(print_message))
            charts = [] if summary.n_waiting or store_location else _list_chart_addresses(service, prepared)
    # Print the result.
    target = TypedTarget(prepared.workload.name, workload_name, repo, variables)
    is_reachable = is_served(prepared.settings)
    commits = [measured_revision.commit for measured_revision in prepared.revisions]
    output_history(
        summary, drifts, target, charts, commits=commits, served=is_reachable, as_json=as_json, output_file=output_file
    )
    if store_location and not as_json:
        print_message(suggest_publishing(store_location))
    if summary.n_waiting or summary.refusals or (summary.failed_reports and not summary.n_measured):
        raise click.exceptions.Exit(1)


def _list_chart_addresses(service: "Service", prepared: "PreparedHistory") -> list[str]:
    """Return the URLs of the fault charts of the first few cases on this host."""
    from runner.cli.page_address import build_page_address

    query = {**prepared.series_filters, "metric": "minor-faults"}
    addresses = []
    for case in prepared.cases[:_MAX_CHARTS]:
        matching_series = service.list_series(**query, case=case.name)  # one; none if nothing was measured
        if matching_series:
            addresses.append(build_page_address(prepared.settings, f"/series/{matching_series[0]['id']}"))
    return addresses


class PreparedHistory(Struct, frozen=True):
    """A history that is ready to be measured: the whole request has been checked."""

    settings: Settings
    repository: Repository
    commit_range: str
    revision_before_range: Revision | None
    """The commit before the range. It is measured too, but its own changes are not shown."""
    revisions: tuple[Revision, ...]
    workload: Workload
    cases: tuple[Case, ...]
    workbench: Workbench
    samples: int | None
    build_jobs: int = 1
    retry_failed: bool = False
    measure_all: bool = True
    merged_revisions: tuple[Revision, ...] = ()
    """The commits of merged branches, which are not measured."""
    store: RunStore | None = None
    """The store that keeps the runs as files; None if a service or a local database keeps them."""

    @property
    def series_filters(self) -> dict[str, str]:
        """The filters that select the series of this workload's present definition on this host."""
        return {
            "subject": self.repository.name,
            "host": self.settings.host,
            "definition": self.workload.definition,
        }

    def list_drifts(self, service: Service) -> list[dict[str, Any]]:
        """Return the drifts of the measured cases within the range of commits."""
        commits = {revision.commit for revision in self.revisions}
        cases = {case.name for case in self.cases}
        detected_drifts = service.list_drifts(**self.series_filters)
        return [drift for drift in detected_drifts if drift["revision"] in commits and drift["case"] in cases]

    def begins_new_series(self, service: Service) -> bool:
        """Return whether the first case has been measured on this host, but only with other definitions."""
        query = {"subject": self.repository.name, "host": self.settings.host, "case": self.cases[0].name}
        definitions = {str(series["definition"]) for series in service.list_series(**query, metric="minor-faults")}
        return bool(definitions) and self.workload.definition not in definitions

    def measure(
        self, service: Service, spool: Spool | None = None, *, leaves_doubts_to_pairs: bool = False
    ) -> HistorySummary:
        """Measure what is not stored yet, with a progress bar.

        Parameters
        ----------
        leaves_doubts_to_pairs
            See :class:`HistoryMeasurement`.
        spool
            The folder in which reports wait for the service; by default, the one in the runner's home.
        """
        from runner.cli.history_progress import ProgressBar

        measurement = HistoryMeasurement(
            repository=self.repository,
            workload=self.workload,
            cases=self.cases,
            bench=self.workbench.bench,
            builder=self.workbench.builder,
            service=service,
            planner=service.connect_with_retries(print_message, self.workbench.builder.turn.pause),
            spool=spool or Spool(self.settings.spool),
            store_report=self.store.add_report if self.store else None,
            samples=self.samples,
            merged_revisions=self.merged_revisions,
            build_jobs=self.build_jobs,
            retry_failed=self.retry_failed,
            measure_all=self.measure_all,
            leaves_doubts_to_pairs=leaves_doubts_to_pairs,
        )
        with ProgressBar(get_console(), f"{self.repository.name} {self.commit_range}") as observer:
            summary = measurement.measure(self._measured_revisions, observer)
        return replace(summary, n_left_out=len(self.merged_revisions))

    @property
    def all_revisions(self) -> tuple[Revision, ...]:
        """The commits of the history, including those that are not measured."""
        return (*self._measured_revisions, *self.merged_revisions)

    @property
    def _measured_revisions(self) -> tuple[Revision, ...]:
        """The commits to measure, oldest first: the commit before the range, if any, and the range."""
        return (self.revision_before_range, *self.revisions) if self.revision_before_range else self.revisions

    def prove(self, service: Service, seconds: float, *, at_least_one: bool = False) -> ProofSummary:
        """Prove or refute the likely changes of the range for some seconds, the most likely first.

        Parameters
        ----------
        at_least_one
            Whether to prove the most likely change even if this takes longer than ``seconds``.
        """
        retrying_service = service.connect_with_retries(print_message, self.workbench.builder.turn.pause)
        with show_activity("looking for likely changes") as activity:
            prover = Prover(
                pairs=CommitPairs(self.repository, self.workload, self.workbench.bench, self.workbench.builder),
                service=retrying_service,
                find_revision=functools.cache(self.repository.find_revision),
                list_commits_between=self._list_commits_between,
                case_names=frozenset(case.name for case in self.cases),
                observer=ProofProgress(activity),
                deadline=time.monotonic() + seconds,
                store_request=self.store.add_proof if self.store else None,
                at_least_one=at_least_one,
            )
            return prover.prove(lambda: retrying_service.list_nominations(**self.series_filters))

    def _list_commits_between(self, base: str, head: str) -> list[str]:
        """Return the commits between two commits along first parents; none if the older one is not an ancestor."""
        try:
            merge_bases = self.repository.find_merge_bases(base, head)
        except FaultwatchError:  # They have no common ancestor, as after a history was rewritten from its beginning.
            return []
        if base not in merge_bases:
            return []
        revisions = self.repository.list_revisions(f"{base}..{head}")
        return [revision.commit for revision in revisions if revision.commit != head]


def prepare_history(
    settings: Settings,
    turn: HostTurn,
    *,
    repo: str | None,
    commit_range: str,
    workload_name: str | None,
    parameter_choices: tuple[str, ...] = (),
    case_names: tuple[str, ...] = (),
    assignments: tuple[str, ...] = (),
    samples: int | None = None,
    sandboxed: bool | None = None,
    committed_only: bool = False,
    first_parent: bool = True,
    build_jobs: int = 1,
    retry_failed: bool = False,
    measure_all: bool = True,
    store_location: str | None = None,
) -> PreparedHistory:
    """Check a request, wait for the turn on this host, and return the prepared history.

    The arguments are the options of ``faultwatch history``. All errors in the request are raised before the turn
    begins, so that a wrong request does not wait for other measurements.

    Raises
    ------
    FaultwatchError
        The repository, the range, the workload or the store is unsuitable, or this host cannot measure.
    """
    from runner.cli.stored_history import open_history_store

    workload, repository = find_target(settings, workload_name, repo)
    cases = choose_cases(workload, parameter_choices, case_names)
    refuse_dirty_work_tree(repository, workload, allows_changes=committed_only)
    revisions = repository.list_revisions(commit_range, first_parent=first_parent)
    # Check the newest commit first, because it is the most likely to be complete in the clone.
    refuse_incomplete_checkouts(repository, workload, reversed(revisions))
    revision_before_range = _find_revision_before_range(repository, commit_range)
    merged_revisions: tuple[Revision, ...] = ()
    if first_parent:
        measured_commits = {revision.commit for revision in revisions}
        if revision_before_range:
            measured_commits.add(revision_before_range.commit)
        all_revisions = repository.list_revisions(commit_range, first_parent=False)
        merged_revisions = tuple(revision for revision in all_revisions if revision.commit not in measured_commits)
    store = open_history_store(settings, store_location, repository)
    register_subject(settings, repository, workload)
    return PreparedHistory(
        store=store,
        settings=settings,
        repository=repository,
        commit_range=commit_range,
        revision_before_range=revision_before_range,
        revisions=revisions,
        workload=workload,
        cases=cases,
        workbench=prepare_workbench(
            settings,
            assignments,
            turn=turn,
            sandboxed=is_sandbox_needed(sandboxed, repository, settings),
            retry_failed=retry_failed,
        ),
        samples=samples,
        build_jobs=build_jobs,
        retry_failed=retry_failed,
        measure_all=measure_all,
        merged_revisions=merged_revisions,
    )


def _find_revision_before_range(repository: Repository, commit_range: str) -> Revision | None:
    """Return the commit after which a range begins: A of A..B, or their (first) merge base; None without a range."""
    if not is_range(commit_range):
        return None
    bases = repository.find_merge_bases(*parse_range(commit_range))
    return repository.get_revision(bases[0])


def output_history(
    summary: HistorySummary,
    drifts: list[dict[str, Any]],
    target: TypedTarget,
    charts: Sequence[str] = (),
    *,
    commits: Sequence[str] = (),
    served: bool = True,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Print the result of a history, as JSON if ``as_json``; if ``output_file`` is given, also write the JSON to it.

    Parameters
    ----------
    charts
        The addresses of the charts.
    commits
        The commits of the drift map, oldest first.
    served
        Whether a service answers at these addresses.
    """
    from runner.cli.history_tables import show_history

    output_result(
        build_document(summary, drifts),
        as_json=as_json,
        output_file=output_file,
        show=lambda: show_history(summary, drifts, target, charts, commits=commits, served=served),
    )


def build_document(summary: HistorySummary, drifts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the result of a history in the form that ``--json`` prints."""
    failed_runs = [
        {
            "revision": report.revision.commit,
            "case": report.case.name,
            "stage": report.failure.stage,
            "message": report.failure.message,
        }
        for report in summary.failed_reports
        if report.failure
    ]
    return {
        "revisions": summary.n_revisions,
        "left_out": summary.n_left_out,
        "stored": summary.n_stored,
        "stored_failures": summary.n_stored_failures,
        "measured": summary.n_measured,
        "reused": summary.n_reused,
        "failed": failed_runs,
        "contradicted": [
            {
                "revision": report.revision.commit,
                "case": report.case.name,
                "message": report.same_bytes_check.sentence,
            }
            for report in summary.contradicted_reports
            if report.same_bytes_check
        ],
        "waiting": summary.n_waiting,
        "waiting_before": summary.waiting_before,
        "refused": summary.refusals,
        "proofs": summary.proofs.build_document() if summary.proofs else None,
        "drifts": drifts,
    }
