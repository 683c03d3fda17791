"""Measures the cells of a nightly run on this host; the service plans the runs (``service/rules/plan/run_plan.py``)."""

from collections.abc import Callable

from msgspec import Struct

from runner.campaigns.history_measurement import HistoryMeasurement, HistoryObserver, HistorySummary
from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.nightly import CaseState, CellDigest, NightlyCell, NightlyDigest, NightlyPart
from runner.contract.report import Case, Revision
from runner.errors import FaultwatchError
from runner.reporting.client import Service
from runner.system.valid_text import make_valid_text

RETRIED_STATES = {CaseState.FAILED, CaseState.MISSING}
"""States of cases that are measured again. It would not help a skipped case, or a host that counts incorrectly."""


class PreparedCell(Struct, frozen=True):
    """A cell that is ready to be measured."""

    measurement: HistoryMeasurement
    revision: Revision
    cases: tuple[Case, ...]


Prepare = Callable[[], PreparedCell]
"""Finds the repository, the revision and the cases of a cell; raises if they cannot be measured on this host."""


def run_cell(
    nightly_run: str,
    cell: NightlyCell,
    prepare: Prepare,
    *,
    service: Service,
    observer: HistoryObserver,
    max_retries: int,
) -> None:
    """Measure the missing cases of a cell, retry failed cases, and report the cell, even if it cannot be measured.

    After each report of the cell, the service returns the states of its cases, which decide which ones are retried.

    Raises
    ------
    FaultwatchError
        The service does not accept the report of the cell.
    """
    try:
        prepared = prepare()
        summary = prepared.measurement.measure((prepared.revision,), observer)
    except FaultwatchError as error:
        _report_cell(service, nightly_run, cell.model_copy(update={"problem": _shorten_problem(str(error))}))
        return
    measured_cell = cell.model_copy(
        update={
            "subject": prepared.measurement.repository.name,
            "revision": prepared.revision.commit,
            "cases": prepared.cases,
            "problem": _describe_problem(summary),
        }
    )
    digest = _report_cell(service, nightly_run, measured_cell)
    for attempt in range(2, max_retries + 2):  # The first attempt was the measurement above.
        failed_cases = _select_failed_cases(digest, measured_cell)
        if not failed_cases:
            break
        try:
            problem = _describe_problem(prepared.measurement.repeat_cases(prepared.revision, failed_cases, observer))
        except FaultwatchError as error:
            problem = _shorten_problem(str(error))
        digest = _report_cell(
            service, nightly_run, measured_cell.model_copy(update={"problem": problem, "attempts": attempt})
        )
        if problem:
            break


def _describe_problem(summary: HistorySummary) -> str:
    """Return why the service refused reports of a cell; empty if it refused none. Others may still wait on disk."""
    if summary.refusals:
        count = len(summary.refusals)
        first_text = ", the first for this reason" if count > 1 else ""
        return _shorten_problem(f"the service refused {count} of the cell's reports{first_text}: {summary.refusals[0]}")
    return ""


def _shorten_problem(problem: str) -> str:
    """Return a problem in a form that the contract accepts: it may quote a path that is not text."""
    return make_valid_text(problem)[:MAX_LINE_CHARACTERS]


def _report_cell(service: Service, nightly_run: str, cell: NightlyCell) -> NightlyDigest:
    """Report the result of a cell to the service; return the digest of the nightly run."""
    return service.update_nightly_run(nightly_run, NightlyPart(cells=(cell.model_copy(update={"carried_out": True}),)))


def _select_failed_cases(digest: NightlyDigest, cell: NightlyCell) -> tuple[Case, ...]:
    """Return the cases of a cell that have to be measured again because of their states in the digest."""
    states = {case.name: case.state for case in _find_cell_digest(digest, cell).cases}
    return tuple(case for case in cell.cases if states.get(case.name) in RETRIED_STATES)


def _find_cell_digest(digest: NightlyDigest, cell: NightlyCell) -> CellDigest:
    """Return the part of the digest about a cell."""
    return next(
        candidate
        for candidate in digest.cells
        if (candidate.host, candidate.configuration, candidate.workload) == cell.place
    )
